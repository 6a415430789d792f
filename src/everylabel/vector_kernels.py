"""The compiled loops behind vectors.py: rows of a csr matrix, one after the other, on one core."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def largest_of_rows(indptr: Any, indices: Any, data: Any, n: Any) -> Any:
    """Which entries are among the n largest of their row; of equal ones those of the first columns."""
    kept = np.ones(len(data), np.bool_)
    for row in range(len(indptr) - 1):
        first, last = indptr[row], indptr[row + 1]
        if last - first <= n:
            continue
        values = data[first:last]
        worst = np.partition(values, len(values) - n)[len(values) - n]
        room = n
        for value in values:
            room -= value > worst
        equal = indices[first:last][values == worst]
        last_equal = np.sort(equal)[room - 1]
        for i in range(first, last):
            kept[i] = data[i] > worst or (data[i] == worst and indices[i] <= last_equal)
    return kept
