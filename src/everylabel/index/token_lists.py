"""Which texts of very many are worth a look, for an index by tokens (tokens.py): lists of texts by their tokens.

A token's list has the texts that it is in, those first in which it weighs most. A query walks the lists in the order of
what their next text gains, as far as a fixed number of steps; of the texts that it meets those with the highest sums
are looked at as a whole. So a query's cost does not grow with the number of texts, a label's score is the one that a
pass over all texts gives it, and only labels that no walk meets are missing: of the best ten next to none, of the best
hundred some (measured: docs/label_index.md). A walk does not know a layer's bias, which the look at the whole does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from everylabel import checks
from everylabel.types import Csr, FloatArray, IntArray, LongArray

LISTS_FROM = 300_000  # texts; a pass over fewer takes about as long
MOST_SHARE = 50  # of the labels at most one in so many may be asked for, else all texts are looked at
STEPS = 16_384  # of a query
LEAST_WHOLE = 2_048  # texts that are looked at, or as many as labels that are asked for


class TextLists(NamedTuple):
    """Column c has texts[begins[c] : begins[c + 1]], and what the column weighs in each; `heads`: in the first."""

    begins: LongArray
    texts: IntArray
    weights: FloatArray
    heads: FloatArray

    @classmethod
    def of(cls, texts: Csr, before: int) -> TextLists:
        """Columns below `before` have no lists. O(tokens x log(texts of a token)), once a fit."""
        from everylabel.index.token_kernels import by_column

        n_columns = texts.shape[1]
        sizes = np.bincount(texts.indices, minlength=n_columns)
        sizes[:before] = 0
        begins = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        rows, weights = np.empty(begins[-1], np.int32), np.empty(begins[-1], np.float32)
        by_column(texts.indptr, texts.indices, texts.data, before, begins, rows, weights)
        return cls.with_heads(begins, rows, weights)

    @classmethod
    def with_heads(cls, begins: LongArray, texts: IntArray, weights: FloatArray) -> TextLists:
        checks.offsets(begins, "lists of texts", len(texts))
        checks.numbers(weights, "weights in lists of texts", len(texts))
        heads = np.zeros(len(begins) - 1, np.float32)
        there = np.diff(begins) > 0
        heads[there] = weights[begins[:-1][there]]
        return cls(begins, texts, weights, heads)

    def serves(self, k: int, n_labels: int) -> bool:
        """Whether so few labels are asked for that a walk is worth it."""
        return k * MOST_SHARE <= n_labels

    def check(self, n_texts: int, heaviest: float) -> None:
        checks.within(self.weights, "weights in lists of texts", 0, heaviest)
        checks.indexes(self.texts, "lists of texts", n_texts)

    def state(self, key: str) -> dict[str, Any]:
        return {f"{key}/{name}": getattr(self, name) for name in ("begins", "texts", "weights")}


def most_whole(k: int) -> int:
    """Texts that are looked at for k labels."""
    return max(LEAST_WHOLE, k)
