"""What an encoder is: texts to unit vectors, texts to token sequences, and a torch module that can be trained.

Nothing here loads torch, and static encoders need it for training only: `Encoder.module` loads it when it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np

from everylabel.encoders.device import check_device
from everylabel.errors import ConfigError
from everylabel.run import QUIET, Run
from everylabel.types import FloatArray, IntArray, LongArray

if TYPE_CHECKING:
    from torch import Tensor, nn

    from everylabel.encoders.tokenizer import TextTokenizer


MOST_LEXICAL = 8192  # dimensions


@dataclass(kw_only=True, frozen=True)
class EncoderConfig:
    """Which encoder, and how long texts are read."""

    kind: str = "static"  # "static", "minilm", or a sentence-transformers folder or hub id
    teacher: str = "minilm"  # what "static" is distilled from: "minilm", folder, hub id; "documents": learned.py
    lexical: int = 0  # of "static": so many dimensions more, by which a token is told from others of like meaning
    trainable: bool = True  # False: methods that train keep the encoder as it is and train what is on top
    pooling: Literal["own", "pooler"] = "own"  # of transformers: as their folder says; pooler: BERT's, see pooler.py
    max_tokens: int | None = None  # of one passage; None: the whole text for "static", 256 for transformers
    passages: Literal["first", "mean", "max"] = "first"  # texts longer than that: cut, or split into passages
    onnx: bool = False  # frozen transformers only: encode with int8 weights, half as slow again
    cache: bool = True  # a frozen transformer's vectors of what is fitted stay on disk: no text is encoded twice
    device: str = "auto"  # of torch, to train and to encode: "cpu", "cuda", "cuda:1"; see device.py

    def check(self) -> None:
        if not self.kind or not self.teacher:
            raise ConfigError("encoder.kind and encoder.teacher must be 'static', 'minilm', a folder or a hub id")
        if self.teacher == "static":
            raise ConfigError("encoder.teacher must be a transformer; got 'static'")
        if not 0 <= self.lexical <= MOST_LEXICAL:
            raise ConfigError(f"encoder.lexical must be from 0 to {MOST_LEXICAL:,}; got {self.lexical}")
        if self.pooling == "pooler" and self.kind == "static":
            raise ConfigError("encoder.pooling='pooler' needs a transformer; set encoder.pooling=own")
        if self.max_tokens is not None and self.max_tokens < 4:
            raise ConfigError(f"encoder.max_tokens must be at least 4; got {self.max_tokens}")
        check_device(self.device)


class Tokens(NamedTuple):
    """Token sequences of different lengths, one after the other: row i is ids[offsets[i] : offsets[i + 1]].

    No special tokens among them: the module adds what it needs. A text of no token is an empty row.
    """

    ids: IntArray
    offsets: LongArray

    @property
    def n_rows(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> LongArray:
        return np.diff(self.offsets)

    def take(self, rows: Any) -> Tokens:
        """These rows, in this order. O(tokens taken)."""
        rows = np.asarray(rows, np.int64)
        return self.spans(rows, np.zeros(len(rows), np.int64), self.lengths_of(rows))

    def lengths_of(self, rows: Any) -> LongArray:
        """As `lengths[rows]`, without a look at the others."""
        rows = np.asarray(rows, np.int64)
        found: LongArray = self.offsets[1:][rows] - self.offsets[:-1][rows]
        return found

    def cut(self, max_tokens: int) -> Tokens:
        """The first tokens of each row."""
        rows = np.arange(self.n_rows)
        return self.spans(rows, np.zeros(self.n_rows, np.int64), np.minimum(self.lengths, max_tokens))

    def spans(self, rows: Any, starts: Any, lengths: Any) -> Tokens:
        """`lengths[j]` tokens of row `rows[j]` from `starts[j]` on; nothing is checked. O(tokens taken)."""
        lengths = np.asarray(lengths, np.int64)
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        first = self.offsets[:-1][np.asarray(rows, np.int64)] + np.asarray(starts, np.int64)
        at = np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], lengths)
        return Tokens(self.ids[at], offsets)

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> Tokens:
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        return cls(np.array([i for row in rows for i in row], np.int32), offsets)

    @classmethod
    def join(cls, parts: Sequence[Tokens]) -> Tokens:
        """The rows of all parts, one part after the other."""
        lengths = np.concatenate([part.lengths for part in parts])
        return cls(np.concatenate([part.ids for part in parts]), np.concatenate([[0], np.cumsum(lengths)]))


class TextModule(Protocol):
    """The trainable side of an encoder: a torch.nn.Module with these two calls."""

    dim: int

    def __call__(self, tokens: Tokens) -> Tensor:
        """(n_rows, dim), not normalised; with dropout while training."""

    def states(self, tokens: Tokens) -> tuple[Tensor, Tensor]:
        """(n_rows, longest row, dim) token vectors, and the mask (bool) of those that are there."""


class Encoder(Protocol):
    """`encode` is deterministic, whatever else is in the batch (to about 1e-6), and safe in threads."""

    dim: int
    config: EncoderConfig
    tokenizer: TextTokenizer

    @property
    def limit(self) -> int | None:
        """Tokens of a text that `tokenize` gives at most, where nothing else is asked for; None: all."""

    @property
    def fingerprint(self) -> str:
        """Hash of everything that decides the vectors: weights, tokeniser, pooling. Changes with training."""

    @property
    def module(self) -> nn.Module:
        """The TextModule whose weights `encode` uses: train it, and `encode` is another. Loads torch."""

    def tokenize(self, texts: Sequence[str], max_tokens: int | None = None, *, run: Run = QUIET) -> Tokens: ...

    def encode(self, texts: Sequence[str], *, keep: bool = False, run: Run = QUIET) -> FloatArray:
        """(n, dim) unit rows (zero for a text of no token); passages "first" and "mean" as configured.

        `keep` is for what is fitted, label texts and training documents: what is slow to encode is remembered on disk.
        """

    def encode_tokens(self, tokens: Tokens, *, unit: bool = True, run: Run = QUIET) -> FloatArray:
        """Rows of what `tokenize` gave, of length 1 or as the module gives them."""

    def encode_passages(self, texts: Sequence[str], *, run: Run = QUIET) -> tuple[FloatArray, LongArray]:
        """Unit rows of all passages of all texts, and where each text's begin: at least one passage a text."""

    def state(self) -> dict[str, Any]:
        """For the model folder. Untrained: which encoder, and its fingerprint. Trained: weights and tokeniser too."""
