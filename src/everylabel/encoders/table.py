"""Token vectors without torch: one base table a process, and for each encoder the factors of its rows.

Row i is factors[i] x (dense[i], lengths[i] x signs[i]). `dense` is distilled and memory-mapped, the signs are bits:
the 30,000 x 1,024 numbers of MiniLM's tokens with 768 lexical dimensions are 34 MB, shared, where the table itself
would be 125 MB an encoder. Factors are applied where the sum is made, to the same bits as if the table were scaled.
Cost of a sum: tokens x dim multiplications and additions; it reads a quarter of the table's memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everylabel.encoders.base import Tokens
from everylabel.encoders.kernels import distinct_tokens, sum_factored_bags, token_weights
from everylabel.parallel import for_each_part
from everylabel.types import FloatArray, IntArray, LongArray

LEXICAL_LENGTH = 2.0  # of the lexical dimensions, beside 1 of the distilled ones
_TURNED = np.packbits(np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1), axis=1, bitorder="little").ravel()
_NO_CHANCES = np.empty(0, np.float32)  # nothing is left out


@dataclass(frozen=True, eq=False)
class TokenTable:
    """Never changed: `scaled` shares all but the factors."""

    dense: FloatArray
    signs: NDArray[np.uint32]  # of the lexical dimensions: bit d % 32 of word d // 32
    n_signs: int
    lengths: FloatArray  # what a sign of each row stands for
    factors: FloatArray
    own: FloatArray  # rows that are trained, and stand in the place of those of the same tokens
    own_row: IntArray  # of each token its row in `own`, -1 where it has none; empty: nothing is trained

    @classmethod
    def of(cls, dense: FloatArray, n_signs: int = 0) -> TokenTable:
        """All factors 1; lexical dimensions are random, and twice as long as the row."""
        n_rows, lengths = len(dense), np.zeros(len(dense), np.float32)
        if n_signs:
            norms = np.linalg.norm(dense, axis=1).astype(np.float32)
            lengths = LEXICAL_LENGTH * norms * np.float32(1 / np.sqrt(n_signs))
        own, own_row = np.empty((0, dense.shape[1] + n_signs), np.float32), np.empty(0, np.int32)
        return cls(dense, random_bits(n_rows, n_signs), n_signs, lengths, np.ones(n_rows, np.float32), own, own_row)

    @property
    def n_rows(self) -> int:
        return len(self.dense)

    @property
    def dim(self) -> int:
        return int(self.dense.shape[1]) + self.n_signs

    @property
    def parts(self) -> Any:
        """As `sum_factored_bags` takes them."""
        return self.dense, self.signs, self.n_signs, self.lengths, self.factors, self.own, self.own_row

    def scaled(self, factors: FloatArray) -> TokenTable:
        return replace(self, factors=self.factors * factors)

    def with_rows(self, tokens: IntArray, own: FloatArray) -> TokenTable:
        """The same but for the vectors of these tokens."""
        own_row = np.full(self.n_rows, -1, np.int32)
        own_row[tokens] = np.arange(len(tokens), dtype=np.int32)
        return replace(self, own=own, own_row=own_row)

    def whole(self) -> FloatArray:
        """The table itself, as an array of its own."""
        found = np.empty((self.n_rows, self.dim), np.float32)
        n_dense = self.dense.shape[1]
        np.multiply(self.dense, self.factors[:, None], out=found[:, :n_dense])
        if self.n_signs:
            value = (self.factors * self.lengths)[:, None]
            found[:, n_dense:] = np.where(unpacked(self.signs, self.n_signs), value, -value)
        if len(self.own_row):
            tokens = np.flatnonzero(self.own_row >= 0)
            found[tokens] = self.own[self.own_row[tokens]]
        return found

    def distinct(self, tokens: Tokens) -> tuple[IntArray, IntArray, LongArray]:
        """(ids, counts, offsets) of each row's distinct tokens. O(tokens)."""
        ids, counts, offsets = distinct_tokens(tokens.ids, tokens.offsets, self.n_rows)
        return ids, counts, offsets

    def sums(self, tokens: Tokens) -> FloatArray:
        """(n_rows, dim): the sum of (1 + ln count) x vector over each row's distinct tokens. On all cores."""
        ids, counts, offsets = self.distinct(tokens)
        weights = token_weights(counts, offsets, _NO_CHANCES, 0.0)
        found = np.zeros((tokens.n_rows, self.dim), np.float32)
        for_each_part(
            tokens.n_rows,
            lambda first, last: sum_factored_bags(ids, weights, offsets, first, last, *self.parts, found),
        )
        return found


def random_bits(n_rows: int, n_columns: int) -> NDArray[np.uint32]:
    """Rows of random bits in words, always the same: the generator's bits are what numpy promises to keep."""
    n_words = -(-n_rows * n_columns // 64)
    stream = np.random.Philox(key=0).random_raw(n_words).astype("<u8").view(np.uint8)
    stream = _TURNED[stream]  # the first bit of a byte was taken to be its highest one
    if n_columns % 32:
        bits = np.unpackbits(stream, count=n_rows * n_columns, bitorder="little").reshape(n_rows, n_columns)
        stream = np.packbits(np.pad(bits, ((0, 0), (0, -n_columns % 32))), axis=1, bitorder="little").ravel()
    width = -(-n_columns // 32)
    return stream[: 4 * n_rows * width].view("<u4").reshape(n_rows, width)


def unpacked(bits: NDArray[np.uint32], n_columns: int) -> NDArray[np.bool_]:
    """A value for each bit."""
    found = np.unpackbits(bits.view(np.uint8), axis=1, count=n_columns, bitorder="little")
    return found.astype(np.bool_)


def random_signs(n_rows: int, n_columns: int) -> FloatArray:
    """Rows of length 1 with these bits as signs."""
    signs = np.where(unpacked(random_bits(n_rows, n_columns), n_columns), 1, -1)
    return np.asarray(signs / np.sqrt(n_columns), np.float32)
