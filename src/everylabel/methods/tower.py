"""One encoder for documents and labels, the labels' vectors in an index: what all dense methods without pairs are.

A document's vector is centred: the mean vector of the training documents, what they all have in common, is taken away
before its length is made 1. Long texts of one kind are otherwise all alike. Labels are not centred. For dot products
vectors have the lengths that the encoder gives them; the index has them as rows of length 1 with one more dimension
(index/products.py), so that a document's best labels are those of the largest products. With static token embeddings
nothing here loads torch; what is trained of a tower is in maclr/towers.py.
Cost: encoding the label texts once; a search a document (see `index/`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np

from everylabel import checks
from everylabel.data.dataset import LabelSet
from everylabel.data.splits import ranks
from everylabel.encoders.base import Encoder, EncoderConfig
from everylabel.encoders.build import load_encoder, restore_encoder
from everylabel.encoders.static import DOCUMENTS, StaticEncoder
from everylabel.errors import ConfigError
from everylabel.index.build import IndexKind, make_index
from everylabel.index.exact import ExactIndex
from everylabel.index.grown import GrownIndex, index_state, restored_index, with_vectors
from everylabel.index.products import as_query, longest_of, of_length
from everylabel.index.tokens import TOKENS_FROM, TokenIndex
from everylabel.parallel import for_each_part
from everylabel.run import QUIET, Run
from everylabel.states import add_prefix, strip_prefix
from everylabel.text.matching import label_texts, require_texts
from everylabel.text.views import Views
from everylabel.types import FloatArray, IntArray, LongArray, Ranking
from everylabel.vectors import unit_rows

if TYPE_CHECKING:
    from everylabel.index.base import Index

Similarity: TypeAlias = Literal["cosine", "dot"]
MEAN_SAMPLE = 2_000  # documents whose mean is what all have in common
MOST_DIMENSIONS = 8192  # of a head
_LONGEST = 1e6  # of a vector that is not normalised


class Tower:
    """`load`, or `restore`; then `index_labels`, and `rank`."""

    def __init__(
        self,
        encoder: Encoder,
        mean: FloatArray,
        similarity: Similarity = "cosine",
        label_tokens: int | None = None,
        longest: float = 1.0,
    ) -> None:
        """`label_tokens`: of a label's text that are read; `longest`: the length of the longest label vector."""
        self.encoder, self.mean = encoder, mean
        self.similarity: Similarity = similarity
        self.label_tokens, self.longest = label_tokens, longest

    @classmethod
    def load(
        cls,
        config: EncoderConfig,
        views: Views,
        labels: LabelSet,
        seed: int,
        *,
        center: bool,
        similarity: Similarity = "cosine",
        head: int = 0,
        label_tokens: int | None = None,
        run: Run = QUIET,
    ) -> Self:
        """The pretrained encoder; static token embeddings are weighted by how rare a token is in this corpus.

        `head`: a new linear layer of so many dimensions on a transformer's first token; 0: its own pooling.
        """
        require_texts(views.documents)
        encoder = _loaded(config, views, labels, seed, run)
        if head:
            from everylabel.encoders.transformer import TransformerEncoder

            assert isinstance(encoder, TransformerEncoder)
            encoder = encoder.with_head(head, seed)
        if isinstance(encoder, StaticEncoder):
            labels_alone = None if len(views) else encoder.tokenize(label_texts(labels)[0], run=run)
            encoder = encoder.weighed(views.tokens(encoder, run) if labels_alone is None else labels_alone)
        tower = cls(encoder, np.zeros(encoder.dim, np.float32), similarity, label_tokens)
        if center and len(views):
            chosen = np.random.default_rng(seed).permutation(len(views))[:MEAN_SAMPLE]
            rows = np.argsort(ranks(views.documents.ids))[np.sort(chosen)]  # by the ids: their order must not matter
            texts = [views.full_texts[i] for i in rows]
            if similarity == "dot":
                tower.mean = encoder.encode_tokens(encoder.tokenize(texts), unit=False, run=run).mean(axis=0)
            else:
                tower.mean = encoder.encode(texts, keep=True, run=run).mean(axis=0)
        return tower

    def index_labels(self, labels: LabelSet, kind: IndexKind, run: Run = QUIET) -> Self:
        texts, self.owners = label_texts(labels)
        self.__dict__.pop("_begins", None)
        self.index: Index | GrownIndex | TokenIndex
        if kind == "auto" and len(texts) >= TOKENS_FROM and self.is_of_tokens:
            tokens = self.encoder.tokenize(texts, self.label_tokens, run=run)
            self.index = TokenIndex.of(self.encoder.table, tokens, self.owners)  # type: ignore[attr-defined]
            return self
        vectors = self.label_vectors(texts, keep=True, run=run)
        if self.similarity == "dot":
            self.longest = longest_of(vectors)
        index = make_index(kind, self.index_dim, len(texts))
        index.add(np.arange(len(texts)), self._as_rows(vectors))
        self.index = index
        return self

    def with_labels(self, labels: LabelSet, first: int) -> Tower:
        """One more, which knows those from place `first` on, too. O(their texts, and those added before)."""
        texts, owners = label_texts(labels.subset(range(first, len(labels))))
        wider = type(self)(self.encoder, self.mean, self.similarity, self.label_tokens, self.longest)
        owners = np.int32(first) + owners
        if isinstance(self.index, TokenIndex):
            wider.index = self.index.with_texts(self.encoder.tokenize(texts, self.label_tokens), owners)
        else:
            rows = self._as_rows(self.label_vectors(texts))
            wider.index = with_vectors(self.index, len(self.owners) + np.arange(len(texts)), rows)
        wider.owners = np.concatenate([self.owners, owners])
        return wider

    def rank(self, views: Views, k: int) -> Ranking:
        """The best of a label's texts counts, and with passages="max" the best of a document's passages."""
        vectors, begins = self._passages(views)
        silent = np.asarray(~vectors.any(axis=1))  # a text of no known token
        vectors = self._as_queries(vectors)
        if isinstance(self.index, ExactIndex):
            found = self.index.search_owners(vectors, self._begins, k)
        elif isinstance(self.index, TokenIndex):
            found = self.index.search(vectors, k)
        else:
            found = best_owners(self.index, vectors, self.owners, k)
        found = found.without(silent)
        if len(vectors) > len(views):
            found = best_passages(found, begins, k)
        return Ranking(found.ids, np.where(found.ids >= 0, np.clip((1 + found.scores) / 2, 0, 1), -np.inf))

    def scores(self, views: Views) -> FloatArray:
        """(documents, labels): the scores of `rank`, of all labels. For few of them; the index must be an exact one."""
        assert isinstance(self.index, (ExactIndex, GrownIndex))
        vectors, begins = self._passages(views)
        found = self.index.scores(self._as_queries(vectors))
        found = np.maximum.reduceat(found, self._begins[:-1], axis=1)
        if len(vectors) > len(views):
            found = np.maximum.reduceat(found, begins[:-1], axis=0)
        return np.clip((1 + found) / 2, 0, 1)

    def queries(self, views: Views) -> tuple[FloatArray, LongArray]:
        """What the index is searched with: unit rows, and where those of each document begin."""
        vectors, begins = self._passages(views)
        return self._as_queries(vectors), begins

    def similar(self, views: Views, least: float, k: int) -> Ranking:
        """The k best labels as `rank` has them, of those whose cosine or dot product with the document is above."""
        found = self.rank(views, k)
        products = 2 * found.scores - 1
        if self.similarity == "dot":
            vectors, _ = self._passages(views)
            products *= np.linalg.norm(vectors - self.mean, axis=1, keepdims=True) * np.float32(self.longest)
        there = (found.ids >= 0) & (products > least)
        return Ranking(np.where(there, found.ids, -1).astype(np.int32), np.where(there, found.scores, -np.inf))

    @property
    def is_of_tokens(self) -> bool:
        """Is a text's vector the sum of its tokens', of length 1?"""
        known = isinstance(self.encoder, StaticEncoder) and self.encoder.config.passages == "first"
        return known and self.similarity == "cosine"

    @property
    def index_dim(self) -> int:
        return self.encoder.dim + (self.similarity == "dot")

    @property
    def label_limit(self) -> int | None:
        """Tokens of a label's text without a transformer's special ones; None: as many as of a document's."""
        if self.label_tokens is None or self.encoder.config.kind == "static":
            return self.label_tokens
        tokenizer = self.encoder.tokenizer
        return max(1, self.label_tokens - len(tokenizer.prefix) - len(tokenizer.suffix))

    def label_vectors(self, texts: Sequence[str], *, keep: bool = False, run: Run = QUIET) -> FloatArray:
        """Of length 1, but for the dot product."""
        if self.similarity == "cosine" and self.label_tokens is None:
            return self.encoder.encode(texts, keep=keep, run=run)
        tokens = self.encoder.tokenize(texts, self.label_limit, run=run)
        return self.encoder.encode_tokens(tokens, unit=self.similarity == "cosine", run=run)

    def _as_rows(self, vectors: FloatArray) -> FloatArray:
        return of_length(vectors, self.longest) if self.similarity == "dot" else vectors

    def _as_queries(self, vectors: FloatArray) -> FloatArray:
        centred = vectors - self.mean
        found: FloatArray = as_query(centred) if self.similarity == "dot" else unit_rows(centred)
        return found

    @cached_property
    def _begins(self) -> LongArray:
        """Where each label's texts begin; each has one at least."""
        return np.searchsorted(self.owners, np.arange(int(self.owners[-1]) + 2))

    def _passages(self, views: Views) -> tuple[FloatArray, LongArray]:
        """Vectors that are not centred yet, and where those of each document begin."""
        require_texts(views.documents)
        if self.encoder.config.passages == "max":
            vectors, begins = self.encoder.encode_passages(views.full_texts)
        elif self.similarity == "dot":
            tokens = views.tokens(self.encoder)
            vectors, begins = self.encoder.encode_tokens(tokens, unit=False), np.arange(len(views) + 1)
        else:
            vectors, begins = views.vectors(self.encoder), np.arange(len(views) + 1)
        return vectors, begins

    def state(self, prefix: str) -> dict[str, Any]:
        encoder = add_prefix(f"{prefix}/encoder", self.encoder.state())
        own: dict[str, Any] = {f"{prefix}/mean": self.mean, f"{prefix}/owners": self.owners}
        if self.similarity == "dot":
            own[f"{prefix}/longest"] = self.longest
        return encoder | own | index_state(f"{prefix}/index", self.index)

    @classmethod
    def restore(
        cls,
        config: EncoderConfig,
        prefix: str,
        state: dict[str, Any],
        similarity: Similarity = "cosine",
        label_tokens: int | None = None,
    ) -> Self:
        encoder = restore_encoder(config, strip_prefix(state, f"{prefix}/encoder"))
        longest = state[f"{prefix}/longest"] if similarity == "dot" else 1.0
        tower = cls(encoder, state[f"{prefix}/mean"], similarity, label_tokens, longest)
        tower.owners = state[f"{prefix}/owners"]
        of_tokens = (lambda: (encoder.table, None)) if isinstance(encoder, StaticEncoder) else None
        tower.index = restored_index(f"{prefix}/index", state, of_tokens)
        return tower

    def check(self, n_labels: int) -> None:
        """Of one that was restored: a vector for each text, and a text at least for each label."""
        checks.numbers(self.mean, "mean", self.encoder.dim, most=1 if self.similarity == "cosine" else _LONGEST)
        checks.number(self.longest, "length of the longest label", 0, _LONGEST)
        checks.require(self.index.dim == self.index_dim, "an index of other vectors than the encoder's")
        self.index.check(n_labels if isinstance(self.index, TokenIndex) else len(self.owners))
        checks.indexes(self.owners, "owners of texts", n_labels, len(self.index))
        steps = np.diff(self.owners, prepend=-1, append=n_labels - 1)
        checks.require(((steps >= 0) & (steps <= 1)).all(), "each label must have a text, in the order of labels")


