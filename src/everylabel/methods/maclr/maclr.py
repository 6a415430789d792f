"""MACLR: an encoder that learns from documents without a single label, and its siblings ICT, SimCSE and RTS.

"Extreme Zero-Shot Learning for Extreme Text Classification". Stage I: (text, title) pairs of the inverse cloze task,
documents of one cluster as one another's positives (eq. 3; clusters doubled and made anew as training goes on, in its
first half), label regularisation (eq. 4). Stage II: pseudo labels, the top 3 of the stage-I encoder and of TF-IDF
(eq. 3 again, a document's positives are all its own pseudo labels). With labelled documents: fine-tuning on them.
RTS: "Structural Contrastive Representation Learning for Zero-shot Multi-label Text Classification".

Deviations: cosine with a temperature instead of the plain dot product of a 512-dimensional head; documents are centred
(tower.py); clusters are spherical; K0, steps and learning rate go by the corpus and the encoder (`Maclr.paper()` has
the paper's); labels that several documents of a batch share are one column, not one another's negatives. For few
pairs the paper says eq. 2; with several labels a document we take eq. 3, which is eq. 2 where there is one. Fine-tuning
goes on with the batches of the stage before it, and only labels that have pairs are its negatives: trained on a few
labels alone, the encoder forgets the others (on eurlex57k with 1 % of the labels nDCG@5 fell from 36 to 22).

Cost of a step: one pass forward and back over a batch's tokens; of new clusters: encoding all documents once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

from everylabel.data.dataset import Dataset
from everylabel.encoders.base import EncoderConfig
from everylabel.errors import ConfigError
from everylabel.methods.facts import Facts, Work
from everylabel.methods.maclr.semantic import Semantic
from everylabel.methods.traits import method
from everylabel.run import Run
from everylabel.text.matching import MatchConfig
from everylabel.train.config import Compute


@dataclass(kw_only=True)
class SelfSupervision(Compute):
    """What the encoder learns, and for how long."""

    task: Literal["titles", "twins", "segments"] = "titles"  # pairs: title and text, dropout twins, random segments
    clustering: bool = False  # documents of one cluster are one another's positives
    label_regularisation: bool = False  # the document nearer to its twin than to random labels
    pseudo_encoder: bool = False  # stage II: pseudo labels by the encoder itself
    pseudo_tfidf: bool = False  # stage II: pseudo labels by TF-IDF
    pseudo_labels: int = 3  # of each view and document
    batch_size: int = 256
    steps: int | None = None  # of each stage; None: by the size of the corpus
    lr: float | None = None  # None: 0.1 for static embeddings, 0.00002 for transformers
    label_negatives: int = 256  # random labels a step: in the regularisation, and beside a batch's own labels
    first_clusters: int | None = None  # K0; None: batch_size^2 / 32, the paper's ratio, but at least 8 documents each

    @property
    def slower(self) -> float:
        """How many times as long it takes as the inverse cloze task alone."""
        return 4.0 if self.pseudo_encoder else {"titles": 1.0, "twins": 1.2, "segments": 1.6}[self.task]

    def check(self) -> None:
        least = {"pseudo_labels": 1, "batch_size": 2, "label_negatives": 1, "steps": 1, "first_clusters": 1}
        for key, value in least.items():
            if getattr(self, key) is not None and getattr(self, key) < value:
                raise ConfigError(f"learn.{key} must be at least {value}; got {getattr(self, key)}")
        if self.lr is not None and self.lr <= 0:
            raise ConfigError(f"learn.lr must be above 0; got {self.lr}")
        self.check_compute("learn.")


@method("ict", "an encoder that learns which title belongs to which text: the inverse cloze task alone")
class Ict(Semantic):
    """The inverse cloze task alone: row 1 of MACLR's ablation. Ranks as `semantic` does, by an encoder that learned."""

    traits = replace(
        Semantic.traits,
        why="an encoder that learned from the documents' texts",
        pairs="welcome",
        documents="needed",
        worth=None,
        worth_alone=None,
        reads_sentences=32,
    )

    learn: SelfSupervision = field(default_factory=SelfSupervision)
    match: MatchConfig = field(default_factory=MatchConfig)  # of the TF-IDF view

    @classmethod
    def cost(cls, facts: Facts) -> Work:
        return Work(reading=5, training=cls().learn.slower * (4.5e-6 * facts.all_words + 1e-3 * facts.n_labels))

    @classmethod
    def settings_for(cls, facts: Facts) -> dict[str, Any]:
        return {"match": {"language": facts.language}}

    def check(self) -> None:
        super().check()
        self.learn.check()
        self.match.check()

    @property
    def base_form_language(self) -> str:
        return self.match.language

    def _fit(self, dataset: Dataset, run: Run) -> None:
        from everylabel.methods.maclr.selfsup import learned_tower

        settings: dict[str, Any] = {"match": self.match, "center": self.center, "index": self.index}
        tower = learned_tower(self.encoder, self.learn, dataset, self.random_state, run=run, **settings)
        self.tower_ = tower.index_labels(dataset.labels, self.index)


@method("simcse", "an encoder that learns to know a text again after dropout")
class SimCse(Ict):
    """Dropout twins: the same text twice, each time without other parts of it."""

    traits = replace(Ict.traits, reads_sentences=33)

    learn: SelfSupervision = field(default_factory=lambda: SelfSupervision(task="twins"))


@method("rts", "an encoder that learns which random segments and titles are of the same text")
class Rts(Ict):
    """Random text segmentation: segments of 40 to 80 words with titles and with one another, titles, labels."""

    traits = replace(Ict.traits, reads_sentences=31)

    learn: SelfSupervision = field(default_factory=lambda: SelfSupervision(task="segments"))


@method(
    "maclr",
    "an encoder that learns from documents without labels, in two stages, and from labelled ones if there are some",
)
class Maclr(Ict):
    """Both stages with all of their parts."""

    traits = replace(Ict.traits, reads_sentences=30)

    learn: SelfSupervision = field(
        default_factory=lambda: SelfSupervision(
            clustering=True, label_regularisation=True, pseudo_encoder=True, pseudo_tfidf=True
        )
    )

    @classmethod
    def paper(cls) -> Self:
        """The paper's settings, for eight GPUs and a day: BERT-base, 288 tokens, 100,000 steps a stage, K0 = 2048."""
        learn = replace(cls().learn, steps=100_000, lr=1e-5, batch_size=256, first_clusters=2048)
        return cls(encoder=EncoderConfig(kind="bert-base-uncased", max_tokens=288), learn=learn)
