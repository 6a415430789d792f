"""Labels that a frozen static encoder reads, as their tokens: no vector a label, in training and after it.

Cost: of a step the tokens of its labels x dim; of the index see index/tokens.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from everylabel.encoders.base import Encoder, Tokens
from everylabel.encoders.static import StaticEncoder
from everylabel.encoders.table import TokenTable
from everylabel.index.tokens import TOKENS_FROM, Layer, TokenIndex
from everylabel.types import FloatArray, IntArray
from everylabel.vectors import unit_rows


@dataclass(frozen=True)
class LabelBags:
    """`table` is the encoder's as it was before training; a row of `texts` is the text of a label."""

    table: TokenTable
    texts: Tokens

    def vectors(self, labels: IntArray) -> FloatArray:
        """The rows that the encoder has for them, to the last bit."""
        found: FloatArray = unit_rows(self.table.sums(self.texts.take(labels)))
        return found

    def index(self, layer: Layer, order: IntArray) -> TokenIndex:
        """`order`: the labels as the vocabulary numbers them."""
        return TokenIndex.of(self.table, self.texts, order, layer)


def bags_of(encoder: Encoder, texts: Tokens) -> LabelBags | None:
    """None where vectors are few, or are no sums."""
    many = texts.n_rows >= TOKENS_FROM
    return LabelBags(encoder.table, texts) if many and isinstance(encoder, StaticEncoder) else None
