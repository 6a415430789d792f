"""The compiled part of shortlist.py: cosines of documents with some labels, whose vectors are bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _dot(query: Any, row: Any) -> Any:
    """Vectorised: in an order of its own, and always the same."""
    total = np.float32(0)
    for i in range(len(query)):
        total += query[i] * np.float32(row[i])
    return total


@njit(nogil=True, cache=True)
def cosines_among(
    queries: Any, passages: Any, ids: Any, first: Any, rows: Any, scales: Any, places: Any, begins: Any, out: Any
) -> None:
    """out[d, j]: the best cosine of document d's queries, from passages[d] on, with the texts of the label ids[d, j].

    Label `first` + i has the rows places[begins[i] : begins[i + 1]]; what is said of labels that are not among these
    stays as it is. O(labels asked for x their texts x dim).
    """
    n_labels = len(begins) - 1
    for d in range(len(ids)):
        for j in range(ids.shape[1]):
            label = ids[d, j] - first
            if ids[d, j] < first or label >= n_labels:
                continue
            best = np.float32(-np.inf)
            for text in range(begins[label], begins[label + 1]):
                row = places[text]
                for q in range(passages[d], passages[d + 1]):
                    best = max(best, _dot(queries[q], rows[row]) * scales[row])
            out[d, j] = best
