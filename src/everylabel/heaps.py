"""The best labels of a document while they are found: compiled heaps of fixed size. Equal scores go by the lower id."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def _sift(ids: Any, scores: Any, size: Any) -> None:
    """Restore the heap whose root (the worst: lowest score, then highest id) was replaced."""
    at = 0
    while True:
        worst = at
        for child in (2 * at + 1, 2 * at + 2):
            if child < size and (
                scores[child] < scores[worst] or (scores[child] == scores[worst] and ids[child] > ids[worst])
            ):
                worst = child
        if worst == at:
            return
        ids[at], ids[worst] = ids[worst], ids[at]
        scores[at], scores[worst] = scores[worst], scores[at]
        at = worst


@njit(nogil=True, cache=True)
def push(ids: Any, scores: Any, size: Any, label: Any, score: Any) -> Any:
    """Keep the best len(ids) entries; returns how many there are."""
    if size < len(ids):
        at = size
        ids[at], scores[at] = label, score
        while at > 0:
            above = (at - 1) >> 1
            if scores[at] < scores[above] or (scores[at] == scores[above] and ids[at] > ids[above]):
                ids[at], ids[above] = ids[above], ids[at]
                scores[at], scores[above] = scores[above], scores[at]
                at = above
            else:
                break
        return size + 1
    if score > scores[0] or (score == scores[0] and label < ids[0]):
        ids[0], scores[0] = label, score
        _sift(ids, scores, size)
    return size


@njit(nogil=True, cache=True)
def sort_heap(ids: Any, scores: Any, size: Any) -> None:
    """A heap of the best entries becomes a list, best first."""
    for last in range(size - 1, 0, -1):
        ids[0], ids[last] = ids[last], ids[0]
        scores[0], scores[last] = scores[last], scores[0]
        _sift(ids, scores, last)


@njit(nogil=True, cache=True)
def best_of_rows(ids: Any, scores: Any, out_ids: Any, out_scores: Any) -> None:
    """The best of each row, in any order: as many as there is room for. An id below 0 or no finite score is none."""
    for row in range(len(ids)):
        size = 0
        for i in range(ids.shape[1]):
            if ids[row, i] >= 0 and np.isfinite(scores[row, i]):
                size = push(out_ids[row], out_scores[row], size, np.int32(ids[row, i]), np.float32(scores[row, i]))
        sort_heap(out_ids[row], out_scores[row], size)