def check_tower(config: EncoderConfig, similarity: Similarity, head: int, label_tokens: int | None) -> None:
    """ConfigError for settings that cannot work together."""
    if similarity == "dot" and (config.passages != "first" or config.onnx):
        raise ConfigError("similarity='dot' reads a text at once: set encoder.passages=first and encoder.onnx=false")
    if not 0 <= head <= MOST_DIMENSIONS:
        raise ConfigError(f"head must be from 0 (the encoder's own pooling) to {MOST_DIMENSIONS:,}; got {head}")
    if head and (config.kind == "static" or not config.trainable):
        raise ConfigError("head is a new layer of a transformer that is trained: set encoder.kind, or head=0")
    if label_tokens is not None and label_tokens < 4:
        raise ConfigError(f"label_tokens must be at least 4; got {label_tokens}")


def _loaded(config: EncoderConfig, views: Views, labels: LabelSet, seed: int, run: Run) -> Encoder:
    """Pretrained, or learned from the documents, once for all who ask for it; from label texts where there are none."""
    if config.kind != "static" or config.teacher != DOCUMENTS:
        return load_encoder(config, run=run)
    from everylabel.encoders.learned import learned_encoder

    def learn() -> StaticEncoder:
        config.check()
        by_id = np.argsort(ranks(views.documents.ids))
        return learned_encoder(config, [views.full_texts[i] for i in by_id] or label_texts(labels)[0], seed, run)

    return views.of_all(("learned pieces", config, seed), learn)


