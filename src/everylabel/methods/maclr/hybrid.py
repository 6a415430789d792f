"""Label texts matched by words and by meaning, all scores in one ranking: what a user gets without a labelled pair.

Words (text/matching.py) are exact where the text has the label's words. A pretrained transformer finds the others; it
reads a document's beginning. Static embeddings read all of it, and have learned from the documents what goes with what
(RTS, maclr.py; as pretrained where there are no documents). The score is the sum of the three cosines with weights:
`dense_weight` for a document that the transformer reads whole, less for one of which it reads the beginning only.
Ranks instead of scores (reciprocal-rank fusion) are worse on every data set tried.
Cost of fitting: RTS, 10 passes over the documents; of a document: that of the parts, the transformer's is the largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from everylabel.data.dataset import Dataset, LabelSet
from everylabel.encoders.base import EncoderConfig
from everylabel.errors import ConfigError
from everylabel.index.build import IndexKind
from everylabel.methods.base import Method, State
from everylabel.methods.facts import Facts, Work, encoder_for
from everylabel.methods.maclr.maclr import SelfSupervision
from everylabel.methods.readings import MEANING, TRANSFORMER, WORDS
from everylabel.methods.traits import TEXTS_ONLY, method
from everylabel.run import Run
from everylabel.text.matching import LabelMatcher, MatchConfig
from everylabel.text.scripts import n_words_of
from everylabel.text.views import Views
from everylabel.train.batches import TOKENS_PER_WORD
from everylabel.types import FloatArray, LongArray, Ranking

if TYPE_CHECKING:
    from everylabel.methods.tower import Tower

CANDIDATES = 300  # of each part; a label beyond them has the part's lowest score
RANK_CONSTANT = 10  # of reciprocal-rank fusion
LEAST_READ = 0.3  # weight of an encoder that reads next to nothing of a long document


@method("hybrid", "label texts matched by words and by meaning, in one ranking: the best without labelled documents")
class Hybrid(Method):
    """Score = the weighted mean of the cosine of words and (1 + cosine) / 2 of both encoders."""

    traits = replace(
        TEXTS_ONLY,
        why="label texts matched by words, by meaning and by a transformer",
        needs_torch=True,
        seconds=(1.6e-2, 0.0),
        worth=50,
        worth_alone=10,
        weighs_words=True,
        reads_sentences=50,
    )

    match: MatchConfig = field(default_factory=MatchConfig)
    encoder: EncoderConfig = field(default_factory=lambda: EncoderConfig(kind="minilm", max_tokens=64, onnx=True))
    dense_weight: float = 1.0  # 0: without the transformer
    learned: EncoderConfig = field(default_factory=EncoderConfig)
    learn: SelfSupervision = field(default_factory=lambda: SelfSupervision(task="segments"))
    learned_weight: float = 0.5  # 0: without it, nothing is trained
    combine: Literal["scores", "ranks"] = "scores"
    index: IndexKind = "auto"

    @classmethod
    def cost(cls, facts: Facts) -> Work:
        by_transformer = 2e-3 * facts.n_labels + 8e-3 * min(facts.n_docs, 5_000)
        return Work(reading=10 + 1e-6 * facts.all_words, training=5e-6 * facts.all_words + by_transformer)

    @classmethod
    def settings_for(cls, facts: Facts) -> dict[str, Any]:
        return {"match": {"language": facts.language}, "learned": encoder_for(facts)["encoder"]}

    @classmethod
    def unfit(cls, facts: Facts) -> str:
        if not facts.few_documents and facts.few_unseen:
            return "most labels have training documents, and a transformer takes longer for a text than all others do"
        if facts.many_labels:
            return "a transformer reads the text of every label, and there are many"
        return super().unfit(facts)

    def check(self) -> None:
        self.match.check()
        self.encoder.check()
        self.learned.check()
        self.learn.check()
        for key in ("dense_weight", "learned_weight"):
            if getattr(self, key) < 0:
                raise ConfigError(f"{key} must not be negative; got {getattr(self, key)}")

    def _fit(self, dataset: Dataset, run: Run) -> None:
        from everylabel.methods.maclr.selfsup import learned_tower
        from everylabel.methods.tower import Tower

        views, labels = Views.in_run(dataset.documents, run), dataset.labels
        self.matcher_ = LabelMatcher(self.match).fit(views, labels, run)
        self.tower_: Tower | None = None
        self.learned_: Tower | None = None
        if self.dense_weight > 0:
            tower = Tower.load(self.encoder, views, labels, self.random_state, center=True, run=run)
            self.tower_ = tower.index_labels(labels, self.index)
        if self.learned_weight > 0:
            learned = replace(self.learned, trainable=len(views) > 0)
            tower = learned_tower(learned, self.learn, dataset.without_pairs(), self.random_state, run=run)
            self.learned_ = tower.index_labels(labels, self.index)

    @property
    def parts(self) -> tuple[str, ...]:
        dense = {TRANSFORMER: self.dense_weight, MEANING: self.learned_weight}
        return (WORDS, *(part for part, weight in dense.items() if weight > 0))

    def readings(self, views: Views, k: int) -> dict[str, Ranking]:
        """What each part says of the labels: so many of them that those of all together are among them."""
        k = min(max(k, CANDIDATES), len(self.labels_))
        found = {WORDS: self.matcher_.rank(views, k)}
        if self.tower_ is not None:
            found[TRANSFORMER] = self.tower_.rank(views, k)
        if self.learned_ is not None:
            found[MEANING] = self.learned_.rank(views, k)
        return found

    def shares(self, views: Views, documents: LongArray, labels: LongArray) -> FloatArray:
        return self.matcher_.shares(views, documents, labels)

    def _rank(self, views: Views, k: int) -> Ranking:
        return self.summed(self.readings(views, k), views, k)

    def summed(self, readings: dict[str, Ranking], views: Views, k: int) -> Ranking:
        words, vectors = readings[WORDS], [found for part, found in readings.items() if part != WORDS]
        weights = []
        if self.tower_ is not None:
            weights.append(self.dense_weight * self._read(views, self.tower_))
        if self.learned_ is not None:
            weights.append(np.full(len(views), self.learned_weight, np.float32))
        if not vectors:
            return words.top(k)
        if self.combine == "ranks":
            return combined(by_rank(words), [by_rank(part) for part in vectors], weights, k)
        return combined(words, vectors, [2 * weight for weight in weights], k)  # twice: a score is (1 + cosine) / 2

    @property
    def base_form_language(self) -> str:
        return self.match.language

    def rarity(self, word: str) -> float:
        return self.matcher_.rarity(word)

    def _with_labels(self, labels: LabelSet, first: int) -> None:
        self.matcher_ = self.matcher_.with_labels(labels, self.n_fitted_)
        self.tower_, self.learned_ = (
            None if tower is None else tower.with_labels(labels, first) for tower in (self.tower_, self.learned_)
        )

    def _read(self, views: Views, tower: Tower) -> FloatArray:
        """How much an encoder's word counts: by the share of the document that it reads."""
        if tower.encoder.config.kind == "static":
            return np.ones(len(views), np.float32)
        tokenizer = tower.encoder.tokenizer
        limit = (tower.encoder.limit or 0) + len(tokenizer.prefix) + len(tokenizer.suffix)
        n_tokens = TOKENS_PER_WORD * np.array([n_words_of(text) for text in views.full_texts], np.float32)
        return np.asarray(LEAST_READ + (1 - LEAST_READ) * np.minimum(1, limit / n_tokens), np.float32)

    def _state(self) -> State:
        parts = {"tower": self.tower_, "learned": self.learned_}
        state = self.matcher_.state("match")
        for name, tower in parts.items():
            state |= {} if tower is None else tower.state(name)
        return state

    def _restore(self, state: State) -> None:
        from everylabel.methods.tower import Tower

        self.matcher_ = LabelMatcher(self.match).restore("match", state)
        self.tower_ = Tower.restore(self.encoder, "tower", state) if self.dense_weight > 0 else None
        self.learned_ = Tower.restore(self.learned, "learned", state) if self.learned_weight > 0 else None

    def _check_contents(self, n_labels: int) -> None:
        self.matcher_.check(n_labels)
        for tower in (self.tower_, self.learned_):
            if tower is not None:
                tower.check(n_labels)


