"""The compiled part of graph.py: one look at every node of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, inline="always")
def _number(data: Any, at: Any, size: Any) -> Any:
    """A whole number of so many bytes, the lowest first."""
    found = np.uint64(0)
    for i in range(size):
        found |= np.uint64(data[at + i]) << np.uint64(8 * i)
    return found


@njit(nogil=True, cache=True)
def wrong_node(data: Any, begins: Any, levels: Any, connectivity: Any, keys: Any) -> Any:
    """The first node that has another level than it should, too many neighbours, or one that is not there on its
    level; -1 if there is none. Their keys go into `keys`. Nodes are data[begins[i]:begins[i + 1]]."""
    n = len(levels)
    for node in range(n):
        at = begins[node]
        keys[node] = _number(data, at, 8)
        if _number(data, at + 8, 2) != np.uint64(levels[node]):
            return node
        at += 10
        for level in range(levels[node] + 1):
            room = connectivity if level else 2 * connectivity
            count = _number(data, at, 4)
            if count > np.uint64(room):
                return node
            for i in range(np.int64(count)):
                other = _number(data, at + 4 + 4 * i, 4)
                if other >= np.uint64(n) or levels[np.int64(other)] < level:
                    return node
            at += 4 * (1 + room)
    return -1
