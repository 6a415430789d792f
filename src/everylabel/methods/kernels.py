"""Compiled loops that several methods share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def keep_order(found: Any, exact: Any) -> None:
    """Make float32 scores, best first, fall where the exact ones fall, by their smallest step; and nowhere else.

    `found` changes: rounded, two that differ may have become equal, or a map may have put them in another order.
    """
    for row in range(len(found)):
        for rank in range(1, found.shape[1]):
            above = found[row, rank - 1]
            if exact[row, rank] == exact[row, rank - 1]:
                found[row, rank] = above
            elif found[row, rank] >= above:
                found[row, rank] = np.nextafter(above, np.float32(-1))