def by_rank(ranking: Ranking) -> Ranking:
    """The scores of reciprocal-rank fusion, from 1 down."""
    places = (1 / (1 + np.arange(ranking.k, dtype=np.float32) / RANK_CONSTANT))[None]
    return Ranking(ranking.ids, np.where(ranking.ids >= 0, places, -np.inf).astype(np.float32))


def combined(words: Ranking, vectors: Sequence[Ranking], weights: Sequence[FloatArray], k: int) -> Ranking:
    """(words + sum of weight x vectors) / (1 + sum of weights) of the labels of any part.

    A label that a part has not has its lowest score; for words that is 0, they find every label that shares one.
    O(candidates log candidates) a document.
    """
    lowest = [np.where(part.ids >= 0, part.scores, np.inf).min(axis=1, keepdims=True, initial=1) for part in vectors]
    above = [
        Ranking(part.ids, weight[:, None] * np.where(part.ids >= 0, part.scores - least, 0))
        for part, least, weight in zip(vectors, lowest, weights, strict=True)
    ]
    base = sum(weight[:, None] * least for weight, least in zip(weights, lowest, strict=True))
    found = Ranking.summed([words, *above], k)
    return Ranking(found.ids, (found.scores + base) / (1 + sum(weights)[:, None]))  # type: ignore[index]
