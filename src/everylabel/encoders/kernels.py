"""Compiled loops over tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def distinct_tokens(ids: Any, offsets: Any, n_ids: Any) -> Any:
    """(ids, counts, offsets) of each row's distinct tokens, in the order they first come. O(tokens + n_ids)."""
    n_rows = len(offsets) - 1
    seen = np.zeros(n_ids, np.int32)
    out_ids = np.empty(len(ids), np.int32)
    counts = np.empty(len(ids), np.int32)
    out_offsets = np.zeros(n_rows + 1, np.int64)
    end = 0
    for row in range(n_rows):
        first = end
        for at in range(offsets[row], offsets[row + 1]):
            token = ids[at]
            if seen[token] == 0:
                out_ids[end] = token
                end += 1
            seen[token] += 1
        for at in range(first, end):
            counts[at] = seen[out_ids[at]]
            seen[out_ids[at]] = 0
        out_offsets[row + 1] = end
    return out_ids[:end], counts[:end], out_offsets
