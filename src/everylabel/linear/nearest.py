"""The rows of a sparse matrix that are most like a sparse vector, by inverted lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from everylabel.linear.lists import Lists
from everylabel.parallel import parallel_map
from everylabel.progress import task
from everylabel.types import Csr, Ranking

_DOCS_PER_CALL = 256


@dataclass(frozen=True)
class InvertedLists:
    """`lists` is the transposed matrix: for each feature the rows that have it. Search O(sum of the list lengths)."""

    lists: Csr

    @classmethod
    def of(cls, matrix: Csr) -> InvertedLists:
        lists = csr_matrix(matrix.T, dtype=np.float32)
        lists.sort_indices()
        return cls(lists)

    def nearest(self, vectors: Csr, k: int) -> Ranking:
        """The k rows with the largest dot product with each vector; rows that share no feature are not found."""
        from everylabel.linear import scoring

        n_rows = self.lists.shape[1]
        result = Ranking.empty(vectors.shape[0], min(k, n_rows))
        lists = Lists(self.lists.indptr.astype(np.int64), self.lists.indices, self.lists.data, np.ones(1, np.float32))

        def work(first: int) -> Any:
            part = vectors[first : first + _DOCS_PER_CALL]
            at = slice(first, first + _DOCS_PER_CALL)
            indptr = part.indptr.astype(np.int64)
            scoring.nearest_rows(indptr, part.indices, part.data, lists, n_rows, result.ids[at], result.scores[at])
            return part.shape[0]

        with task("neighbours", vectors.shape[0]) as advance:
            for done in parallel_map(work, range(0, vectors.shape[0], _DOCS_PER_CALL)):
                advance(done)
        return result
