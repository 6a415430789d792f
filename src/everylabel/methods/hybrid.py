"""Label texts matched by words and by meaning, both scores in one ranking: what a user gets without a labelled pair.

Words (text/matching.py) are exact where the text has the label's words, an encoder finds the others. The score is the
sum of both cosines, the encoder's with a weight: `dense_weight` for a document that it reads whole, less for one of
which it reads the beginning only. Ranks instead of scores (reciprocal-rank fusion) are worse on every data set tried.
Cost of a document: that of both parts; the encoder's is the larger one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from everylabel.data.dataset import Dataset, Documents
from everylabel.encoders.base import EncoderConfig
from everylabel.errors import ConfigError
from everylabel.index.build import IndexKind
from everylabel.methods.base import Method, State
from everylabel.text.matching import LabelMatcher, MatchConfig
from everylabel.train.batches import TOKENS_PER_WORD
from everylabel.types import FloatArray, Ranking

if TYPE_CHECKING:
    from everylabel.methods.tower import Tower

CANDIDATES = 300  # of each part; a label beyond them has the part's lowest score
RANK_CONSTANT = 10  # of reciprocal-rank fusion
LEAST_READ = 0.3  # weight of an encoder that reads next to nothing of a long document


@dataclass(kw_only=True)
class Hybrid(Method):
    """Score = (cosine of words + w x (1 + cosine of vectors)) / (1 + 2w)."""

    name: ClassVar[str] = "hybrid"
    needs_pairs: ClassVar[bool] = False

    match: MatchConfig = field(default_factory=MatchConfig)
    encoder: EncoderConfig = field(default_factory=lambda: EncoderConfig(kind="minilm", max_tokens=64, onnx=True))
    dense_weight: float = 1.0
    combine: Literal["scores", "ranks"] = "scores"
    index: IndexKind = "auto"

    def check(self) -> None:
        self.match.check()
        self.encoder.check()
        if self.dense_weight < 0:
            raise ConfigError(f"dense_weight must not be negative; got {self.dense_weight}")

    def _fit(self, dataset: Dataset) -> None:
        from everylabel.methods.tower import Tower

        documents, labels = dataset.documents, dataset.labels
        self.matcher_ = LabelMatcher(self.match).fit(documents, labels)
        tower = Tower.load(self.encoder, documents, labels, self.random_state, center=True)
        self.tower_: Tower = tower.index_labels(labels, self.index)

    def _rank(self, documents: Documents, k: int) -> Ranking:
        deep = min(max(k, CANDIDATES), len(self.labels_))
        words, vectors = self.matcher_.rank(documents, deep), self.tower_.rank(documents, deep)
        weights = self.dense_weight * self._read(documents)
        if self.combine == "ranks":
            return combined(by_rank(words), by_rank(vectors), weights, k)
        return combined(words, vectors, 2 * weights, k)  # twice: the tower's score is (1 + cosine) / 2

    def _read(self, documents: Documents) -> FloatArray:
        """How much an encoder's word counts: by the share of the document that it reads."""
        limit = getattr(self.tower_.encoder.module, "limit", None)
        if limit is None:
            return np.ones(len(documents), np.float32)
        n_tokens = TOKENS_PER_WORD * np.array([1 + text.count(" ") for text in documents.full_texts], np.float32)
        return np.asarray(LEAST_READ + (1 - LEAST_READ) * np.minimum(1, limit / n_tokens), np.float32)

    def _state(self) -> State:
        return self.matcher_.state("match") | self.tower_.state("tower")

    def _restore(self, state: State) -> None:
        from everylabel.methods.tower import Tower

        self.matcher_ = LabelMatcher(self.match).restore("match", state)
        self.tower_ = Tower.restore(self.encoder, "tower", state)


def by_rank(ranking: Ranking) -> Ranking:
    """The scores of reciprocal-rank fusion, from 1 down."""
    places = (1 / (1 + np.arange(ranking.k, dtype=np.float32) / RANK_CONSTANT))[None]
    return Ranking(ranking.ids, np.where(ranking.ids >= 0, places, -np.inf).astype(np.float32))


def combined(words: Ranking, vectors: Ranking, weights: FloatArray, k: int) -> Ranking:
    """(words + weight x vectors) / (1 + weight) of the labels of either; one that a part has not has its lowest score.

    For words that is 0: they find every label that shares one. O(candidates log candidates) a document.
    """
    there = vectors.ids >= 0
    lowest = np.where(there, vectors.scores, np.inf).min(axis=1, keepdims=True, initial=1)
    ids = np.concatenate([words.ids, vectors.ids], axis=1)
    one = np.concatenate([words.scores, np.zeros_like(vectors.scores)], axis=1)
    other = np.concatenate([np.broadcast_to(lowest, words.scores.shape), np.where(there, vectors.scores, 0)], axis=1)
    order = np.argsort(ids, axis=1, kind="stable")  # a label of both parts stands twice in a row, words first
    ids, one, other = (np.take_along_axis(part, order, 1) for part in (ids, one, other))
    again = ids[:, 1:] == ids[:, :-1]
    other[:, :-1] = np.where(again, other[:, 1:], other[:, :-1])
    scores = (one + weights[:, None] * other) / (1 + weights[:, None])
    scores[:, 1:][again] = -np.inf
    scores = np.where(ids >= 0, scores, -np.inf).astype(np.float32)
    best = np.lexsort((ids, -scores), axis=1)[:, :k]
    ids, scores = np.take_along_axis(ids, best, 1), np.take_along_axis(scores, best, 1)
    return Ranking(np.where(np.isfinite(scores), ids, -1).astype(np.int32), scores).top(k)
