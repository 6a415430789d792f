"""What transformers share, whether they encode with torch (transformer.py) or without (frozen.py)."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from everylabel.encoders.base import EncoderConfig, Tokens
from everylabel.encoders.cache import VectorCache
from everylabel.encoders.onnx import OnnxTransformer
from everylabel.encoders.padding import Padding
from everylabel.encoders.passages import mean_passages, split_passages
from everylabel.encoders.tokenizer import TextTokenizer
from everylabel.forks import Lock
from everylabel.parallel import parallel_map
from everylabel.run import QUIET, Run
from everylabel.types import FloatArray, LongArray
from everylabel.vectors import unit_rows

_KEPT_AT_ONCE = 4096  # texts whose vectors are written to the cache together


class Encoding(ABC):
    """See `Encoder`."""

    def __init__(self, config: EncoderConfig, dim: int, tokenizer: TextTokenizer, pad: Padding) -> None:
        self.config, self.dim, self.tokenizer, self.pad = config, dim, tokenizer, pad
        self._onnx: OnnxTransformer | None = None
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        """To another process: without what it makes by itself on first use."""
        return self.__dict__ | {"_onnx": None}

    @property
    @abstractmethod
    def fingerprint(self) -> str: ...

    @property
    @abstractmethod
    def _frozen(self) -> bool:
        """Are the weights those that it was loaded with?"""

    @abstractmethod
    def _vectors(
        self, tokens: Tokens, advance: Callable[[int], None], run: Run, *, unit: bool = True
    ) -> FloatArray: ...

    @abstractmethod
    def _made_int8(self, run: Run) -> OnnxTransformer: ...

    @abstractmethod
    def _head(self, states: FloatArray) -> FloatArray:
        """One text's vector from its tokens'."""

    @property
    def limit(self) -> int:
        return self.pad.room

    def tokenize(self, texts: Sequence[str], max_tokens: int | None = None, *, run: Run = QUIET) -> Tokens:
        """At most as many tokens a text as one passage holds, or as are asked for."""
        return self.tokenizer(texts, self.limit if max_tokens is None else max_tokens, run=run)

    def encode(self, texts: Sequence[str], *, keep: bool = False, run: Run = QUIET) -> FloatArray:
        distinct = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        with run.task("encoding", len(distinct)) as advance:
            encode = self._encode_kept if keep and self.config.cache and self._frozen else self._encode_now
            vectors = encode(list(distinct), advance, run)
        if len(distinct) == len(texts):
            return vectors
        return vectors[[distinct[text] for text in texts]]

    def encode_tokens(self, tokens: Tokens, *, unit: bool = True, run: Run = QUIET) -> FloatArray:
        with run.task("encoding", tokens.n_rows) as advance:
            return self._vectors(tokens, advance, run, unit=unit)

    def encode_passages(self, texts: Sequence[str], *, run: Run = QUIET) -> tuple[FloatArray, LongArray]:
        passages, begins = split_passages(self.tokenizer(texts, run=run), self.limit)
        return self.encode_tokens(passages, run=run), begins

    def _encode_kept(self, texts: list[str], advance: Callable[[int], None], run: Run) -> FloatArray:
        """From the cache on disk; what is not there is encoded, and kept there."""
        settings = [self.fingerprint, self.pad.limit, self.config.passages != "first", self.config.onnx]
        cache = VectorCache(json.dumps(settings), self.dim, run.say)
        vectors, known = cache.get(texts)
        missing = np.flatnonzero(~known)
        advance(len(texts) - len(missing))
        parts = [missing[first : first + _KEPT_AT_ONCE] for first in range(0, len(missing), _KEPT_AT_ONCE)]
        blocks = [[texts[i] for i in rows] for rows in parts]  # so that an interrupted run need not begin again
        elsewhere = None if run.others is None else run.others.map(partial(_encoded, encoding=self), blocks)
        for rows, block in zip(parts, blocks, strict=True):
            vectors[rows] = self._encode_now(block, advance, run) if elsewhere is None else next(elsewhere)
            cache.put(block, vectors[rows])
        return vectors

    def _encode_now(self, texts: list[str], advance: Callable[[int], None], run: Run) -> FloatArray:
        if self.config.passages == "first":
            return self._vectors(self.tokenize(texts), advance, run)
        passages, begins = split_passages(self.tokenizer(texts), self.limit)
        vectors = self._vectors(passages, lambda _passages: None, run)
        advance(len(texts))
        return mean_passages(vectors, begins)

    def _vectors_int8(self, tokens: Tokens, advance: Callable[[int], None], run: Run) -> FloatArray:
        with self._lock:
            if self._onnx is None:
                self._onnx = self._made_int8(run)
            onnx = self._onnx
        vectors = np.zeros((tokens.n_rows, self.dim), np.float32)

        def work(row: int) -> None:
            states = onnx(self.pad(tokens.take([row])))[0]
            vectors[row] = unit_rows(self._head(states)[None])[0]

        for _ in parallel_map(work, np.flatnonzero(tokens.lengths).tolist()):  # a text of no token has no vector
            advance(1)
        advance(int((tokens.lengths == 0).sum()))
        return vectors


def _encoded(texts: list[str], encoding: Encoding) -> FloatArray:
    """By another process."""
    return encoding._encode_now(texts, lambda _texts: None, QUIET)
