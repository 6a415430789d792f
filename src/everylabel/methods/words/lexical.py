"""Label texts matched with documents by their words: TF-IDF and BM25, without a single labelled pair.

TF-IDF is the bar that self-supervised encoders have to clear ("Extreme Zero-Shot Learning for Extreme Text
Classification", table 2). Ours is stronger than the one in the papers: base forms of words, word pairs, the best of a
label's names instead of all of them together, and a weight for the title.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any, ClassVar

from everylabel.data.dataset import Dataset, LabelSet
from everylabel.errors import ConfigError
from everylabel.methods.base import Method, State
from everylabel.methods.facts import Facts, Work
from everylabel.methods.readings import WORDS
from everylabel.methods.traits import TEXTS_ONLY, method
from everylabel.run import Run
from everylabel.text.matching import LabelMatcher, MatchConfig
from everylabel.text.views import Views
from everylabel.types import FloatArray, LongArray, Ranking


@method("tfidf", "labels whose words occur in the document, by the cosine of TF-IDF")
class TfidfMatch(Method):
    """Score = the cosine of the document's and the label's TF-IDF vectors. Fits in one pass over the documents."""

    traits = replace(
        TEXTS_ONLY,
        why="label texts matched by words",
        worth=10,
        worth_alone=30,
        weighs_words=True,
        reads_sentences=70,
        quick=True,
    )

    parts: ClassVar[tuple[str, ...]] = (WORDS,)
    match: MatchConfig = field(default_factory=MatchConfig)

    @classmethod
    def cost(cls, facts: Facts) -> Work:
        return Work(reading=0.75e-6 * facts.all_words + 1e-4 * facts.n_labels)

    @classmethod
    def settings_for(cls, facts: Facts) -> dict[str, Any]:
        return {"match": {"language": facts.language}}

    def check(self) -> None:
        self.match.check()

    def matcher(self) -> LabelMatcher:
        return LabelMatcher(self.match)

    def _fit(self, dataset: Dataset, run: Run) -> None:
        self.matcher_ = self.matcher().fit(Views.in_run(dataset.documents, run), dataset.labels, run)

    def _rank(self, views: Views, k: int) -> Ranking:
        return self.matcher_.rank(views, k)

    def readings(self, views: Views, k: int) -> dict[str, Ranking]:
        (part,) = self.parts
        return {part: self.matcher_.rank(views, k)}

    def summed(self, readings: dict[str, Ranking], views: Views, k: int) -> Ranking:  # noqa: ARG002
        (found,) = readings.values()
        return found.top(k)

    def shares(self, views: Views, documents: LongArray, labels: LongArray) -> FloatArray:
        return self.matcher_.shares(views, documents, labels)

    @property
    def base_form_language(self) -> str:
        return self.match.language

    def rarity(self, word: str) -> float:
        return self.matcher_.rarity(word)

    def _with_labels(self, labels: LabelSet, first: int) -> None:  # noqa: ARG002
        self.matcher_ = self.matcher_.with_labels(labels, self.n_fitted_)

    def _state(self) -> State:
        return self.matcher_.state("match")

    def _restore(self, state: State) -> None:
        self.matcher_ = self.matcher().restore("match", state)

    def _check_contents(self, n_labels: int) -> None:
        self.matcher_.check(n_labels)


@method("bm25", "labels whose words occur in the document, by BM25")
class Bm25Match(TfidfMatch):
    """Score = BM25 with the label as the query, divided by the lengths of both, so that labels can be compared."""

    traits = replace(TfidfMatch.traits, worth=None, worth_alone=None, reads_sentences=71)

    parts: ClassVar[tuple[str, ...]] = ("words by BM25",)
    match: MatchConfig = field(default_factory=lambda: MatchConfig(title_weight=5.0))
    k1: float = 3.0  # how slowly a repeated word stops counting
    length_weight: float = 0.75  # b: how much a word counts less in a longer document

    def check(self) -> None:
        self.match.check()
        if self.k1 < 0 or not 0 <= self.length_weight <= 1:
            raise ConfigError(
                f"k1 must not be negative and length_weight from 0 to 1; got {self.k1} and {self.length_weight}"
            )

    def matcher(self) -> LabelMatcher:
        return LabelMatcher(self.match, bm25=(self.k1, self.length_weight))