def best_owners(index: Index | GrownIndex, vectors: FloatArray, owners: IntArray, k: int) -> Ranking:
    """The k owners of the nearest rows. More rows are asked for until there are k owners, as often as it takes."""
    ask = min(len(owners), k + k * (len(owners) - int(owners[-1]) - 1) // len(owners) * 2)
    while True:
        found = index.search(vectors, max(ask, 1))
        best = first_of_each(np.where(found.ids >= 0, owners[found.ids], -1), found.scores, k)
        if ask >= len(owners) or (best.ids[:, -1] >= 0).all():
            return best
        ask = min(len(owners), 2 * ask)


def best_passages(found: Ranking, begins: LongArray, k: int) -> Ranking:
    """Each document's best labels over its passages: row i of the result is rows begins[i] to begins[i + 1]."""
    parts = []
    for first, last in pairwise(begins):
        ids, scores = found.ids[first:last].ravel(), found.scores[first:last].ravel()
        order = np.lexsort((ids, -scores))[None]
        parts.append(first_of_each(ids[order], scores[order], k))
    return Ranking.joined(parts)


def first_of_each(ids: IntArray, scores: FloatArray, k: int) -> Ranking:
    """The first k different ids of each row, with the scores of their first places. Rows: best first, equal by id."""
    from everylabel.index import kernels

    found = Ranking.empty(len(ids), k)
    for_each_part(
        len(ids), lambda a, b: kernels.first_of_each(ids[a:b], scores[a:b], found.ids[a:b], found.scores[a:b])
    )
    return found
