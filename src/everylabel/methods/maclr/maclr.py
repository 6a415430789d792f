"""MACLR: an encoder that learns from documents without a single label, and its siblings ICT, SimCSE and RTS.

"Extreme Zero-Shot Learning for Extreme Text Classification". Stage I: (text, title) pairs of the inverse cloze task,
documents of one cluster as one another's positives (eq. 3; clusters doubled and made anew as training goes on, in its
first half), label regularisation (eq. 4). Stage II: pseudo labels, the top 3 of the stage-I encoder and of TF-IDF
(eq. 3 again, a document's positives are all its own pseudo labels). With labelled documents: fine-tuning on them.
RTS: "Structural Contrastive Representation Learning for Zero-shot Multi-label Text Classification".
From the authors' code, where the paper is silent or differs: the other texts' twins are in eq. 4's denominator, too,
and those of the same cluster are positives; a title that occurs in the text is deleted there with p = 0.9; stage II
takes the top 1 of each view, the encoder's above a product of 36 only: `pseudo_labels=1`, `pseudo_least=36`.

Without a preset: cosine with a temperature, documents are centred (tower.py), K0, steps and learning rate go by the
corpus and the encoder. `maclr` has 30 pseudo labels of each view that count less the lower they stand, the encoder's
above a cosine of 0.5 only: three alike, as in the paper, find less (chosen on dev, results/pages/without-pairs.md).
Random labels stand beside a batch's own in stage II, and fine-tuning goes on with the batches of the stage before it:
trained on a few labels alone, the encoder forgets the others (on eurlex57k with 1 % of the labels nDCG@5 fell from 36
to 22).

Cost of a step: one pass forward and back over a batch's tokens; of new clusters: encoding all documents once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from everylabel.data.dataset import Dataset
from everylabel.encoders.base import EncoderConfig
from everylabel.errors import ConfigError
from everylabel.methods.facts import Facts, Work
from everylabel.methods.maclr.presets import COSINE, FINE_TUNED, ICT, MACLR
from everylabel.methods.maclr.semantic import Semantic
from everylabel.methods.traits import method
from everylabel.run import Run
from everylabel.text.matching import MatchConfig
from everylabel.train.config import Compute


@dataclass(kw_only=True)
class SelfSupervision(Compute):
    """What the encoder learns, and for how long."""

    # pairs: title and text, dropout twins, random segments; "none": labelled documents alone are learned from
    task: Literal["titles", "twins", "segments", "none"] = "titles"
    clustering: bool = False  # documents of one cluster are one another's positives
    label_regularisation: bool = False  # the document nearer to its twin than to random labels
    pseudo_encoder: bool = False  # stage II: pseudo labels by the encoder itself
    pseudo_tfidf: bool = False  # stage II: pseudo labels by TF-IDF
    pseudo_labels: int = 3  # of each view and document
    pseudo_by_rank: bool = False  # a view's first label counts 1, its second 1/2, its third 1/3; False: each 1
    pseudo_least: float | None = None  # the encoder's only above this cosine or dot product; None: all of them
    batch_size: int = 256
    steps: int | None = None  # of each stage; None: by the size of the corpus
    fine_tune_steps: int | None = None  # on labelled documents; None: as `steps`, by their number
    fine_tune_alone: bool = False  # without the batches of the stage before it, and against the labels of a batch
    # None: 0.1 for static embeddings, 0.02 with pseudo labels, 0.00002 for transformers; fine-tuning takes half of it
    lr: float | None = None
    temperature: float | None = None  # of eq. 2 and 3; None: 0.05 for cosines, 1 (none) for dot products
    label_temperature: float = 1.0  # of eq. 4: at 0.05 a text is so near to its twin that nothing is learned
    label_negatives: int = 256  # random labels a step in the regularisation
    other_labels: int = 256  # random labels beside a batch's own in stage II and fine-tuning; 0: none, as in the paper
    first_clusters: int | None = None  # K0; None: batch_size / 16: a row has about 16 positives beside its own

    @property
    def slower(self) -> float:
        """How many times as long it takes as the inverse cloze task alone."""
        return 4.0 if self.pseudo_encoder else {"titles": 1.0, "twins": 1.2, "segments": 1.6, "none": 1.0}[self.task]

    def check(self) -> None:
        least = {"pseudo_labels": 1, "batch_size": 2, "label_negatives": 1, "steps": 1, "first_clusters": 1}
        least |= {"fine_tune_steps": 1, "other_labels": 0}
        for key, value in least.items():
            if getattr(self, key) is not None and getattr(self, key) < value:
                raise ConfigError(f"learn.{key} must be at least {value}; got {getattr(self, key)}")
        for key in ("lr", "temperature", "label_temperature"):
            if getattr(self, key) is not None and getattr(self, key) <= 0:
                raise ConfigError(f"learn.{key} must be above 0; got {getattr(self, key)}")
        self.check_compute("learn.")


@method("ict", "an encoder that learns which title belongs to which text: the inverse cloze task alone")
class Ict(Semantic):
    """The inverse cloze task alone: row 1 of MACLR's ablation. Ranks as `semantic` does, by an encoder that learned.

    preset="paper" has encoder, lengths, steps and rates of MACLR, as the first row of its table 5.
    Deviations:
    - Of the competitors in its tables the paper says "default setups", and no more.
    - Losses are means, not sums (Adam does not see that), and gradients are clipped at 1, as in the authors' code.
    - A title is deleted from all of a text or from nothing of it, not sentence by sentence; a document without a title
      is not dropped, its first sentence stands for it.
    - A label is read by all of its texts, one at random in training, the nearest when ranking. In the data sets'
      `lbl.json` these are title and content; the authors read titles only (`fit --names-only`).
    - For few pairs the paper has eq. 2; with several labels a document it is eq. 3, which is eq. 2 where there is one.
      Labels that several documents of a batch share are one column, not one another's negatives.
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = ICT

    traits = replace(
        Semantic.traits,
        why="an encoder that learned from the documents' texts",
        pairs="welcome",
        documents="needed",
        worth=None,
        worth_alone=None,
        reads_sentences=32,
    )

    head: int = 0  # a new linear layer of so many dimensions on a transformer's [CLS]; 0: its own pooling
    label_tokens: int | None = None  # of a label's text, or of a title in its place; None: as many as of a document's
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
    def _reading(self) -> dict[str, Any]:
        return {"head": self.head, "label_tokens": self.label_tokens}

    @property
    def base_form_language(self) -> str:
        return self.match.language

    def _fit(self, dataset: Dataset, run: Run) -> None:
        from everylabel.methods.maclr.selfsup import learned_tower

        settings: dict[str, Any] = {"match": self.match, "center": self.center, "index": self.index}
        settings |= {"similarity": self.similarity, **self._reading}
        tower = learned_tower(self.encoder, self.learn, dataset, self.random_state, run=run, **settings)
        self.tower_ = tower.index_labels(dataset.labels, self.index)


