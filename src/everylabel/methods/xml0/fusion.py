"""XML0: labels that nobody has used yet, from any fitted classifier. `label-fusion` and `conse`: variants.py.

"Leveraging Pre-Trained Extreme Multi-Label Classifiers for Zero-Shot Learning". A classifier gives a document seen
labels with probabilities. Every subset of them has a vector, the sum of probability x label embedding; an unseen
label's fusion score is its best cosine with any of them (Algorithm 1). Its second score is the cosine of document and
label, and both are mixed. `label-fusion` is the first alone, `conse` the same with the one full subset ("Zero-Shot
Learning by Convex Combination of Semantic Embeddings"), `semantic` the second.

The paper's base is a classifier that is there already: `fit_on(model, dataset)`, or `base_model` (its folder), fits
nothing of it. So does `fit_with(ranking, dataset)`, for any other system: what it says of the documents, as a ranking
with probabilities; `rank_with` then takes what it says of others. `fit` fits the base too, twice: once for a rehearsal.

The defaults are not the paper's, whose settings are the preset "paper":
- The encoder stays as it is (`fine_tune_steps`), documents are centred (`center`), and in fusion labels have an encoder
  of their own (`label_encoder`): their texts are short, so a transformer is affordable, and knows better what is alike.
- `threshold` is 0.1. `search="greedy"` grows a subset instead of trying all (subsets.py): the paper's future work.
- `candidates="all"`: seen labels have the base's probability, calibrated in the rehearsal, unseen ones the share of
  hits that their mixed score had where the weight was chosen. So they are taken for as frequent as labels there.
Cost: two fits of the base (`fit_on`: none; the first, a rehearsal, on at most 200,000 documents), one encoding of the
label texts by each encoder, with more than 50,000 unseen labels an index of theirs; a document: zero_shot.py, of many
unseen labels shortlist.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, TypeAlias

import numpy as np

from everylabel import checks, config
from everylabel.data.dataset import Dataset, Documents, LabelSet
from everylabel.data.splits import of_labels, sample_by_id
from everylabel.encoders.base import EncoderConfig
from everylabel.errors import ConfigError, DataError
from everylabel.methods.base import Method, State
from everylabel.methods.calibrate import Calibration
from everylabel.methods.evidence import Clue
from everylabel.methods.facts import FEW_DOCUMENTS, Facts, Work, encoder_for
from everylabel.methods.maclr.maclr import SelfSupervision
from everylabel.methods.traits import PAIRS_AND_TEXTS, method
from everylabel.methods.vocabulary import prepared, rank_visible
from everylabel.methods.xml0 import costs
from everylabel.methods.xml0.given import choose_on, counted, has_enough, learn_on, say_as_usual
from everylabel.methods.xml0.presets import PAPER
from everylabel.methods.xml0.rehearsal import NO_REHEARSAL, Chosen, Trial, ranked_of, rehearsal_of, sampled
from everylabel.methods.xml0.shortlist import ManyCandidates, candidates_of, vectors_of_labels
from everylabel.methods.xml0.subsets import MOST, MOST_EXHAUSTIVE, Loss, SearchKind, loss_of_greedy
from everylabel.methods.xml0.zero_shot import YARDSTICK, Candidates, Predicted
from everylabel.registry import method_class
from everylabel.run import QUIET, Run
from everylabel.states import add_prefix, strip_prefix
from everylabel.text.matching import require_texts
from everylabel.text.views import Views
from everylabel.train.config import Compute
from everylabel.types import LongArray, Ranking

if TYPE_CHECKING:
    from everylabel.methods.tower import Tower

HELD_SHARE, HIDDEN_SHARE = 0.2, 0.2  # of the labelled documents and of the seen labels, in the rehearsal
Builder: TypeAlias = Callable[[LongArray], Candidates]
GIVEN = "."  # in the place of a folder: a fitted method is there
_CHUNK, _CELLS = 256, 1 << 22  # documents and scores that are there at a time: some 100 MB


class Reason(NamedTuple):
    """One of the seen labels that an unseen one is made of."""

    label: str  # its id
    probability: float
    share: float  # of the cosine; all shares add up to 1


@method("xml0", "an add-on to any method: labels without documents, from the labels that it finds and from the text")
class Xml0(Method):
    """Seen labels by the base, unseen ones by what the base says and by their texts. See the file for the cost.

    preset="paper": AttentionXML as the base, all-MiniLM-L6-v2 for documents and labels, fine-tuned on seen labels;
    unseen labels alone are ranked. Threshold and weight are chosen, on documents of unseen labels: those of a dev
    split, if it has enough of them. The paper's base was fitted before: `base_model` is the folder of one, which
    `everylabel fit --method attentionxml --preset paper` makes; without it the base has AttentionXML's settings for a
    CPU, and is fitted twice.
    Deviations:
    - Fine-tuning raises the cosine of matching pairs (a slip of the paper: it is said to be minimised) by a loss that
      the paper does not have, eq. 3 of MACLR: 7,812 batches of 256 documents with all their labels, so more than the
      paper's 2,000,000 pairs, against 256 random seen labels beside a batch's own, temperature 0.05, rate 1e-5.
    - The threshold is on calibrated probabilities, of at most `cap` labels; the paper does not say what it is. Where no
      label passes it, fusion has no say: the document's own likeness decides alone; fusion alone ranks no unseen label
      then.
    - Both scores are normalised per document before they are mixed (zero_shot.py).
    - Which of threshold and weight is not set is that of the best nDCG@5 of unseen labels, averaged over resamples of
      the documents, the rare labels before the frequent ones; the paper does not say how it has found its own. Without
      20 documents of unseen labels in dev a rehearsal chooses, where the base is fitted here: a share of the documents
      is held out, a share of the seen labels hidden. For a base that is there already training documents of labels that
      it has not learned choose; without any it is 0.1 and 0.5, and a message says so.
    - A label has one vector for fusion, the mean of its texts'; of its likeness the best of its texts counts.
    - Of more than 50,000 unseen labels those are scored that an approximate index finds near the document or near sums
      of its predicted labels, not all (shortlist.py).
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = PAPER

    traits = replace(
        PAIRS_AND_TEXTS,
        why="labels nobody has used, made of those that similar documents have",
        seconds=(1e-3, 5e-6),
        needs_torch=True,
        on_one_core=1.5,
        worth=80,
        least_documents=FEW_DOCUMENTS,
        takes_dev=True,
    )

    base: str = "xr-linear"  # any other method
    base_settings: dict[str, Any] = field(default_factory=dict)  # of that method: --set base_settings.leaf_size=100
    encoder: EncoderConfig = field(default_factory=lambda: EncoderConfig(lexical=768))
    label_encoder: str = "minilm"  # of labels in fusion: a transformer's name or folder; "": `encoder`, fast for many
    base_model: str = ""  # folder of a fitted model that is the base as it is; then `base` and its settings are its own
    fine_tune_steps: int = 0  # of `encoder`, on pairs of seen labels; 0: it stays as it is
    compute: Compute = field(default_factory=Compute)  # how the fine-tuning uses the machine
    center: bool = True  # take away what all documents have in common; False: as in the paper
    threshold: float | None = 0.1  # probability above which a seen label takes part; None: chosen in the rehearsal
    cap: int = 10  # seen labels of a document that take part, at most
    search: SearchKind = "exhaustive"  # "greedy": faster, a little worse; "full": no search, as in ConSE
    weight: float | None = None  # of fusion, from 0 to 1; None: chosen in the rehearsal
    candidates: Literal["all", "unseen"] = "all"

    @classmethod
    def cost(cls, facts: Facts) -> Work:
        return costs.work(facts)

    @classmethod
    def fit_memory(cls, facts: Facts) -> float:
        return costs.memory(facts)

    @classmethod
    def seconds_per_document(cls, facts: Facts) -> float:
        return super().seconds_per_document(facts) + costs.seconds_to_score(facts)

    @classmethod
    def settings_for(cls, facts: Facts) -> dict[str, Any]:
        taught = encoder_for(facts, **({"lexical": 256} if facts.many_labels else {}))
        own = facts.many_labels or "teacher" in taught["encoder"]  # the transformer knows English only
        return {"base": "knn", "search": "greedy", "label_encoder": "" if own else "minilm", **taught}

    @classmethod
    def with_encoder(cls, name: str) -> dict[str, Any]:
        return super().with_encoder(name) | {"label_encoder": ""}

    def __post_init__(self) -> None:
        self.new_base()  # only the other method knows its settings: a wrong one is found as early as one of its own

    def check(self) -> None:
        self.encoder.check()
        self.compute.check_compute("compute.")
        self.new_base().check()
        most = MOST_EXHAUSTIVE if self.search == "exhaustive" else MOST
        if not 1 <= self.cap <= most:
            raise ConfigError(f"cap must be from 1 to {most} with search={self.search!r}; got {self.cap}")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise ConfigError(f"threshold is a probability, from 0 to 1; got {self.threshold}")
        if self.fine_tune_steps < 0:
            raise ConfigError(f"fine_tune_steps must be 0 (none) or more; got {self.fine_tune_steps}")
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
        return [
            Reason(self.labels_[int(predicted.labels[i])].id, float(predicted.probabilities[i]), share)
            for i, share in self.candidates_.shares(predicted, at, self.search)
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

    @property
    def needs_pairs(self) -> bool:
        return not self.base_model

    def fit(self, dataset: Dataset, dev: Dataset | None = None, *, run: Run = QUIET) -> Self:
        """`dev`: labelled documents; those of labels that the base has not learned choose threshold and weight."""
        run = run.sharing()
        dataset = prepared(dataset, self.label_languages, run)
        return self._fitted_by(dataset, lambda model: model._fit(dataset, run, dev))

    def fit_on(self, base: Method, dataset: Dataset, dev: Dataset | None = None, *, run: Run = QUIET) -> Self:
        """As `fit`, on a fitted method: nothing of it is fitted, its scores are taken for probabilities.

        What it has learned is seen, all other labels are unseen: those of its vocabulary, then those of the dataset.
        Labelled documents of unseen labels, of dev where it has enough of them, choose threshold and weight; the
        dataset's others fine-tune the encoder, if any.
        """
        base, run = base.model_, run.sharing()
        dataset = prepared(dataset, self.label_languages, run)
        other = replace(self, base_model=GIVEN)
        self._swap(other._fitted_by(dataset, lambda model: model._learn_on(base, dataset, run, dev=dev)).model_)
        return self

    def fit_with(self, seen: Ranking, dataset: Dataset, *, run: Run = QUIET) -> Self:
        """As `fit_on`, on what another system says of the dataset's documents: its best labels, by their numbers in the
        dataset, and their probabilities. Labels that it ranks anywhere are seen, all others unseen.

        Texts are then ranked by `rank_with`; `rank` has no classifier to ask, and takes frequent labels for the seen.
        """
        run = run.sharing()
        dataset = prepared(dataset, self.label_languages, run)
        other, base = replace(self, base_model=GIVEN), counted(seen, dataset)
        self._swap(other._fitted_by(dataset, lambda model: model._learn_on(base, dataset, run, found=seen)).model_)
        return self

    def rank_with(self, texts: Views | Documents | Sequence[str], seen: Ranking, k: int = 10) -> Ranking:
        """As `rank`, with another system's best labels of these texts and their probabilities, in place of the base's.

        Its labels are numbers of this vocabulary (`labels_.index`); unseen ones among them are passed over.
        """
        model, views = self.model_, Views.of(texts)
        if seen.n_docs != len(views) or (seen.ids >= len(model.labels_)).any():
            raise DataError(f"expected a ranking of {len(views):,} texts by labels of this vocabulary")
        known = np.where((model.counts_ > 0)[seen.ids], seen.ids, -1)
        found = Ranking.best_of(known, np.where(known >= 0, seen.scores, -np.inf).astype(np.float32), max(k, seen.k))
        hidden = model.unranked

        def rank(depth: int) -> Ranking:
            return model._in_chunks(views, depth, lambda rows: Ranking(found.ids[rows], found.scores[rows]))

        return rank_visible(rank, hidden, k).top(k).without(model._silent(views))

    def _fit(self, dataset: Dataset, run: Run, dev: Dataset | None = None) -> None:
        require_texts(dataset.documents)
        if self.base_model:
            from everylabel.store import load

            self._learn_on(load(self.base_model).model_, dataset, run, dev=dev)
            return
        self.chosen_ = Chosen.of(self.threshold, self.weight)
        build, unseen = self._builder(dataset, run), dataset.counts == 0
        tried = dev if dev is not None and has_enough(dev, dataset.labels, unseen) else None
        calibration = self._rehearse(dataset, build, run, choose=tried is None)
        self.base_ = self.new_base().fit(dataset, run=run).with_calibration(calibration)
        self.candidates_ = build(np.flatnonzero(unseen))
        if tried is not None:
            choose_on(self, tried, build)
        elif self.chosen_.worth is NO_REHEARSAL:
            say_as_usual(self, run)

    def _learn_on(self, base: Method, dataset: Dataset, run: Run, **more: Any) -> None:
        if isinstance(base, Xml0):
            raise ConfigError(f"base must be a method that ranks seen labels, such as xr-linear; got {base.name!r}")
        learn_on(self, base, dataset, run, **more)

    def _builder(self, dataset: Dataset, run: Run) -> Builder:
        """Gives the candidates of some labels, by an encoder that has learned from these pairs if it is to."""
        from everylabel.encoders.build import load_encoder

        labels, tower = dataset.labels, self._tower(dataset, run)
        reader = tower.encoder if not self.label_encoder else load_encoder(self._label_encoder, run=run)
        self.reader_ = reader.state() if self.label_encoder else {}
        yardstick = sample_by_id(labels.ids, None, min(len(labels), YARDSTICK), self.random_state)
        return partial(candidates_of, tower, vectors_of_labels(reader, labels), reader, labels, yardstick)

    def _tower(self, dataset: Dataset, run: Run) -> Tower:
        from everylabel.methods.tower import Tower

        if self.fine_tune_steps:
            from everylabel.methods.maclr.selfsup import learned_tower

            learn = SelfSupervision(task="none", fine_tune_steps=self.fine_tune_steps, **vars(self.compute))
            return learned_tower(self.encoder, learn, dataset, self.random_state, center=self.center, run=run)
        views = Views.in_run(dataset.documents, run)
        return Tower.load(self.encoder, views, dataset.labels, self.random_state, center=self.center, run=run)

    def _choose(self, trial: Trial) -> None:
        self.chosen_ = trial.choose(self.threshold, self.weight, self.search, self.cap, self.random_state)

    def _with_labels(self, labels: LabelSet, first: int) -> None:
        from everylabel.encoders.build import restore_encoder

        own = self.candidates_
        reader = restore_encoder(self._label_encoder, self.reader_) if self.label_encoder else own.tower.encoder
        self.candidates_ = own.with_more(labels, first, reader)

    @property
    def _label_encoder(self) -> EncoderConfig:
        return EncoderConfig(kind=self.label_encoder, trainable=False, device=self.encoder.device)

    def _rehearse(self, dataset: Dataset, build: Builder, run: Run, *, choose: bool) -> Calibration | None:
        """Returns the base's calibration; `choose`: chooses threshold and weight, and learns what a score is worth."""
        parts = rehearsal_of(dataset, HELD_SHARE, HIDDEN_SHARE, self.random_state)
        if parts is None:
            return None
        train, held, hidden = parts
        seen = np.flatnonzero(train.counts)
        base = self.new_base().fit(train, run=run.within("rehearsal"))
        visible = held.with_pairs(of_labels(held.required_pairs, seen, keep=True))
        base.calibrate(visible)
        if choose and len(hidden):
            views, asked = Views.of(held.documents), np.union1d(hidden, self._others(dataset))
            if self.fine_tune_steps:  # by another encoder, which has not learned what is hidden
                build = self._builder(train, run.within("rehearsal"))
            found = ranked_of(base, views, self.cap, train.counts > 0)
            self._choose(Trial(build(asked), views, found, held.required_pairs[:, asked]))
        return base.calibration_

    def _others(self, dataset: Dataset) -> LongArray:
        """Labels that nobody has used, a sample of many: they stand beside the hidden ones, as in a ranking."""
        return sampled(dataset.labels, np.flatnonzero(dataset.counts == 0), self.random_state)

    def _predicted(self, views: Views) -> list[Predicted]:
        found = ranked_of(self.base_, views, self.cap, self.candidates_.seen)
        return Predicted.of(found, self.chosen_.threshold, self.cap)

    def _rank(self, views: Views, k: int) -> Ranking:
        depth, seen = max(k, self.cap), self.candidates_.seen
        return self._in_chunks(views, k, lambda rows: ranked_of(self.base_, views.taken(rows), depth, seen))

    def _in_chunks(self, views: Views, k: int, seen_of: Callable[[LongArray], Ranking]) -> Ranking:
        size = max(1, min(_CHUNK, _CELLS // max(self.candidates_.cells, 1)))
        rows = [np.arange(i, min(i + size, len(views))) for i in range(0, len(views), size)]
        return Ranking.joined([self._rank_chunk(views.taken(part), seen_of(part), k) for part in rows])

    def _rank_chunk(self, views: Views, seen: Ranking, k: int) -> Ranking:
        require_texts(views.documents)
        own, chosen = self.candidates_, self.chosen_
        if len(own.labels) == 0:
            return seen.top(k) if self.candidates == "all" else Ranking.empty(len(views), k)
        predicted = Predicted.of(seen, chosen.threshold, self.cap)
        unseen = own.ranked(views, predicted, self.search, chosen.weight, k)
        if self.candidates == "unseen":
            return unseen.top(k)
        unseen, seen = chosen.worth.apply(unseen), seen.top(k)
        ids, values = (np.concatenate(both, axis=1) for both in zip(seen, unseen, strict=True))
        return Ranking.best_of(ids, values, k)

    def _state(self) -> State:
        return {
            **self.candidates_.state(),
            **add_prefix("base", self.base_.state()),
            **add_prefix("unseen", self.chosen_.worth.state()),
            **add_prefix("reader", self.reader_),
            "weight": self.chosen_.weight,
            "threshold": self.chosen_.threshold,
            "n_base": len(self.base_.labels_),
        }

    def _restore(self, state: State) -> None:
        from everylabel.methods.tower import Tower

        tower = Tower.restore(self.encoder, "tower", state)
        unseen = np.flatnonzero(self.counts_ == 0)
        if "texts" in state:
            self.candidates_ = ManyCandidates.restored(tower, state, unseen)
        else:
            self.candidates_ = Candidates(tower, state["vectors"], state["yardstick"], unseen)
        known = self.labels_.subset(range(checks.whole(state["n_base"], "labels of the base", 0, self.n_fitted_)))
        self.base_ = self.new_base().restore(known, strip_prefix(state, "base"))
        learned = Calibration.restored(strip_prefix(state, "unseen"))
        assert learned is not None
        self.chosen_ = Chosen(state["threshold"], state["weight"], learned)
        self.reader_ = strip_prefix(state, "reader")

    def _check_contents(self, n_labels: int) -> None:
        self.candidates_.check(n_labels)
        self.base_.check_contents()
        self.chosen_.worth.check()
        checks.number(self.chosen_.weight, "weight of fusion", 0, 1)
        checks.number(self.chosen_.threshold, "threshold of fusion", 0, 1)
