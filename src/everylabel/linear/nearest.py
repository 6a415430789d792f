"""The rows of a sparse matrix that are most like a sparse vector, by inverted lists."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from everylabel import checks
from everylabel.linear.lists import Lists
from everylabel.parallel import parallel_map
from everylabel.types import Csr, FloatArray, IntArray, LongArray, Ranking

_DOCS_PER_CALL = 64  # small enough that a few hundred documents are work for all cores
_LARGEST = 65_535  # of a weight in two bytes


@dataclass(frozen=True, eq=False)
class InvertedLists:
    """For each feature the rows that have it, with their weights. Search O(list lengths), at most rows.

    The list of feature f has the entries starts[f]:starts[f + 1]. Several rows may belong to one owner (the names of
    one label): `owners` is sorted, and the best row counts. `compact` lists have four bytes an entry instead of eight
    (below 65,536 rows): a weight is off by at most 1 / 131,070 of its feature's largest.
    """

    starts: LongArray
    rows: NDArray[Any]  # uint16 where they fit, in compact lists, else int32
    weights: NDArray[Any]  # uint16 with a scale for each feature; or float32, with one scale of 1
    scales: FloatArray
    owners: IntArray

    @classmethod
    def of(cls, matrix: Csr, owners: IntArray | None = None, *, compact: bool = False) -> InvertedLists:
        """Of the rows of a matrix. O(nnz)."""
        lists = csr_matrix(matrix.T, dtype=np.float32)
        lists.sort_indices()
        starts, rows, weights = lists.indptr.astype(np.int64), lists.indices.astype(np.int32), lists.data
        scales = np.ones(1, np.float32)
        if compact and (weights >= 0).all():  # a bag of words may have others
            scales = lists.max(axis=1).toarray().ravel().astype(np.float32) / np.float32(_LARGEST)
            scales[scales == 0] = 1
            weights = np.rint(weights / np.repeat(scales, np.diff(starts))).astype(np.uint16)
            rows = rows.astype(np.uint16) if matrix.shape[0] <= 1 << 16 else rows
        own = np.arange(matrix.shape[0], dtype=np.int32) if owners is None else owners
        return cls(starts, rows, weights, scales, own)

    @property
    def matrix(self) -> Csr:
        """(features, rows). A copy: O(nnz)."""
        scales = self.scales if len(self.scales) == 1 else np.repeat(self.scales, np.diff(self.starts))
        parts = (self.weights * scales).astype(np.float32), self.rows.astype(np.int32), self.starts
        return csr_matrix(parts, shape=(len(self.starts) - 1, len(self.owners)))

    def nearest(self, vectors: Csr, k: int) -> Ranking:
        """The k owners with the largest dot product with each vector; those that share no feature are not found."""
        from everylabel.linear import nearest_kernels

        n_owners = int(self.owners[-1]) + 1 if len(self.owners) else 0
        result = Ranking.empty(vectors.shape[0], min(k, n_owners))
        lists = Lists(self.starts, self.rows, self.weights, self.scales)

        def work(first: int) -> None:
            part = vectors if vectors.shape[0] <= _DOCS_PER_CALL else vectors[first : first + _DOCS_PER_CALL]
            at = slice(first, first + _DOCS_PER_CALL)
            indptr = part.indptr.astype(np.int64)
            vectors_of_part = indptr, part.indices, part.data
            nearest_kernels.nearest_rows(
                *vectors_of_part, lists, self.owners, self._bounded, result.ids[at], result.scores[at]
            )

        for _ in parallel_map(work, range(0, vectors.shape[0], _DOCS_PER_CALL)):
            pass
        return result

    def shares(self, vectors: Csr, documents: LongArray, owners: LongArray) -> FloatArray:
        """How much of an owner's row a vector has, from 0 to 1, rows being of length 1: of each pair (row of `vectors`,
        ascending; owner) the largest over the owner's rows. O(entries of the vectors and of the owners' rows)."""
        from everylabel.linear import nearest_kernels

        found = np.empty(len(owners), np.float32)
        words, (begins, rows) = (vectors.indptr.astype(np.int64), vectors.indices), self._by_row
        nearest_kernels.shares_of_rows(words, documents, owners, begins, rows, found)
        return found

    @cached_property
    def _bounded(self) -> bool:
        """Are the largest weights of lists known, and is each row its own owner? Then search need not walk them all."""
        return self.weights.dtype == np.uint16 and np.array_equal(self.owners, np.arange(len(self.owners)))

    @cached_property
    def _by_row(self) -> tuple[LongArray, tuple[LongArray, IntArray, FloatArray]]:
        """Where the rows of each owner begin, and the rows, as csr: made when first asked for, O(entries)."""
        rows = csr_matrix(self.matrix.T)
        n_owners = int(self.owners[-1]) + 1 if len(self.owners) else 0
        begins = np.searchsorted(self.owners, np.arange(n_owners + 1))
        return begins, (rows.indptr.astype(np.int64), rows.indices, rows.data)

    def check(self, n_features: int, n_owners: int) -> None:
        """Of those that were restored: entries are rows, and rows have owners. O(entries)."""
        n_entries = len(self.rows)
        checks.offsets(self.starts, "lists of words", n_entries, n_features)
        checks.indexes(self.rows, "rows of lists", len(self.owners), kinds=(np.int32, np.uint16))
        checks.numbers(self.weights, "weights of lists", n_entries, kinds=(np.float32, np.uint16))
        compact = self.weights.dtype == np.uint16
        checks.numbers(self.scales, "scales of lists", n_features if compact else 1)
        checks.indexes(self.owners, "owners of rows", n_owners)
        checks.ascending(self.owners, "owners of rows")

    def state(self, prefix: str) -> dict[str, Any]:
        return {f"{prefix}/{part}": getattr(self, part) for part in _PARTS}

    @classmethod
    def restored(cls, prefix: str, state: dict[str, Any]) -> InvertedLists:
        return cls(**{part: state[f"{prefix}/{part}"] for part in _PARTS})


_PARTS = ("starts", "rows", "weights", "scales", "owners")