@method("fine-tuned", "a pretrained encoder that learns from labelled documents alone, by the texts of their labels")
class FineTuned(Ict):
    """The papers' few-shot competitor, a sentence encoder without self-supervision; without pairs it is `semantic`.

    Deviations: those of `ict` but "A title".
    - The paper's preset is its MPNet, paraphrase-mpnet-base-v2, with its own pooling and plain dot products; which
      Sentence-BERT the rows of that name have it does not say. Steps and rate of fine-tuning are MACLR's.
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = FINE_TUNED

    traits = replace(Ict.traits, reads_sentences=34, documents="welcome")

    learn: SelfSupervision = field(default_factory=lambda: SelfSupervision(task="none"))


@method("simcse", "an encoder that learns to know a text again after dropout")
class SimCse(Ict):
    """Dropout twins: the same text twice, each time without other parts of it.

    Deviations: those of `ict` but "A title".
    - The paper's preset has SimCSE's cosine and temperature, 0.05, and MACLR's encoder, lengths, steps, batch and rate.
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = COSINE

    traits = replace(Ict.traits, reads_sentences=33)

    learn: SelfSupervision = field(default_factory=lambda: SelfSupervision(task="twins"))


@method("rts", "an encoder that learns which random segments and titles are of the same text")
class Rts(Ict):
    """Random text segmentation: segments of 40 to 80 words with titles and with one another, titles, labels.

    Deviations: those of `ict` but "Of the competitors".
    - RTS is not in MACLR's tables. The preset has RTS's cosine and temperature, 0.05, and MACLR's encoder, lengths,
      steps, batch and rate: both can be compared.
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = COSINE

    traits = replace(Ict.traits, reads_sentences=31)

    learn: SelfSupervision = field(default_factory=lambda: SelfSupervision(task="segments"))


@method(
    "maclr",
    "an encoder that learns from documents without labels, in two stages, and from labelled ones if there are some",
)
class Maclr(Ict):
    """Both stages with all of their parts.

    preset="paper" is section 5.1: BERT-base, its [CLS] with a linear layer of 512 dimensions, plain dot products, 288
    tokens of a document and 64 of a title or label, 100,000 steps a stage, few-shot fine-tuning at half the rate, in
    2,000 steps ("paper:few-shot-1", 1 % of the labels) or 10,000 ("paper:few-shot-5"). The data sets have the same
    settings. It was run on eight GPUs for a day.
    Deviations: those of `ict` but "Of the competitors".
    - M is not in the paper: 32, the 4 a device of the authors' code on 8 devices.
    - Clusters are spherical, of vectors of length 1, by two rounds of k-means from one start, each on 32 vectors a
      cluster (six rounds for up to 256 clusters); theirs are by faiss, 20 rounds from each of 5 starts, of vectors as
      they are.
    """

    traits = replace(Ict.traits, reads_sentences=30)
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MACLR

    encoder: EncoderConfig = field(default_factory=lambda: EncoderConfig(lexical=768))
    learn: SelfSupervision = field(
        default_factory=lambda: SelfSupervision(
            clustering=True,
            label_regularisation=True,
            pseudo_encoder=True,
            pseudo_tfidf=True,
            pseudo_labels=30,
            pseudo_by_rank=True,
            pseudo_least=0.5,
        )
    )
