"""Label texts matched by words and by meaning, all scores in one ranking: what a user gets without a labelled pair.

Words (text/matching.py) are exact where the text has the label's words. A pretrained transformer finds the others; it
reads a document's beginning. Static embeddings read all of it, and have learned from the documents what goes with what
(RTS, maclr.py; as pretrained where there are no documents). The score is the sum of the three cosines with weights:
`dense_weight` for a document that the transformer reads whole, less for one of which it reads the beginning only.
Ranks instead of scores (reciprocal-rank fusion) are worse on every data set tried.

Of more than 20,000 labels the transformer scores those alone that words or static embeddings find, by vectors of a byte
a dimension (shortlist.py): what neither of them has among its 300 best is not ranked.
Cost of fitting: RTS, 10 passes over the documents, and one encoding of the label texts by both encoders; of a document:
that of the parts, the transformer's reading of it is the largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from everylabel.data.dataset import Dataset, LabelSet
from everylabel.encoders.base import EncoderConfig
from everylabel.errors import ConfigError
from everylabel.index.build import EXACT_BELOW, IndexKind
from everylabel.methods.base import Method, State
from everylabel.methods.facts import MANY_LABELS, Facts, Work, encoder_for
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
    from everylabel.encoders.base import Encoder
    from everylabel.methods.maclr.shortlist import Shortlisted
    from everylabel.methods.tower import Tower

CANDIDATES = 300  # of each part; a label beyond them has the part's lowest score
RANK_CONSTANT = 10  # of reciprocal-rank fusion
WORDS_READ = 50  # of a document by a transformer that reads 64 tokens
FOREIGN = 0.5  # weight of an English transformer for documents in another language
MEAN_SAMPLE = 2_000  # documents whose mean is taken from the others (methods/tower.py)
MOST_LEARNED = 512_000  # documents that static embeddings learn from in ten passes, in as many steps as there may be
SECONDS_TO_INDEX = 1.2e-3  # a label, where there are too many for an exact index
LEAST_READ = 0.3  # weight of an encoder that reads next to nothing of a long document


@method("hybrid", "label texts matched by words and by meaning, in one ranking: the best without labelled documents")
class Hybrid(Method):
    """Score = the weighted mean of the cosine of words and (1 + cosine) / 2 of both encoders."""

    traits = replace(
        TEXTS_ONLY,
        why="label texts matched by words, by meaning and by a transformer",
        needs_torch=True,
        seconds=(4e-3, 2.4e-4),
        worth=50,
        worth_alone=10,
        most_of_budget=0.25,
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
        """A label has one to three short texts; a graph of static vectors takes longer than reading these."""
        by_transformer = 8e-4 * facts.n_labels + 4e-3 * min(facts.n_docs, MEAN_SAMPLE)
        learning = 3.5e-4 * min(facts.n_docs, MOST_LEARNED) + 4.4e-6 * facts.all_words
        indexing = SECONDS_TO_INDEX * facts.n_labels if facts.n_labels >= EXACT_BELOW else 0.0
        return Work(reading=10 + 1e-6 * facts.all_words + indexing, training=learning + by_transformer)

    @classmethod
    def seconds_per_document(cls, facts: Facts) -> float:
        """The transformer reads the first words of a document."""
        least, each_word = cls.traits.seconds
        return least + each_word * min(facts.words, WORDS_READ)

    @classmethod
    def settings_for(cls, facts: Facts) -> dict[str, Any]:
        """In another language the bundled transformer, which knows English, has half a say."""
        learned = encoder_for(facts)["encoder"]
        foreign = {"dense_weight": FOREIGN} if "teacher" in learned and not facts.encoder else {}
        return {"match": {"language": facts.language}, "learned": learned, **foreign}

    @classmethod
    def unfit(cls, facts: Facts) -> str:
        """With very many labels most have few documents, and it pays all the same (benchmarks.run.hybrid_shortlist)."""
        if not facts.few_documents and facts.few_unseen and not facts.many_labels:
            return "most labels have training documents, and a transformer takes longer for a text than all others do"
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
        from everylabel.methods.maclr.shortlist import Shortlisted
        from everylabel.methods.tower import Tower

        views, labels = Views.in_run(dataset.documents, run), dataset.labels
        self.matcher_ = LabelMatcher(self.match).fit(views, labels, run)
        self.tower_: Tower | Shortlisted | None = None
        self.learned_: Tower | None = None
        if self.dense_weight > 0:
            tower = Tower.load(self.encoder, views, labels, self.random_state, center=True, run=run)
            if len(labels) > MANY_LABELS and self.learned_weight > 0:  # by words alone a shortlist misses too many
                self.tower_ = Shortlisted.of(tower, labels, run)
            else:
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
        from everylabel.methods.tower import Tower

        k = min(max(k, CANDIDATES), len(self.labels_))
        found = {WORDS: self.matcher_.rank(views, k)}
        if self.learned_ is not None:
            found[MEANING] = self.learned_.rank(views, k)
        if isinstance(self.tower_, Tower):
            found[TRANSFORMER] = self.tower_.rank(views, k)
        elif self.tower_ is not None:
            found[TRANSFORMER] = self.tower_.rank(views, list(found.values()))
        return {part: found[part] for part in self.parts}

    def shares(self, views: Views, documents: LongArray, labels: LongArray) -> FloatArray:
        return self.matcher_.shares(views, documents, labels)

    def _rank(self, views: Views, k: int) -> Ranking:
        return self.summed(self.readings(views, k), views, k)

    def summed(self, readings: dict[str, Ranking], views: Views, k: int) -> Ranking:
        words, vectors = readings[WORDS], [found for part, found in readings.items() if part != WORDS]
        weights = []
        if self.tower_ is not None:
            weights.append(self.dense_weight * self._read(views, self.tower_.encoder))
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
        if self.tower_ is not None:
            self.tower_ = self.tower_.with_labels(labels, first)
        if self.learned_ is not None:
            self.learned_ = self.learned_.with_labels(labels, first)

    def _read(self, views: Views, encoder: Encoder) -> FloatArray:
        """How much an encoder's word counts: by the share of the document that it reads."""
        if encoder.config.kind == "static":
            return np.ones(len(views), np.float32)
        tokenizer = encoder.tokenizer
        limit = (encoder.limit or 0) + len(tokenizer.prefix) + len(tokenizer.suffix)
        n_tokens = TOKENS_PER_WORD * np.array([n_words_of(text) for text in views.full_texts], np.float32)
        return np.asarray(LEAST_READ + (1 - LEAST_READ) * np.minimum(1, limit / n_tokens), np.float32)

    def _state(self) -> State:
        parts = {"tower": self.tower_, "learned": self.learned_}
        state = self.matcher_.state("match")
        for name, tower in parts.items():
            state |= {} if tower is None else tower.state(name)
        return state

    def _restore(self, state: State) -> None:
        from everylabel.methods.maclr.shortlist import Shortlisted
        from everylabel.methods.tower import Tower

        self.matcher_ = LabelMatcher(self.match).restore("match", state)
        self.tower_ = None
        if self.dense_weight > 0:
            kind = Shortlisted if Shortlisted.is_in("tower", state) else Tower
            self.tower_ = kind.restore(self.encoder, "tower", state)
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
