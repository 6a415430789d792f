"""Long texts as several passages: splitting their tokens, and joining the passages' vectors again."""

from __future__ import annotations

import numpy as np

from everylabel.encoders.base import Tokens
from everylabel.types import FloatArray, LongArray
from everylabel.vectors import unit_rows


def split_passages(tokens: Tokens, max_tokens: int | None) -> tuple[Tokens, LongArray]:
    """Passages of at most `max_tokens` tokens, and where each text's begin: n + 1 numbers. At least one a text."""
    if max_tokens is None:
        return tokens, np.arange(tokens.n_rows + 1)
    n_passages = np.maximum(1, -(-tokens.lengths // max_tokens))
    begins = np.concatenate([[0], np.cumsum(n_passages)])
    rows = np.repeat(np.arange(tokens.n_rows), n_passages)
    starts = (np.arange(begins[-1]) - begins[rows]) * max_tokens
    lengths = np.minimum(tokens.lengths[rows] - starts, max_tokens)
    return tokens.spans(rows, starts, lengths), begins


def mean_passages(vectors: FloatArray, begins: LongArray) -> FloatArray:
    """Unit rows: the mean direction of each text's passages."""
    if len(begins) == 1:
        return vectors
    mean: FloatArray = unit_rows(np.add.reduceat(vectors, begins[:-1], axis=0))
    return mean
