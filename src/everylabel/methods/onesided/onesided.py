"""One-sided fine-tuning: `of-de`, `of-lan`, and what they are compared with: `ova-clf`, `lan`, `dpr`, `dexml`.

"Preserving Zero-shot Capability in Supervised Fine-tuning for Multi-label Text Classification". Documents are read by
an encoder that is trained (eq. 1) and compared by the cosine with one vector a label (eq. 3). One family (figure 5):
- label side: `free` weights a label; a `second` encoder, trained; the `same` encoder; a `frozen` encoder, whose vectors
  are computed once, and a trained linear projection (eq. 2). What is frozen cannot collapse, so labels that nobody has
  used stay where their texts put them.
- pooling: the encoder's own, or label-wise attention (section 4.3): a query a label, free or a second projection of the
  label's vector; the score is the cosine of the tokens as the label sees them and the label's vector.
- auxiliary loss (eq. 4): each label's text is also a document whose one label is itself.
- labels that nobody has used among the negatives, or not (section 4.5, appendix D).

| name | label side | attention | auxiliary |
|---|---|---|---|
| ova-clf, lan | free | no, yes | 0 |
| dpr, dexml | second, same | no | 0 |
| of-de, of-lan | frozen | no, yes | 1 |

The defaults are not the paper's, whose settings are the preset "paper" (presets.py):
- Documents are centred (`center`, tower.py) and, without attention, have one residual layer (`document_layer`).
- The frozen encoder is the documents' own before training. Others are a setting (`label_encoder`); the vectors of
  several stand side by side: more dimensions are better (table 4).
- Attention is asked for a label set a document: its labels, and wrong ones of those that its pooled vector is nearest
  to. All other labels count in the loss as the pooled vector has them, which is trained beside it by the same loss; at
  the end it gives shortlists to attention. The score is the mean of both cosines (`pooled_share`). Without a
  `shortlist` attention is asked for all labels, in training and after it, and nothing else is trained.
- Each term of eq. 4 is a mean over its own pairs, so that a label's text weighs as much as all labels of a document;
  `pair_sums` are the sums of the paper.
- Free weights are compared by the cosine, too; `output="linear"` has the paper's products with a constant a label.
- A label's frequency adds to its logit (`frequency_weight`), so that cosines need not say it: frequent labels come
  first where texts say little, and unseen ones are not pushed away. Ranking puts a document's best 100 in that order,
  with less of it, so that rare labels come up where it costs next to nothing (`rare_weight`).
- `unseen_negatives` is off: labels that nobody has used are read in the auxiliary loss only (`unseen_auxiliary`).
Labels that nobody has used are not ranked by `ova-clf` and `lan`: they have no weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from everylabel import checks
from everylabel.data.dataset import Dataset, Documents, LabelSet
from everylabel.data.splits import hold_out_documents, hold_out_labels, in_order_of_ids, ranks
from everylabel.encoders.base import EncoderConfig, Tokens
from everylabel.errors import ConfigError, DataError
from everylabel.index.build import IndexKind
from everylabel.index.tokens import TokenIndex
from everylabel.methods.base import Method, State
from everylabel.methods.depl.depl import seen_first
from everylabel.methods.depl.settings import Learning
from everylabel.methods.evidence import Clue, heaviest_window
from everylabel.methods.facts import FEW_DOCUMENTS, Facts, Work, encoder_for
from everylabel.methods.onesided.presets import EPOCHS, FROZEN, LABELS, by_size, epochs, per_document, presets_of
from everylabel.methods.onesided.spread import row_of
from everylabel.methods.rare import check_rare_weight
from everylabel.methods.traits import PAIRS_AND_TEXTS, SHALLOW, method
from everylabel.methods.words.linear import seen_labels
from everylabel.run import Run
from everylabel.states import add_prefix, strip_prefix
from everylabel.text.matching import require_texts, text_of
from everylabel.text.views import Views
from everylabel.types import Csr, FloatArray, LongArray, Ranking

if TYPE_CHECKING:
    from everylabel.encoders.base import Encoder
    from everylabel.methods.onesided.learning import Pairs
    from everylabel.methods.onesided.module import DocumentSide, LabelModule
    from everylabel.methods.onesided.ranker import OneSidedRanker, Scoring, Span
    from everylabel.methods.onesided.reader import LabelReader

LabelSide = Literal["free", "second", "same", "frozen"]
Output = Literal["cosine", "linear"]
OWN = "own"  # among the label encoders: the documents' encoder before training
MOST_HELD_OUT = 1_000  # documents of an evaluation
LABEL_TOKENS = 64  # of a label's text
WEIGHED = 100  # labels that their frequency puts in another order; it takes no label's place among them


class Held(NamedTuple):
    """What evaluations look at: documents, their labels, and which labels were hidden from training."""

    documents: Documents
    truth: Csr
    hidden: Any


@method(
    "of-de", "a dual encoder whose label side stays frozen: learns from pairs and keeps labels that nobody has used"
)
class OfDe(Method):
    """Score = (1 + cosine) / 2, less for rare labels. Fit: epochs x (tokens + documents x labels x dim).

    Deviations:
    - Not in the paper: loss, temperature, pooling, lengths. Here: decoupled softmax over all labels, temperature
      0.05, as in "Dual-Encoders for Extreme Multi-label Classification" (DEXML, whose setup it follows), the mean of
      the tokens, 512 tokens of a document and 64 of a label; gradients are cut to length 1.
    - The rate is the middle one of its three, of which it takes the best on dev: 2e-5, 5e-5, 1e-4.
    - Projections start as the ridge regression from the label encoder to the documents' one on label texts, or as the
      identity where they are the same.
    - A label's text is its name, alternative names and description; the paper's were names only.
    """

    traits = replace(
        PAIRS_AND_TEXTS,
        why="an encoder trained on the pairs, its label side frozen for labels nobody has used",
        needs_torch=True,
        on_one_core=1.83,
        worth=70,
        least_documents=FEW_DOCUMENTS,
        reads_sentences=10,
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = presets_of(FROZEN)

    encoder: EncoderConfig = field(default_factory=lambda: EncoderConfig(lexical=768))
    label_side: LabelSide = "frozen"
    label_encoder: str = ""  # of a frozen label side: names or folders, "own + minilm"; "": "own", documents' untrained
    output: Output = "cosine"  # of free weights: "linear" is their product with a document, and a constant a label
    center: bool = True  # what all documents have in common is taken away from them
    attention: bool = False
    document_layer: bool = True  # a residual layer on documents; not with attention
    auxiliary: float = 1.0  # weight of eq. 4, the paper's lambda; 0: without
    pair_sums: bool = False  # every pair and every label text counts alike; False: each term of eq. 4 is a mean
    unseen_negatives: bool = False  # labels that nobody has used are wrong for every document
    unseen_auxiliary: bool = True  # they are among the label texts of eq. 4
    learn: Learning = field(default_factory=lambda: Learning(epochs=EPOCHS, batch_size=256))
    weight_decay: float = 0.01  # of layers and transformers
    temperature: float = 0.05
    labels_per_batch: int | None = None  # None: 5,000; 500 where a transformer reads them in each step
    hard_negatives: int = 8  # of a document, for attention: half of them its best wrong labels
    pooled_share: float = 0.5  # of the pooled vector's cosine in a score with attention; 0: attention alone
    frequency_weight: float = 0.5  # of ln(1 + training documents) of a label, beside cosine / temperature
    rare_weight: float = 0.3  # how much of that is taken away again in a ranking; 0: as in training
    shortlist: int = 200  # labels of a document that attention puts in order; 0: all, by attention alone
    index: IndexKind = "auto"
    evaluations: int = 0  # while training, into history_; above 0, documents and labels are held out for them
    held_out: float = 0.05  # share of the documents and of the labels

    @classmethod
    def cost(cls, facts: Facts) -> Work:
        return Work(reading=5 + 5e-5 * facts.n_labels, training=facts.trained_on(epochs(facts)) * per_document(facts))

    @classmethod
    def fit_memory(cls, facts: Facts) -> float:
        return super().fit_memory(facts if cls.attention or cls.label_side == "free" else facts.by_tokens)

    @classmethod
    def settings_for(cls, facts: Facts) -> dict[str, Any]:
        return encoder_for(facts, lexical=256 if facts.many_labels else 768) | by_size(facts)

    @property
    def depth(self) -> int:
        return SHALLOW if self.attention else super().depth

    def check(self) -> None:
        self.encoder.check()
        self.learn.check("learn", may_choose=True)
        if self.encoder.passages != "first":
            raise ConfigError(
                f"{self.name} reads a document as one text: encoder.passages must be 'first'; "
                f"got {self.encoder.passages!r}"
            )
        if not all(self._label_encoders):
            raise ConfigError(f"label_encoder must be names or folders, as 'own + minilm'; got {self.label_encoder!r}")
        if self.label_encoder and self.label_side != "frozen":
            raise ConfigError(
                f"label_encoder is for label_side='frozen'; got {self.label_encoder!r} with {self.label_side!r}"
            )
        if self.output == "linear" and (self.label_side != "free" or self.center or self.frequency_weight > 0):
            raise ConfigError(
                "output='linear' is for label_side='free', center=false and frequency_weight=0; "
                f"got {self.label_side!r}, {self.center} and {self.frequency_weight}"
            )
        if self.attention and not self.shortlist and self.pooled_share > 0:
            raise ConfigError(f"attention without a shortlist needs pooled_share=0; got {self.pooled_share}")
        if self.temperature <= 0 or self.auxiliary < 0 or self.weight_decay < 0:
            raise ConfigError(
                "temperature must be above 0, auxiliary and weight_decay 0 or more; "
                f"got {self.temperature}, {self.auxiliary} and {self.weight_decay}"
            )
        if self.shortlist < 0 or self.most_labels < 1:
            raise ConfigError(
                "shortlist must be 0 (all labels) or more, labels_per_batch at least 1; "
                f"got {self.shortlist} and {self.most_labels}"
            )
        if self.hard_negatives < 0 or self.evaluations < 0 or self.frequency_weight < 0:
            raise ConfigError(
                "hard_negatives, evaluations and frequency_weight must be 0 or more; "
                f"got {self.hard_negatives}, {self.evaluations} and {self.frequency_weight}"
            )
        check_rare_weight(self.rare_weight)
        if not 0 < self.held_out < 1 or not 0 <= self.pooled_share < 1:
            raise ConfigError(
                "held_out is a share above 0 and below 1, pooled_share one from 0 and below 1; "
                f"got {self.held_out} and {self.pooled_share}"
            )

    @property
    def most_labels(self) -> int:
        if self.labels_per_batch is not None:
            return self.labels_per_batch
        return 500 if self.encoder.kind != "static" and self.label_side in ("second", "same") else LABELS

    def _fit(self, dataset: Dataset, run: Run) -> None:
        from everylabel.methods.onesided.learning import Learner, Pairs
        from everylabel.methods.onesided.module import DocumentSide
        from everylabel.methods.onesided.module_documents import label_vectors
        from everylabel.methods.onesided.ranker import OneSidedRanker
        from everylabel.methods.tower import Tower

        require_texts(dataset.documents)
        data, held = self._held_out(dataset)
        order, n_seen = seen_first(data), len(seen_labels(data))
        views, by_id = Views.in_run(data.documents, run), np.argsort(ranks(data.documents.ids))
        labels_by_id = in_order_of_ids(data).labels
        tower = Tower.load(
            self.encoder, views.taken(by_id), labels_by_id, self.random_state, center=self.center, run=run
        )
        encoder = tower.encoder
        encoder.module.requires_grad_(self.encoder.trainable)
        layers = {"layer": self.document_layer, "attention": self.attention}
        side = DocumentSide(encoder.module, tower.mean, **layers, linear_output=self.output == "linear")
        texts = [text_of(data.labels, int(i)) for i in order]
        rows = by_id[np.diff(data.required_pairs.indptr)[by_id] > 0]
        truth = csr_matrix(data.required_pairs[rows][:, order])
        documents = views.tokens(encoder, run).take(rows)
        pairs = Pairs(documents, encoder.tokenize(texts, LABEL_TOKENS), truth, n_seen)
        labels, reader = self._labels(encoder, side, pairs, texts, run)
        ranked = order[:n_seen] if self.label_side == "free" else order

        def ranker() -> OneSidedRanker:
            made = OneSidedRanker.of(encoder, side, self._scoring)
            return made.index_labels(self.index, labels, ranked, len(dataset.labels))

        def watch(step: int) -> dict[str, Any]:
            found = self._weighed(ranker().rank(encoder.tokenize(held.documents.full_texts), 100), data.counts, 100)
            vectors = label_vectors(labels, len(ranked), self.encoder.device)["outputs"]
            return row_of(step, found, held.truth, held.hidden, vectors, n_seen)

        learn = self.learn
        if learn.lr == "auto":
            from everylabel.methods.onesided.rates import with_best_rate

            def ranked_now(texts: Tokens) -> Ranking:
                return self._weighed(ranker().rank(texts, 100), data.counts, 100)

            judged = csr_matrix(data.required_pairs[rows])
            learn = with_best_rate(self, side, labels, pairs, judged, ranked_now, run)
        learner = Learner(side, labels, pairs, replace(self, learn=learn), run)
        self.history_: list[dict[str, Any]] = learner.learn(watch if self.evaluations else None)
        self.ranker_ = ranker()
        self.reader_ = reader.trained(labels)

    def _with_labels(self, labels: LabelSet, first: int) -> None:
        if self.label_side in ("free", "second"):  # no weights, or an encoder that is not kept: by their words
            super()._with_labels(labels, first)
            return
        texts = [text_of(labels, i) for i in range(first, len(labels))]
        if isinstance(self.ranker_.index, TokenIndex):
            self.ranker_ = self.ranker_.with_texts(first, self.ranker_.encoder.tokenize(texts, LABEL_TOKENS))
            return
        self.ranker_ = self.ranker_.with_labels(first, self.reader_.read(texts, LABEL_TOKENS, self.ranker_))

    def _held_out(self, dataset: Dataset) -> tuple[Dataset, Held]:
        """What is trained on, and what evaluations look at."""
        hidden = np.zeros(len(dataset.labels), bool)
        if not self.evaluations:
            return dataset, Held(dataset.documents.subset([]), dataset.required_pairs[:0], hidden)
        rest, chosen = hold_out_labels(dataset, share=self.held_out, seed=self.random_state)
        hidden[chosen] = True
        count = min(MOST_HELD_OUT, max(1, round(self.held_out * len(dataset))))
        train, _ = hold_out_documents(rest, count=count, seed=self.random_state)
        _, held = hold_out_documents(dataset, count=count, seed=self.random_state)
        if not train.required_pairs.nnz:
            raise DataError(f"{dataset.name}: nothing is left to learn from beside evaluations; set evaluations=0")
        return train, Held(held.documents, held.required_pairs, hidden)

    def _labels(
        self, encoder: Encoder, side: DocumentSide, pairs: Pairs, texts: list[str], run: Run
    ) -> tuple[LabelModule, LabelReader]:
        from everylabel.encoders.build import load_encoder
        from everylabel.methods.onesided.label_bags import bags_of
        from everylabel.methods.onesided.module import FreeLabels, FrozenLabels, ReadLabels, aligned
        from everylabel.methods.onesided.reader import LabelReader, side_by_side

        if self.label_side == "free":
            linear = self.output == "linear"
            start = self._small(encoder.dim, pairs.n_seen) if linear else self._centroids(encoder, side, pairs)
            return FreeLabels(start, attention=self.attention, linear_output=linear), LabelReader.of([])
        if self.label_side != "frozen":
            second = self.label_side == "second"
            labels = ReadLabels(side, pairs.texts, second=second, attention=self.attention)
            return labels, LabelReader.of([])
        projection, reader = np.eye(encoder.dim, dtype=np.float32), LabelReader.of([encoder])
        bags = bags_of(encoder, pairs.texts) if self._label_encoders == [OWN] and self.index == "auto" else None
        if bags is not None and not self.attention:  # which asks for vectors of all labels
            return FrozenLabels(bags, projection, attention=False), reader
        vectors = own = encoder.encode_tokens(pairs.texts, run=run)
        if self._label_encoders != [OWN]:
            configs = zip(self._label_encoders, self._label_configs, strict=True)
            encoders = [encoder if name == OWN else load_encoder(config, run=run) for name, config in configs]
            vectors, reader = side_by_side(encoders, texts, LABEL_TOKENS, run), LabelReader.of(encoders)
            projection = aligned(vectors, own)
        return FrozenLabels(vectors, projection, attention=self.attention), reader

    @property
    def _label_encoders(self) -> list[str]:
        """Of a frozen label side; spaces around a "+" tell it from one in a folder's name."""
        return [name.strip() for name in f" {self.label_encoder or OWN} ".split(" + ")]

    @property
    def _label_configs(self) -> tuple[EncoderConfig, ...]:
        device = self.encoder.device
        others = (EncoderConfig(kind=name, trainable=False, device=device) for name in self._label_encoders)
        return tuple(self.encoder if other.kind == OWN else other for other in others)

    @property
    def _scoring(self) -> Scoring:
        from everylabel.methods.onesided.ranker import Scoring

        return Scoring(self.shortlist, self.pooled_share, linear_output=self.output == "linear")

    def _small(self, dim: int, n: int) -> FloatArray:
        """Random weights, as those of a classifier on a transformer begin."""
        return np.random.default_rng(self.random_state).normal(0, 0.02, (n, dim)).astype(np.float32)

    def _centroids(self, encoder: Encoder, side: DocumentSide, pairs: Pairs) -> FloatArray:
        from everylabel.encoders.table import random_signs
        from everylabel.vectors import unit_rows

        vectors = unit_rows(encoder.encode_tokens(pairs.documents) - side.mean.numpy())
        sums = unit_rows(pairs.truth[:, : pairs.n_seen].T @ vectors)
        empty = ~sums.any(axis=1)  # documents of no known word
        sums[empty] = random_signs(int(empty.sum()), encoder.dim)
        return np.asarray(sums, np.float32)

    def explain(self, text: str, label: str) -> list[Span]:
        """The words of a text by how much of a label's attention (by its id) they have, most first; they sum to 1."""
        model = self.model_
        if not self.attention:
            raise ConfigError(f"{self.name} has no attention to explain; fit of-lan, or set attention=true")
        at = model.labels_.index.get(label)
        if at is None:
            raise DataError(f"label {label!r} is not in the model's vocabulary of {len(model.labels_):,} labels")
        if self.label_side == "free" and not model.ranker_.vectors["outputs"][at].any():
            raise DataError(f"{self.name} has learned nothing of label {label!r}: no document had it; fit of-lan")
        return model.ranker_.explain(text, at)

    def evidence(self, views: Views, label: int) -> Iterator[Clue]:
        """The passage that the label looks at. Free queries are only there for labels that some document had."""
        outputs = self.ranker_.vectors.get("outputs") if self.attention else None
        if outputs is not None and label < len(outputs) and outputs[label].any():
            text = views.full_texts[0]
            spans = self.ranker_.explain(text, label)
            if spans:
                yield Clue("passage", *heaviest_window(text, spans))

    def _rank(self, views: Views, k: int) -> Ranking:
        require_texts(views.documents)
        found = self.ranker_.rank(views.tokens(self.ranker_.encoder), max(k, WEIGHED))
        return self._weighed(found, self.counts_, k)

    def _silent(self, views: Views) -> NDArray[np.bool_]:
        """Also those of unknown characters alone: a trained layer has something to say of every vector."""
        encoder = self.ranker_.encoder
        known = ~np.isin(views.tokens(encoder).ids, encoder.tokenizer.special_ids())
        counts = np.concatenate([[0], np.cumsum(known)])[views.tokens(encoder).offsets]
        return np.asarray(views.silent | (np.diff(counts) == 0))

    def _weighed(self, found: Ranking, counts: LongArray, k: int) -> Ranking:
        """The same labels with what their frequency adds to a cosine, less than in training; half of it to a score."""
        prior = np.log1p(counts[found.ids]) - np.log1p(counts.max())
        weight = max(0.0, self.frequency_weight - self.rare_weight)
        scores = found.scores + weight * self.temperature / 2 * prior
        return Ranking.best_of(found.ids, np.clip(scores, 0, 1), k)

    def _state(self) -> State:
        return self.ranker_.state("ranker") | add_prefix("reader", self.reader_.state()) | {"history": self.history_}

    def _restore(self, state: State) -> None:
        from everylabel.methods.onesided.ranker import OneSidedRanker
        from everylabel.methods.onesided.reader import LabelReader

        self.history_ = state["history"]
        frozen = self._label_configs if self.label_side == "frozen" else ()
        self.reader_ = LabelReader.restored(frozen, strip_prefix(state, "reader"))
        self.ranker_ = OneSidedRanker.restore(
            self.encoder, "ranker", state, self.reader_, layer=self.document_layer, scoring=self._scoring
        )

    def _check_contents(self, n_labels: int) -> None:
        checks.require(isinstance(self.history_, list), "history must be a list")
        self.ranker_.check(n_labels)
        self.reader_.check(self.ranker_.encoder.dim)
