"""XML0: labels that nobody has used yet, from any fitted classifier; and `label-fusion` and `conse`, parts of it.

"Leveraging Pre-Trained Extreme Multi-Label Classifiers for Zero-Shot Learning". A classifier gives a document seen
labels with probabilities. Every subset of them has a vector, the sum of probability x label embedding; an unseen
label's fusion score is its best cosine with any of them (Algorithm 1). Its second score is the cosine of document and
label, and both are mixed. `label-fusion` is the first alone, `conse` the same with the one full subset ("Zero-Shot
Learning by Convex Combination of Semantic Embeddings"), `semantic` the second.

Slip of the paper: fine-tuning is said to minimise the cosine of matching pairs. Here the encoder stays as it is.
Not stated, and what is done:
- The threshold is 0.1 on calibrated probabilities, for at most `cap` labels. Where no label passes it, fusion has no
  say: the document's own likeness decides alone.
- Both scores are normalised per document before they are mixed (zero_shot.py).
- The weight is chosen in a rehearsal: a share of the documents is held out, a share of the seen labels is hidden from
  the base, and nDCG@5 of the hidden labels among all unseen ones decides, the rare ones before the frequent ones,
  averaged over resamples of the documents.
  The rehearsal also calibrates the base; the final base is fitted on everything and keeps that calibration.
Deviations:
- `candidates="all"`: seen labels have the base's probability, unseen ones the share of hits that their mixed score had
  in the rehearsal. So they are taken for as frequent as the hidden ones.
  `candidates="unseen"` is the paper's setting: only unseen labels are ranked.
- `search="greedy"` grows a subset instead of trying all (subsets.py): the paper's future work.
- A label has one vector for fusion, the mean of its texts', by an encoder of its own (`label_encoder`): label texts are
  short, so a transformer is affordable for them, and knows better which labels are alike. Likeness is `semantic`:
  documents are centred, the best of a label's texts counts.
Cost: two fits of the base and one encoding of the label texts by each encoder; a document: subsets.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from everylabel import checks, config
from everylabel.data.dataset import Dataset, Documents, LabelSet, contains
from everylabel.data.splits import hold_out_labels, of_labels, sample_by_id
from everylabel.encoders.base import EncoderConfig
from everylabel.errors import ConfigError, DataError
from everylabel.methods.base import Method, State
from everylabel.methods.calibrate import CALIBRATION_DEPTH, Calibration
from everylabel.methods.evidence import Clue
from everylabel.methods.facts import FEW_DOCUMENTS, MANY_LABELS, Facts, Work, encoder_for
from everylabel.methods.traits import PAIRS_AND_TEXTS, method
from everylabel.methods.vocabulary import rank_visible
from everylabel.methods.xml0.subsets import MOST, MOST_EXHAUSTIVE, Loss, SearchKind, is_member, loss_of_greedy
from everylabel.methods.xml0.zero_shot import (
    YARDSTICK,
    Candidates,
    Predicted,
    Scores,
    best_weight,
    label_vectors,
    squashed,
)
from everylabel.registry import method_class
from everylabel.run import Run
from everylabel.states import add_prefix, strip_prefix
from everylabel.text.matching import require_texts
from everylabel.text.views import Views
from everylabel.types import LongArray, Ranking

HELD_SHARE, HIDDEN_SHARE = 0.2, 0.2  # of the labelled documents and of the seen labels, in the rehearsal
MOST_HELD, MOST_HIDDEN = 4_000, 1_000  # documents and labels of the rehearsal
NO_REHEARSAL = Calibration(np.array([0.0, 1.0]), np.array([0.0, 0.5]))  # too few data: half of the score
_CHUNK, _CELLS = 256, 1 << 22  # documents and scores that are there at a time: some 100 MB


class Reason(NamedTuple):
    """One of the seen labels that an unseen one is made of."""

    label: str  # its id
    probability: float
    share: float  # of the cosine; all shares add up to 1


@method("xml0", "an add-on to any method: labels without documents, from the labels that it finds and from the text")
class Xml0(Method):
    """Seen labels by the base, unseen ones by what the base says and by their texts. See the file for the cost."""

    traits = replace(
        PAIRS_AND_TEXTS,
        why="labels nobody has used, made of those that similar documents have",
        seconds=(1e-3, 5e-6),
        needs_torch=True,
        on_one_core=1.5,
        worth=80,
        least_documents=FEW_DOCUMENTS,
        most_labels=MANY_LABELS,
    )

    base: str = "xr-linear"  # any other method
    base_settings: dict[str, Any] = field(default_factory=dict)  # of that method: --set base_settings.leaf_size=100
    encoder: EncoderConfig = field(default_factory=lambda: EncoderConfig(lexical=768))
    label_encoder: str = "minilm"  # of labels in fusion: a transformer's name or folder; "": `encoder`, fast for many
    threshold: float = 0.1  # probability above which a seen label takes part
    cap: int = 10  # seen labels of a document that take part, at most
    search: SearchKind = "exhaustive"  # "greedy": faster, a little worse; "full": no search, as in ConSE
    weight: float | None = None  # of fusion, from 0 to 1; None: chosen in the rehearsal
    candidates: Literal["all", "unseen"] = "all"

    @classmethod
    def cost(cls, facts: Facts) -> Work:
        return Work(reading=5 + 1.5e-6 * facts.all_words, training=1.5e-3 * facts.n_labels)

    @classmethod
    def settings_for(cls, facts: Facts) -> dict[str, Any]:
        taught = encoder_for(facts)
        own = facts.many_labels or "teacher" in taught["encoder"]  # the transformer knows English only
        return {"base": "knn", "search": "greedy", "label_encoder": "" if own else "minilm", **taught}

    @classmethod
    def with_encoder(cls, name: str) -> dict[str, Any]:
        return super().with_encoder(name) | {"label_encoder": ""}

    def __post_init__(self) -> None:
        self.new_base()  # only the other method knows its settings: a wrong one is found as early as one of its own

    def check(self) -> None:
        self.encoder.check()
        self.new_base().check()
        most = MOST_EXHAUSTIVE if self.search == "exhaustive" else MOST
        if not 1 <= self.cap <= most:
            raise ConfigError(f"cap must be from 1 to {most} with search={self.search!r}; got {self.cap}")
        if not 0 <= self.threshold <= 1:
            raise ConfigError(f"threshold is a probability, from 0 to 1; got {self.threshold}")
        if self.weight is not None and not 0 <= self.weight <= 1:
            raise ConfigError(f"weight must be from 0 to 1, or none to have it chosen; got {self.weight}")

    def new_base(self) -> Method:
        cls = method_class(self.base)
        if issubclass(cls, Xml0):
            raise ConfigError(f"base must be a method that ranks seen labels, such as xr-linear; got {self.base!r}")
        return config.build(cls, {"random_state": self.random_state, **self.base_settings}, "base_settings.")

    def explain(self, text: str, label: str) -> list[Reason]:
        """The seen labels of the best subset for an unseen label (its id), the largest share first."""
        model = self.model_
        at = model.labels_.index.get(label, -1)
        if at not in model.candidates_.labels:
            what = "no label of the vocabulary" if at < 0 else f"a label with {model.counts_[at]} training documents"
            raise DataError(f"only labels without training documents are made of others; {label!r} is {what}")
        return model._reasons(Views.of([text]), at)

    def _reasons(self, views: Views, at: int) -> list[Reason]:
        predicted = self._predicted(views)[0]
        place = np.searchsorted(self.candidates_.pool, at)
        _, cross = self.candidates_.products(predicted)
        best = self.candidates_.best(predicted, self.search)
        own = np.flatnonzero(is_member(best.members[[place]], len(cross))[:, 0])
        parts = cross[own, place]
        total = parts.sum()
        shares = parts / total if total != 0 else np.full(len(own), 1 / max(len(own), 1))
        order = np.lexsort((own, -shares))
        return [
            Reason(self.labels_[int(predicted.labels[i])].id, float(predicted.probabilities[i]), float(share))
            for i, share in zip(own[order], shares[order], strict=True)
        ]

    def evidence(self, views: Views, label: int) -> Iterator[Clue]:
        """The seen labels that an unseen one is made of."""
        model = self.model_
        if model.reads(label):
            for reason in model._reasons(views, label):
                yield Clue("made of", model.labels_[model.labels_.index[reason.label]].name, reason.share)

    def reads(self, label: int) -> bool:
        return bool(self.counts_[label] == 0)  # the others are the base's

    def loss_of_greedy(self, texts: Views | Documents | Sequence[str]) -> Loss:
        """What the growing search would lose on these documents, and how often it finds the same subset."""
        model = self.model_
        return loss_of_greedy(model.candidates_.problems(model._predicted(Views.of(texts))))

    def _fit(self, dataset: Dataset, run: Run) -> None:
        from everylabel.encoders.build import load_encoder
        from everylabel.methods.tower import Tower

        require_texts(dataset.documents)
        labels = dataset.labels
        views = Views.in_run(dataset.documents, run)
        tower = Tower.load(self.encoder, views, labels, self.random_state, center=True, run=run)
        reader = tower.encoder if not self.label_encoder else load_encoder(self._label_encoder, run=run)
        self.reader_ = reader.state() if self.label_encoder else {}
        vectors = label_vectors(reader, labels)
        yardstick = sample_by_id(labels.ids, None, min(len(labels), YARDSTICK), self.random_state)
        unseen = np.flatnonzero(dataset.counts == 0)
        self.weight_ = 0.5 if self.weight is None else self.weight
        self.unseen_ = NO_REHEARSAL
        candidates = partial(Candidates.build, tower, vectors, labels, yardstick)
        calibration = self._rehearse(dataset, candidates, run)
        self.base_ = self.new_base().fit(dataset, run=run).with_calibration(calibration)
        self.candidates_ = candidates(unseen)

    def _with_labels(self, labels: LabelSet, first: int) -> None:
        from everylabel.encoders.build import restore_encoder

        own = self.candidates_
        reader = restore_encoder(self._label_encoder, self.reader_) if self.label_encoder else own.tower.encoder
        self.candidates_ = own.with_more(labels, first, reader)

    @property
    def _label_encoder(self) -> EncoderConfig:
        return EncoderConfig(kind=self.label_encoder, trainable=False, device=self.encoder.device)

    def _rehearse(
        self, dataset: Dataset, candidates: Callable[[LongArray], Candidates], run: Run
    ) -> Calibration | None:
        """Chooses the weight, learns what a mixed score is worth, and returns the base's calibration."""
        parts = rehearsal_of(dataset, HELD_SHARE, HIDDEN_SHARE, self.random_state)
        if parts is None:
            return None
        train, held, hidden = parts
        seen = np.flatnonzero(train.counts)
        base = self.new_base().fit(train, run=run.within("rehearsal"))
        visible = held.with_pairs(of_labels(held.required_pairs, seen, keep=True))
        base.calibrate(visible)
        if len(hidden) == 0:
            return base.calibration_
        views = Views.of(held.documents)
        predicted = Predicted.of(ranked_of(base, views, self.cap, train.counts > 0), self.threshold, self.cap)
        asked = np.union1d(hidden, self._others(dataset))
        scores = candidates(asked).scores(views, predicted, self.search, self.weight)
        truth = held.required_pairs[:, asked]
        if self.weight is None:
            self.weight_ = best_weight(scores, truth, self.random_state)
        top = self._best(scores, np.arange(len(asked)), CALIBRATION_DEPTH)
        there = top.ids >= 0
        self.unseen_ = Calibration.of_pairs(top.scores[there], contains(truth, top.ids)[there])
        return base.calibration_

    def _others(self, dataset: Dataset) -> LongArray:
        """Labels that nobody has used, a sample of many: they stand beside the hidden ones, as in a ranking."""
        unseen = np.flatnonzero(dataset.counts == 0)
        ids = [dataset.labels[int(i)].id for i in unseen]
        return unseen[sample_by_id(ids, None, min(len(unseen), MOST_HIDDEN), self.random_state)]

    def _predicted(self, views: Views) -> list[Predicted]:
        found = ranked_of(self.base_, views, self.cap, self.counts_ > 0)
        return Predicted.of(found, self.threshold, self.cap)

    def _best(self, scores: Scores, labels: LongArray, k: int) -> Ranking:
        mixed = squashed(scores.mixed(self.weight_))
        ids = np.broadcast_to(labels.astype(np.int32), mixed.shape)
        return best_of_doubles(ids, mixed, min(k, len(labels)))

    def _rank(self, views: Views, k: int) -> Ranking:
        size = max(1, min(_CHUNK, _CELLS // max(len(self.candidates_.pool), 1)))
        rows = [np.arange(i, min(i + size, len(views))) for i in range(0, len(views), size)]
        return Ranking.joined([self._rank_chunk(views.taken(part), k) for part in rows])

    def _rank_chunk(self, views: Views, k: int) -> Ranking:
        require_texts(views.documents)
        seen = ranked_of(self.base_, views, max(k, self.cap), self.counts_ > 0)
        own = self.candidates_
        if len(own.labels) == 0:
            return seen.top(k) if self.candidates == "all" else Ranking.empty(len(views), k)
        scores = own.scores(views, Predicted.of(seen, self.threshold, self.cap), self.search, self.weight_)
        unseen = self._best(scores, own.labels, k)
        if self.candidates == "unseen":
            return unseen.top(k)
        unseen, seen = self.unseen_.apply(unseen), seen.top(k)
        ids, values = (np.concatenate(both, axis=1) for both in zip(seen, unseen, strict=True))
        return Ranking.best_of(ids, values, k)

    def _state(self) -> State:
        own = self.candidates_
        return {
            **own.tower.state("tower"),
            **add_prefix("base", self.base_.state()),
            **add_prefix("unseen", self.unseen_.state()),
            **add_prefix("reader", self.reader_),
            "vectors": own.vectors,
            "yardstick": own.yardstick,
            "weight": self.weight_,
        }

    def _restore(self, state: State) -> None:
        from everylabel.methods.tower import Tower

        tower = Tower.restore(self.encoder, "tower", state)
        unseen = np.flatnonzero(self.counts_ == 0)
        self.candidates_ = Candidates(tower, state["vectors"], state["yardstick"], unseen)
        known = self.labels_.subset(range(self.n_fitted_))
        self.base_ = self.new_base().restore(known, strip_prefix(state, "base"))
        learned = Calibration.restored(strip_prefix(state, "unseen"))
        assert learned is not None
        self.unseen_, self.weight_ = learned, state["weight"]
        self.reader_ = strip_prefix(state, "reader")

    def _check_contents(self, n_labels: int) -> None:
        self.candidates_.check(n_labels)
        self.base_.check_contents()
        self.unseen_.check()
        checks.number(self.weight_, "weight of fusion", 0, 1)


@method("label-fusion", "the part of xml0 that makes new labels of those that a method finds")
class LabelFusion(Xml0):
    """Unseen labels by the best subset of the base's labels alone: XML0 without the document's own likeness."""

    traits = replace(Xml0.traits, worth=None)

    weight: float | None = 1.0


@method("conse", "label-fusion without a search: all labels that a method finds, added up")
class Conse(Xml0):
    """Unseen labels by the sum of all of the base's labels: one direction for a document that has several topics."""

    traits = replace(Xml0.traits, worth=None)

    search: SearchKind = "full"
    weight: float | None = 1.0


def rehearsal_of(
    dataset: Dataset, held_share: float, hidden_share: float, seed: int
) -> tuple[Dataset, Dataset, LongArray] | None:
    """(training without hidden labels, held-out documents with all labels, hidden labels), drawn by their ids.

    None where too little is left to learn from; no label is hidden where there is only one.
    """
    pairs = dataset.required_pairs
    labelled = np.flatnonzero(np.diff(pairs.indptr))
    count = min(MOST_HELD, max(1, round(held_share * len(labelled))))
    held = labelled[sample_by_id([dataset.documents.ids[i] for i in labelled], None, count, seed)]
    rest = np.setdiff1d(np.arange(len(dataset)), held)
    n_seen = int((dataset.counts > 0).sum())
    n_hidden = min(MOST_HIDDEN, n_seen - 1, max(1, round(hidden_share * n_seen)))
    without, hidden = hold_out_labels(dataset, count=n_hidden, seed=seed)
    train = without.subset(rest)
    kept = train.required_pairs
    if kept.nnz == 0 or without.required_pairs[held][:, np.flatnonzero(train.counts)].nnz == 0:
        return None
    return train, dataset.subset(held), hidden


def ranked_of(method: Method, views: Views, k: int, seen: Any) -> Ranking:
    """The k best seen labels by a method that may rank others too."""
    return rank_visible(lambda depth: method.rank(views, depth), ~seen, k)


def best_of_doubles(ids: Any, scores: Any, k: int) -> Ranking:
    """As `Ranking.best_of`, in the order of float64 scores: what float32 cannot tell apart stays in its order."""
    from everylabel.methods.kernels import keep_order

    order = np.lexsort((ids, -scores), axis=1)[:, :k]
    exact = np.take_along_axis(scores, order, 1)
    found = exact.astype(np.float32)
    keep_order(found, exact)
    return Ranking(np.take_along_axis(ids, order, 1).astype(np.int32), found)
