"""Inverted lists that rows were added to, without a change to them: the old ones, and small ones of what came later.

Putting a million rows together anew for one more would take seconds and several copies of all entries; so the next
lists have the old ones, as they are, and lists of what was added since, of those features alone that it has. Cost of
adding: O(entries added so far x log); of a search: that of both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from everylabel.linear.nearest import InvertedLists
from everylabel.types import Csr, LongArray, Ranking
from everylabel.vectors import csr_of


@dataclass(frozen=True, eq=False)
class GrownLists:
    """`nearest` as that of lists of all rows, to the bit, if those had the scales of the old ones: in compact lists a
    weight is as coarse as in the old list of its feature, but may be larger than all of them."""

    old: InvertedLists
    features: LongArray  # that the added rows have, sorted
    added: InvertedLists  # by their numbers in `features`; rows after the old ones

    @classmethod
    def of(cls, old: InvertedLists, rows: Csr) -> GrownLists:
        """`old`: each row is its own owner. `rows` may have features that it does not have. O(entries x log)."""
        features, places = np.unique(rows.indices, return_inverse=True)
        shape = (rows.shape[0], len(features))
        small = InvertedLists.of(csr_matrix((rows.data, places.reshape(-1), rows.indptr), shape=shape))
        owners = len(old.owners) + np.arange(rows.shape[0], dtype=np.int32)
        weights, scales = _as_coarse(old, features, small)
        return cls(old, features, InvertedLists(small.starts, small.rows, weights, scales, owners.astype(np.int32)))

    def nearest(self, vectors: Csr, k: int) -> Ranking:
        """As `InvertedLists.nearest`."""
        n_old = len(self.old.starts) - 1
        known = vectors.indices < n_old
        places = np.searchsorted(self.features, vectors.indices)
        places[places == len(self.features)] = 0
        later = self.features[places] == vectors.indices if len(self.features) else np.zeros(len(places), np.bool_)
        parts = [
            self.old.nearest(_only(vectors, known, vectors.indices, n_old), k),
            self.added.nearest(_only(vectors, later, places, len(self.features)), k),
        ]
        ids, scores = (np.concatenate(both, axis=1) for both in zip(*parts, strict=True))
        return Ranking.best_of(ids, scores, min(k, len(self.old.owners) + len(self.added.owners)))


def _as_coarse(old: InvertedLists, features: LongArray, small: InvertedLists) -> tuple[Any, Any]:
    """(weights, scales) of the new lists: whole steps of the old lists' scales, where those are compact and have any
    entry. Float32: a weight may be above the old list's largest."""
    if old.weights.dtype != np.uint16:
        return small.weights, np.ones(1, np.float32)
    scales, n_old = np.ones(len(features), np.float32), len(old.starts) - 1
    known = np.flatnonzero(features < n_old)
    listed = known[old.starts[features[known] + 1] > old.starts[features[known]]]
    scales[listed] = old.scales[features[listed]]
    coarse = np.zeros(len(features), np.bool_)
    coarse[listed] = True
    lengths = np.diff(small.starts)
    steps = small.weights / np.repeat(scales, lengths)
    return np.where(np.repeat(coarse, lengths), np.rint(steps), small.weights).astype(np.float32), scales


def _only(vectors: Csr, kept: Any, columns: Any, n_columns: int) -> Csr:
    """Some entries of vectors, in other columns. O(nnz)."""
    ends = np.concatenate([[0], np.cumsum(kept)])[vectors.indptr]
    return csr_of(vectors.data[kept], columns[kept].astype(np.int32), ends, (vectors.shape[0], n_columns))
