"""What crosses the borders between modules: lists of texts, csr matrices, float32 arrays, and `Ranking`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

FloatArray: TypeAlias = NDArray[np.float32]
IntArray: TypeAlias = NDArray[np.int32]
LongArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
Csr: TypeAlias = csr_matrix


class Same:
    """The very same object, as a part of a key: found again by `is`, and kept as long as the key is."""

    __slots__ = ("of",)

    def __init__(self, of: object) -> None:
        self.of = of

    def __hash__(self) -> int:
        return id(self.of)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.of is self.of


class Ranking(NamedTuple):
    """The best labels of each document, best first: `ids` (n, k) int32 and `scores` (n, k) float32.

    Rows with fewer than k labels end in id -1 with score -inf. Equal scores stand in the order of their ids, always,
    so that a result can be reproduced. Unpacks as `ids, scores = method.rank(texts, k=5)`.
    """

    ids: IntArray
    scores: FloatArray

    @property
    def n_docs(self) -> int:
        return int(self.ids.shape[0])

    @property
    def k(self) -> int:
        return int(self.ids.shape[1])

    def top(self, k: int) -> Ranking:
        """The first k ranks; padded when there are fewer. O(n k)."""
        if k <= self.k:
            return Ranking(self.ids[:, :k], self.scores[:, :k])
        missing = ((0, 0), (0, k - self.k))
        return Ranking(
            np.pad(self.ids, missing, constant_values=-1),
            np.pad(self.scores, missing, constant_values=-np.inf),
        )

    def without(self, rows: NDArray[np.bool_]) -> Ranking:
        """Nothing ranked for these documents."""
        if not rows.any():
            return self
        none = rows[:, None]
        return Ranking(np.where(none, -1, self.ids), np.where(none, -np.inf, self.scores).astype(np.float32))

    @classmethod
    def empty(cls, n_docs: int, k: int) -> Ranking:
        return cls(np.full((n_docs, k), -1, np.int32), np.full((n_docs, k), -np.inf, np.float32))

    @classmethod
    def joined(cls, parts: Sequence[Ranking]) -> Ranking:
        """The documents of all parts, one part after the other; each has as many ranks. A single part is not copied."""
        if len(parts) == 1:
            return cls(np.ascontiguousarray(parts[0].ids), np.ascontiguousarray(parts[0].scores))
        return cls(np.concatenate([part.ids for part in parts]), np.concatenate([part.scores for part in parts]))

    @classmethod
    def best_of(cls, ids: IntArray, scores: FloatArray, k: int) -> Ranking:
        """The top k of rows in any order; an id below 0 and a score of -inf is none. O(n m log k) for m a row."""
        from everylabel.heaps import best_of_rows

        found = cls.empty(len(ids), min(k, ids.shape[1]))
        best_of_rows(ids, scores, *found)
        return found.top(k)

    @classmethod
    def summed(cls, parts: Sequence[Ranking], k: int) -> Ranking:
        """The top k labels by the sum of their scores in all parts; a part without a label adds nothing.

        O(n m log m) for m places in all parts together.
        """
        ids = np.concatenate([part.ids for part in parts], axis=1)
        scores = np.concatenate([np.where(part.ids >= 0, part.scores, 0) for part in parts], axis=1)
        order = np.argsort(ids, axis=1, kind="stable")  # a label of several parts stands several times in a row
        ids, scores = np.take_along_axis(ids, order, 1), np.take_along_axis(scores, order, 1)
        total = scores.copy()
        for distance in range(1, len(parts)):
            total[:, :-distance] += np.where(ids[:, distance:] == ids[:, :-distance], scores[:, distance:], 0)
        total[:, 1:][ids[:, 1:] == ids[:, :-1]] = -np.inf
        return cls.best_of(ids, total, k)

    @classmethod
    def mean(cls, parts: Sequence[Ranking], k: int) -> Ranking:
        """The top k labels by the mean of their scores; 0 where a part does not have a label. As `summed`."""
        return cls.summed([cls(part.ids, part.scores / np.float32(len(parts))) for part in parts], k)

    @classmethod
    def from_csr(cls, scores: Any, k: int) -> Ranking:
        """The top k of each row of a csr matrix of scores; absent entries are not ranked. O(nnz log nnz)."""
        scores = scores if getattr(scores, "format", "") == "csr" else csr_matrix(scores)
        n_docs = scores.shape[0]
        rows = np.repeat(np.arange(n_docs), np.diff(scores.indptr))
        order = np.lexsort((scores.indices, -scores.data, rows))
        rank = np.arange(len(order)) - np.repeat(scores.indptr[:-1], np.diff(scores.indptr))
        keep = rank < k
        ranking = cls.empty(n_docs, k)
        ranking.ids[rows[keep], rank[keep]] = scores.indices[order][keep]
        ranking.scores[rows[keep], rank[keep]] = scores.data[order][keep]
        return ranking
