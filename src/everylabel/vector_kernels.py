"""The compiled loops behind vectors.py: rows of a csr matrix, one after the other, on one core."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_LAST = np.int32(0x7FFFFFFF)  # a column beyond all


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


@njit(nogil=True, cache=True)
def side_by_side(left: Any, right: Any, n_left: Any) -> Any:
    """(data, indices, indptr) of both; the columns of the right one come after the `n_left` of the left one."""
    n_rows = len(left[0]) - 1
    n_entries = left[0][n_rows] + right[0][n_rows]
    data, indices = np.empty(n_entries, np.float32), np.empty(n_entries, np.int32)
    indptr = np.zeros(n_rows + 1, np.int64)
    at = 0
    for row in range(n_rows):
        for i in range(left[0][row], left[0][row + 1]):
            data[at], indices[at] = left[2][i], left[1][i]
            at += 1
        for i in range(right[0][row], right[0][row + 1]):
            data[at], indices[at] = right[2][i], right[1][i] + n_left
            at += 1
        indptr[row + 1] = at
    return data, indices, indptr


@njit(nogil=True, cache=True)
def sum_of_two(one: Any, other: Any, weight: Any) -> Any:
    """(data, indices, indptr) of one + weight x other, columns sorted and each once in both; zeros are left out."""
    n_rows = len(one[0]) - 1
    n_entries = one[0][n_rows] + other[0][n_rows]
    data, indices = np.empty(n_entries, np.float32), np.empty(n_entries, np.int32)
    indptr = np.zeros(n_rows + 1, np.int64)
    at = 0
    for row in range(n_rows):
        i, last_i = one[0][row], one[0][row + 1]
        j, last_j = other[0][row], other[0][row + 1]
        while i < last_i or j < last_j:
            value = np.float32(0)
            column_i = one[1][i] if i < last_i else _LAST
            column_j = other[1][j] if j < last_j else _LAST
            column = min(column_i, column_j)
            if column_i == column:
                value = one[2][i]
                i += 1
            if column_j == column:
                value += np.float32(other[2][j] * weight)
                j += 1
            if value != 0:
                data[at], indices[at] = value, column
                at += 1
        indptr[row + 1] = at
    return data[:at].copy(), indices[:at].copy(), indptr
