"""A compiled table of a few whole numbers, by open addressing: what a document touches of a million labels.

An array as long as the vocabulary would have to be filled, or at least brought near, for each document; a table is as
large as what is put into it. `keys` has a power of two of places, at most half of them in use; a free one holds FREE.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

FREE = np.int32(-1)
_SPREAD = np.uint32(2654435769)  # of Fibonacci hashing


@njit(nogil=True, cache=True, inline="always")
def find_place(keys: Any, number: Any) -> Any:
    """Where the number is, or the free place where it would go."""
    mask = np.uint32(len(keys) - 1)
    at = (np.uint32(number) * _SPREAD >> np.uint32(7)) & mask
    while keys[at] != FREE and keys[at] != number:
        at = (at + np.uint32(1)) & mask
    return at


@njit(nogil=True, cache=True, inline="always")
def n_places(n: Any) -> Any:
    """For so many numbers."""
    size = 16
    while size < 2 * n:
        size *= 2
    return size
