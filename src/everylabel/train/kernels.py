"""Compiled loops over the rows of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def update_rows(
    rows: Any,
    gradient: Any,
    begin: Any,
    end: Any,
    table: Any,
    mean: Any,
    square: Any,
    lr: Any,
    fresh_mean: Any,
    fresh_square: Any,
    eps: Any,
) -> None:
    """Adam's step for the rows from `begin` to `end`; each row occurs once."""
    for i in range(begin, end):
        row = rows[i]
        for j in range(table.shape[1]):
            g = gradient[i, j]
            m = mean[row, j] + fresh_mean * (g - mean[row, j])
            v = square[row, j] + fresh_square * (g * g - square[row, j])
            mean[row, j] = m
            square[row, j] = v
            table[row, j] -= lr * (m / (np.sqrt(v) + eps))
