"""Ragged tokens as a transformer reads them: with its special tokens, cut to its limit, as long as the longest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everylabel.encoders.base import Tokens
from everylabel.types import IntArray, LongArray


class Padded(NamedTuple):
    ids: LongArray
    mask: NDArray[np.bool_]


@dataclass(frozen=True)
class Padding:
    prefix: IntArray
    suffix: IntArray
    limit: int  # tokens of a text, special ones included
    pad_id: int

    @property
    def room(self) -> int:
        """Tokens of a text without the special ones."""
        return self.limit - len(self.prefix) - len(self.suffix)

    def __call__(self, tokens: Tokens) -> Padded:
        lengths = np.minimum(tokens.lengths, self.room)
        n_before, n_after = len(self.prefix), len(self.suffix)
        full = lengths + n_before + n_after
        ids = np.full((tokens.n_rows, int(full.max(initial=1))), self.pad_id, np.int64)
        columns = np.arange(ids.shape[1])
        mask = columns < full[:, None]
        ids[:, :n_before] = self.prefix
        inside = (columns >= n_before) & (columns < n_before + lengths[:, None])
        ids[inside] = tokens.cut(self.room).ids
        ids[mask & (columns >= n_before + lengths[:, None])] = np.tile(self.suffix, tokens.n_rows)
        return Padded(ids, mask)
