"""The rows of a sparse matrix that are most like a sparse vector, by inverted lists."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack

from everylabel.linear.lists import Lists
from everylabel.parallel import parallel_map
from everylabel.types import Csr, IntArray, Ranking

_DOCS_PER_CALL = 64  # small enough that a few hundred documents are work for all cores


@dataclass(frozen=True)
class InvertedLists:
    """`lists` is the transposed matrix: for each feature the rows that have it. Search O(list lengths), at most rows.

    Several rows may belong to one owner (the names of one label): `owners` is sorted, and the best row counts.
    """

    lists: Csr
    owners: IntArray

    @classmethod
    def of(cls, matrix: Csr, owners: IntArray | None = None) -> InvertedLists:
        lists = csr_matrix(matrix.T, dtype=np.float32)
        lists.sort_indices()
        return cls(lists, np.arange(matrix.shape[0], dtype=np.int32) if owners is None else owners)

    def with_rows(self, matrix: Csr) -> InvertedLists:
        """More rows after the others, each an owner of its own. O(nnz of all)."""
        lists = csr_matrix(hstack([self.lists, matrix.T], format="csr"), dtype=np.float32)
        return InvertedLists(lists, np.arange(lists.shape[1], dtype=np.int32))

    def nearest(self, vectors: Csr, k: int) -> Ranking:
        """The k owners with the largest dot product with each vector; those that share no feature are not found."""
        from everylabel.linear import scoring

        n_owners = int(self.owners[-1]) + 1 if len(self.owners) else 0
        result = Ranking.empty(vectors.shape[0], min(k, n_owners))

        def work(first: int) -> None:
            part = vectors[first : first + _DOCS_PER_CALL]
            at = slice(first, first + _DOCS_PER_CALL)
            indptr = part.indptr.astype(np.int64)
            scoring.nearest_rows(
                indptr, part.indices, part.data, self._as_lists, self.owners, result.ids[at], result.scores[at]
            )

        for _ in parallel_map(work, range(0, vectors.shape[0], _DOCS_PER_CALL)):
            pass
        return result

    @cached_property
    def _as_lists(self) -> Lists:
        return Lists(self.lists.indptr.astype(np.int64), self.lists.indices, self.lists.data, np.ones(1, np.float32))

    def state(self, prefix: str) -> dict[str, Any]:
        return {f"{prefix}/lists": self.lists, f"{prefix}/owners": self.owners}

    @classmethod
    def restored(cls, prefix: str, state: dict[str, Any]) -> InvertedLists:
        return cls(state[f"{prefix}/lists"], state[f"{prefix}/owners"])
