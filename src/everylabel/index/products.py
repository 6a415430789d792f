"""Largest inner products by an index of cosines: rows of any length become unit rows with one more dimension.

A row v of length |v| <= M becomes (v, sqrt(M^2 - |v|^2)) / M, a query q becomes (q, 0) / |q|; their cosine is
v.q / (M |q|), so the nearest are those with the largest products, exactly (Bachrach et al., Speeding Up the Xbox
Recommender System Using a Euclidean Transformation for Inner-Product Spaces, 2014).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from everylabel import checks
from everylabel.index.build import IndexKind, make_index
from everylabel.index.grown import GrownIndex, index_state, restored_index, with_vectors
from everylabel.types import FloatArray, IntArray, Ranking
from everylabel.vectors import unit_rows

if TYPE_CHECKING:
    from everylabel.index.base import Index


class ProductIndex:
    """Rows with ids; `search` gives inner products. Memory and cost: those of the index below it."""

    def __init__(self, index: Index | GrownIndex, longest: float) -> None:
        self.index, self.longest = index, longest

    @classmethod
    def of(cls, kind: IndexKind, ids: IntArray, rows: FloatArray) -> Self:
        longest = longest_of(rows)
        index = make_index(kind, rows.shape[1] + 1, len(rows))
        index.add(np.asarray(ids, np.int64), of_length(rows, longest))
        return cls(index, longest)

    def with_rows(self, ids: IntArray, rows: FloatArray) -> ProductIndex:
        """One more index, which has these too. Rows longer than the longest of the others count as of its length: all
        the others would have to change."""
        wider = with_vectors(self.index, np.asarray(ids, np.int64), of_length(rows, self.longest))
        return ProductIndex(wider, self.longest)

    def search(self, queries: FloatArray, k: int) -> Ranking:
        """The k largest products of each query, best first; padded with -1 when there are fewer."""
        lengths = np.linalg.norm(queries, axis=1, keepdims=True)
        found = self.index.search(as_query(queries), k)
        products = np.where(found.ids >= 0, found.scores, 0) * (lengths * np.float32(self.longest))
        return Ranking(found.ids, np.where(found.ids >= 0, products, -np.inf).astype(np.float32))

    def check(self, dim: int, below: int) -> None:
        """Of one that was restored: rows of so many numbers, ids below that."""
        checks.require(self.index.dim == dim + 1, f"an index of {self.index.dim} dimensions for {dim}")
        checks.number(self.longest, "longest row", least=0)
        self.index.check(below)

    def state(self, prefix: str) -> dict[str, Any]:
        return index_state(f"{prefix}/index", self.index) | {f"{prefix}/longest": self.longest}

    @classmethod
    def restore(cls, prefix: str, state: dict[str, Any]) -> Self:
        return cls(restored_index(f"{prefix}/index", state), float(state[f"{prefix}/longest"]))


def longest_of(rows: FloatArray) -> float:
    return float(np.sqrt(np.square(rows, dtype=np.float64).sum(axis=1).max(initial=0))) or 1.0


def of_length(rows: FloatArray, longest: float) -> FloatArray:
    """Unit rows with one more dimension, as above; longer rows count as of that length."""
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    rows = rows * np.minimum(1, longest / np.maximum(lengths, 1e-12)).astype(np.float32)
    more = np.sqrt(np.maximum(longest**2 - np.square(rows, dtype=np.float64).sum(axis=1), 0))
    found: FloatArray = unit_rows(np.column_stack([rows, more]))
    return found


def as_query(vectors: FloatArray) -> FloatArray:
    return np.column_stack([unit_rows(vectors), np.zeros(len(vectors), np.float32)])
