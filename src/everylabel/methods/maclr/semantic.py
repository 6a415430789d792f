"""Labels near the document in the space of a pretrained encoder that is used as it is: nothing is trained."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Literal

from everylabel.data.dataset import Dataset, LabelSet
from everylabel.encoders.base import EncoderConfig
from everylabel.index.build import IndexKind
from everylabel.methods.base import Method, State
from everylabel.methods.facts import Facts, Work, encoder_for
from everylabel.methods.traits import TEXTS_ONLY, method
from everylabel.run import Run
from everylabel.text.views import Views
from everylabel.types import Ranking

if TYPE_CHECKING:
    from everylabel.methods.tower import Tower


@method("semantic", "labels near the document in the space of a pretrained encoder, which stays as it is")
class Semantic(Method):
    """Score = (1 + cosine) / 2 of the centred document's vector and the nearest of the label's texts.

    With the dot product: (1 + product / (length of the document's vector x that of the longest label's)) / 2.
    """

    traits = replace(
        TEXTS_ONLY, why="label texts matched by meaning", needs_torch=True, worth=40, worth_alone=20, reads_sentences=40
    )

    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    center: bool = True  # take away what all documents have in common; False: the plain encoder, as in the papers
    similarity: Literal["cosine", "dot"] = "cosine"  # "dot": vectors as they come, for an encoder that was trained so
    index: IndexKind = "auto"

    @classmethod
    def cost(cls, facts: Facts) -> Work:
        return Work(reading=2 + 0.7e-6 * facts.all_words + 2.5e-5 * facts.n_labels)

    @classmethod
    def fit_memory(cls, facts: Facts) -> float:
        return super().fit_memory(facts.by_tokens)

    @classmethod
    def settings_for(cls, facts: Facts) -> dict[str, Any]:
        return encoder_for(facts, lexical=256 if facts.many_labels else 768)

    def check(self) -> None:
        from everylabel.methods.tower import check_tower

        self.encoder.check()
        check_tower(self.encoder, self.similarity, **self._reading)

    @property
    def _reading(self) -> dict[str, Any]:
        """What else a tower is made of."""
        return {"head": 0, "label_tokens": None}

    def _fit(self, dataset: Dataset, run: Run) -> None:
        from everylabel.methods.tower import Tower

        views = Views.in_run(dataset.documents, run)
        how: dict[str, Any] = {"center": self.center, "similarity": self.similarity}
        tower = Tower.load(self.encoder, views, dataset.labels, self.random_state, run=run, **how)
        self.tower_: Tower = tower.index_labels(dataset.labels, self.index)

    def _rank(self, views: Views, k: int) -> Ranking:
        return self.tower_.rank(views, k)

    def _with_labels(self, labels: LabelSet, first: int) -> None:
        self.tower_ = self.tower_.with_labels(labels, first)

    def _state(self) -> State:
        return self.tower_.state("tower")

    def _restore(self, state: State) -> None:
        from everylabel.methods.tower import Tower

        label_tokens = self._reading["label_tokens"]
        self.tower_ = Tower.restore(self.encoder, "tower", state, self.similarity, label_tokens)

    def _check_contents(self, n_labels: int) -> None:
        self.tower_.check(n_labels)
