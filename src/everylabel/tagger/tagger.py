"""The Tagger: one object for whatever there is, documents and a vocabulary with no, few or many pairs.

It plans which methods to use (plan.py), fits them (experts.py), learns to blend them on documents they have not read
and labels that were hidden from them (rehearsal.py, candidates.py, blend.py), gives probabilities on one scale, says
why (explain.py), and stays up to date: labels come at once, new pairs in seconds.
Cost: fit that of the plan's experts, those that learn from label texts twice; a document: the sum of its experts and
candidates x trees; memory: one chunk of documents x labels at a time.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from everylabel.config import merge, to_dict
from everylabel.data.bands import band_of
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet
from everylabel.data.splits import of_labels, ranks
from everylabel.errors import ConfigError, DataError
from everylabel.methods.base import Method, State
from everylabel.methods.calibrate import Calibration
from everylabel.methods.facts import Facts
from everylabel.methods.traits import Traits
from everylabel.methods.words.neighbours import NearestNeighbours
from everylabel.progress import say
from everylabel.states import add_prefix, strip_prefix
from everylabel.tagger import keeping
from everylabel.tagger.blend import Blend, Held, learn
from everylabel.tagger.candidates import ADDED, LABEL_BY_LABEL, Table, column_names, name_lengths, tabulated
from everylabel.tagger.clock import Clock
from everylabel.tagger.cut import at_threshold, best_f1
from everylabel.tagger.experts import (
    WITHOUT_PAIRS,
    fit_expert,
    new_expert,
    opinion_names,
    opinions,
    rehearsing,
    share_neighbours,
)
from everylabel.tagger.explain import BEGINNING, Evidence, Training, evidence
from everylabel.tagger.keeping import Kept
from everylabel.tagger.plan import Choice, Plan, choose_plan, seconds_of, spoken
from everylabel.tagger.rehearsal import Rehearsal, in_vocabulary, labelled, rehearsals
from everylabel.tagger.update import Learned, as_dataset, measured, refit_due
from everylabel.types import LongArray, Ranking

CHUNK = 256  # documents that are ranked at a time
BLENDING = 5e-3  # seconds for each held-out document, as planned
LEAST_CALIBRATION = 20  # labelled documents, for what has no blend


class Tag(NamedTuple):
    """A label of a document, and why."""

    id: str
    name: str
    probability: float
    band: str
    evidence: list[Evidence]


@dataclass(kw_only=True)
class Tagger(Method):
    """Frequent, rare and unseen labels in one ranking, by several methods and a blend that has learned whom to trust.

    See the file for the cost.
    """

    name: ClassVar[str] = "tagger"
    summary: ClassVar[str] = (
        "several methods, chosen for the data and blended: frequent, rare and unseen labels in one ranking"
    )
    traits: ClassVar[Traits] = Traits(
        pairs="welcome", documents="welcome", reads_label_texts=True, ranks_unseen=True, needs_texts=False
    )

    budget: str = ""  # time for the fit, such as "30m"; "": by the size of the data
    experts: tuple[str, ...] = ()  # methods to use; none: as planned
    without: tuple[str, ...] = ()  # methods never to use
    settings: dict[str, Any] = field(default_factory=dict)  # of experts: --set settings.of-de.learn.epochs=3
    unseen_every: int = 2  # below the first places, each such place is for labels nobody has used; 0: none is
    language: str = "auto"  # of the documents; "auto": told by their words, "none": words as they are

    def check(self) -> None:
        seconds_of(self.budget)
        if self.unseen_every < 0 or self.unseen_every == 1:
            raise ConfigError(f"unseen_every must be 0, or 2 and more; got {self.unseen_every}")
        for name, values in self.settings.items():
            if not isinstance(values, Mapping):
                raise ConfigError(f"settings.{name} must be settings of an expert: settings.{name}.KEY=VALUE")
            new_expert(name, values, self.random_state).check()

    def fit(self, dataset: Dataset, dev: Dataset | None = None) -> Self:
        """`dev`: labelled documents to blend on; without, training documents are held out for it."""
        self.dev_ = _dev_of(dataset, dev)
        try:
            return super().fit(dataset)
        finally:
            del self.dev_

    def plan(self, dataset: Dataset, dev: Dataset | None = None) -> Plan:
        """What `fit` would do, without doing it."""
        self.check()
        facts = Facts.of(dataset, _dev_of(dataset, dev), self.language)
        return choose_plan(facts, seconds_of(self.budget), only=self.experts, without=self.without)

    def tag(
        self,
        texts: Documents | Sequence[str],
        k: int = 5,
        *,
        threshold: float | None = None,
        best: bool = False,
        explain: bool = True,
    ) -> list[list[Tag]]:
        """The tags of each text with probability, band and evidence: the k best; those of a probability of at least
        `threshold`; or, with `best`, as many as give the best expected F1. At most k of them in any case."""
        documents = Documents.of(texts)
        found = self.rank(documents, k)
        if threshold is not None:
            found = at_threshold(found, threshold)
        if best:
            found = best_f1(found)
        bands = band_of(self.counts_)
        return [
            [
                Tag(
                    self.labels_[label].id,
                    self.labels_[label].name,
                    score,
                    bands[label],
                    self._evidence(documents, row, label) if explain else [],
                )
                for label, score in zip(ids, scores, strict=True)
                if label >= 0
            ]
            for row, (ids, scores) in enumerate(zip(found.ids.tolist(), found.scores.tolist(), strict=True))
        ]

    def history(self) -> list[dict[str, Any]]:
        """What changed when: the fit, labels that came and went, pairs that were learned."""
        self._require_fitted()
        return [dict(event) for event in self.history_]

    def learn(self, pairs: Dataset | Iterable[tuple[str, Sequence[str]]]) -> Learned:
        """New labelled documents, (text, label ids) each, of known labels: a quick update, not a new fit.

        Neighbours and blend learn from them; the other experts stay as they are until a full fit is due.
        """
        self._require_fitted()
        new = as_dataset(self.labels_, self.hidden_, pairs)
        found = measured(self.rank(new.documents, 5), new.required_pairs)
        fresh = int(((new.counts > 0) & (self.counts_ == 0)).sum())
        if self.blend_ is not None:
            self.blend_.learn(self._held(new))
        knn = self.experts_.get("knn")
        if isinstance(knn, NearestNeighbours):
            _widen(knn, self.labels_, self.hidden_)
            knn.learn(new.documents, new.required_pairs)
            self.training_ = self.training_.extended(new.documents.ids, beginnings(new.documents))
        self.counts_ = self.counts_ + new.counts
        self.learned_ += len(new)
        due = refit_due(self.learned_, self.n_train_, int((self.counts_ > 0).sum()), self.fitted_counts_)
        self._note("learned", documents=len(new), pairs=int(new.required_pairs.nnz), new_labels=fresh)
        return Learned(len(new), int(new.required_pairs.nnz), fresh, found, due)

    def add_labels(self, labels: Iterable[Label]) -> Self:
        labels = list(labels)
        super().add_labels(labels)
        self._share_hidden()
        self._note("labels added", labels=len(labels))
        return self

    def remove_labels(self, ids: Iterable[str]) -> Self:
        ids = list(ids)
        super().remove_labels(ids)
        self._share_hidden()
        self._note("labels removed", labels=len(ids))
        return self

    def calibrate(self, dataset: Dataset, ranking: Ranking | None = None) -> Self:
        super().calibrate(dataset, ranking)
        self._note("calibrated", documents=labelled(dataset))
        return self

    def _fit(self, dataset: Dataset) -> None:
        dev = self.dev_
        self.plan_ = self.plan(dataset, dev)
        for line in self.plan_.lines():
            say(line)
        self.costs_: dict[str, float] = {}
        self.history_: list[dict[str, Any]] = []
        self.experts_: dict[str, Method] = {}
        self.blend_: Blend | None = None
        self.training_ = Training.of(dataset.documents.ids, beginnings(dataset.documents))
        self.name_lengths_: LongArray = name_lengths(dataset.labels)
        # those of `counts_` that the experts know: not what is learned later
        self.fitted_counts_: LongArray = dataset.counts
        self.learned_: int = 0
        clock = Clock(self.plan_.budget, self.costs_)
        if self.plan_.rehearsal == "none":
            (choice,) = self.plan_.experts
            with clock.watch(choice.name):
                self.experts_[choice.name] = fit_expert(self._new(choice), dataset)
        else:
            self._rehearse_and_fit(dataset, dev, clock)
        if self.calibration_ is None and dev is not None and labelled(dev) >= LEAST_CALIBRATION:
            with suppress(DataError):  # nothing is ranked for any of them: what was fitted is worth more
                Method.calibrate(self, dev)
        self._note("fitted", documents=len(dataset), labels=len(dataset.labels), seconds=round(clock.seconds, 1))

    def _rehearse_and_fit(self, dataset: Dataset, dev: Dataset | None, clock: Clock) -> None:
        """Expert by expert, the most valuable first: an interrupted or late fit has the best of them."""
        rehearsed = list(rehearsals(dataset, dev, self.random_state))
        said: list[dict[str, Ranking]] = [{} for _ in rehearsed]
        n_held = sum(len(one.held) for one in rehearsed)
        spare = self.plan_.spare
        for choice in (*self.plan_.experts, *spare):
            if self.experts_ and not clock.has_time_for(choice.seconds, BLENDING * n_held):
                why = f"left out while fitting: {spoken(clock.seconds)} of the budget are gone"
                say(f"{choice.name}: {why}")
                self.plan_ = self.plan_.without(choice.name, why)
                continue
            if choice in spare:
                say(f"{choice.name}: there is time for it")
                self.plan_ = self.plan_.taking(choice.name)
            about = self.kept_as(choice, len(rehearsed))
            kept = keeping.read(choice.name, about)
            if kept is not None:
                self.experts_[choice.name] = kept.expert
                self.costs_[choice.name] = kept.seconds
                said = [found | own for found, own in zip(said, kept.said, strict=True)]
                continue
            with clock.watch(choice.name, choice.seconds):
                own = [self._rehearsed(choice, dataset, one) for one in rehearsed]
                if choice.name not in self.experts_:
                    self.experts_[choice.name] = fit_expert(self._new(choice), dataset)
            said = [found | its for found, its in zip(said, own, strict=True)]
            keeping.write(choice.name, about, Kept(self.experts_[choice.name], own, self.costs_[choice.name]))
        share_neighbours(self.experts_)
        with clock.watch("blend"):
            names = opinion_names(list(self.experts_), dataset.documents.features is None)
            held = [
                held_of(one, {name: found[name] for name in names}) for one, found in zip(rehearsed, said, strict=True)
            ]
            if held:
                columns = column_names(names)
                together = Held.joined(held)
                self.blend_, ranking = learn(
                    together, dataset.counts, columns, len(dataset), self.random_state, self.unseen_every
                )
                if np.isfinite(ranking.scores).any() and together.natural.nnz:
                    self.calibration_ = Calibration.learn(ranking, together.natural)
            else:
                self.blend_ = Blend(every=self.unseen_every)

    def kept_as(self, choice: Choice, n_rehearsals: int) -> dict[str, Any]:
        """By what an expert that is kept while fitting is found again."""
        return {"settings": to_dict(self._new(choice)), "rehearsals": n_rehearsals}

    def _rehearsed(self, choice: Choice, dataset: Dataset, one: Rehearsal) -> dict[str, Ranking]:
        """What an expert says of the held-out documents, who has seen neither them nor the hidden labels' pairs.

        Experts that are the same in the rehearsal as later are fitted here once, and kept.
        """
        name = choice.name
        if name in WITHOUT_PAIRS or (one.outside and name in LABEL_BY_LABEL):
            if name not in self.experts_:
                self.experts_[name] = fit_expert(self._new(choice), dataset)
            expert = rehearsing(name, self.experts_[name], one.hidden)
        else:
            expert = fit_expert(self._new(choice), one.train)
        return opinions({name: expert}, one.held.documents)

    def _new(self, choice: Choice) -> Method:
        return new_expert(choice.name, merge(choice.settings, self.settings.get(choice.name, {})), self.random_state)

    def _rank(self, documents: Documents, k: int) -> Ranking:
        if self.blend_ is None:
            (expert,) = self.experts_.values()
            return expert.rank(documents, k).top(k)
        return Ranking.joined([self._blended(part, k) for part in documents.slices(CHUNK)])

    def _blended(self, documents: Documents, k: int) -> Ranking:
        assert self.blend_ is not None
        table = self._table(documents)
        return table.ranking(self.blend_.scores(table, self.fitted_counts_), k)

    def _table(self, documents: Documents) -> Table:
        return tabulated(opinions(self.experts_, documents), self.fitted_counts_, self.name_lengths_)

    def _held(self, new: Dataset) -> Held:
        table, truth = self._table(new.documents), new.required_pairs
        counts = self.fitted_counts_[table.labels]
        return Held(table, counts, np.zeros(len(counts), np.bool_), truth, truth)

    def _add_labels(self, labels: LabelSet, first: int) -> None:
        """To the experts that read label texts; to the others a new label is what one without pairs is: nothing."""
        fresh = labels.labels[first:]
        self.name_lengths_ = name_lengths(labels)
        self.fitted_counts_ = np.concatenate([self.fitted_counts_, np.full(len(fresh), ADDED, np.int64)])
        able = [one for one in self.experts_.values() if type(one)._add_labels is not Method._add_labels]
        for expert in able:
            expert.add_labels(fresh)
        if not able:
            super()._add_labels(labels, first)

    def _share_hidden(self) -> None:
        for expert in self.experts_.values():
            expert.hidden_ = self.hidden_[: len(expert.labels_)].copy()

    def _evidence(self, documents: Documents, row: int, label: int) -> list[Evidence]:
        return evidence(self.experts_, documents, row, label, self.training_)

    def _note(self, what: str, **about: Any) -> None:
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.history_.append({"when": when, "what": what, **about})

    def _state(self) -> State:
        state: State = {
            "plan": self.plan_.to_json(),
            "costs": self.costs_,
            "history": self.history_,
            "learned": self.learned_,
            "fitted_counts": self.fitted_counts_,
            **add_prefix("training", self.training_._asdict()),
            "sizes": {name: len(expert.labels_) for name, expert in self.experts_.items()},
            "blend": None if self.blend_ is None else self.blend_.state(),
        }
        for name, expert in self.experts_.items():
            state |= add_prefix(f"experts/{name}", expert.state())
        return state

    def _restore(self, state: State) -> None:
        self.plan_ = Plan.from_json(state["plan"])
        self.costs_, self.history_, self.learned_ = state["costs"], state["history"], state["learned"]
        self.fitted_counts_ = state["fitted_counts"]
        self.name_lengths_ = name_lengths(self.labels_)
        self.training_ = Training(**strip_prefix(state, "training"))
        self.blend_ = None if state["blend"] is None else Blend.restored(state["blend"])
        choices = {choice.name: choice for choice in self.plan_.experts}
        self.experts_ = {
            name: self._new(choices[name]).restore(self.labels_[:size], strip_prefix(state, f"experts/{name}"))
            for name, size in state["sizes"].items()
        }
        share_neighbours(self.experts_)


def held_of(one: Rehearsal, said: Mapping[str, Ranking]) -> Held:
    """The candidates of a rehearsal's documents; by the labels' ids, so that their order does not matter."""
    counts, truth = one.train.counts, one.held.required_pairs
    table = tabulated(said, counts, name_lengths(one.train.labels))
    table = table.take(np.lexsort((ranks(one.train.labels.ids)[table.labels], table.documents)))
    hidden = np.zeros(len(counts), np.bool_)
    hidden[one.hidden] = True
    natural = of_labels(truth, one.hidden, keep=False)
    return Held(table, counts[table.labels], hidden[table.labels], truth, natural)


def _dev_of(dataset: Dataset, dev: Dataset | None) -> Dataset | None:
    """Only labels of the vocabulary can be learned from."""
    return None if dev is None or dev.pairs is None else in_vocabulary(dataset.labels, dev)


def _widen(knn: NearestNeighbours, labels: LabelSet, hidden: NDArray[np.bool_]) -> None:
    """Places for labels that came after the fit: neighbours cannot read them, but documents of them may come."""
    pairs = knn.pairs_
    knn.pairs_ = csr_matrix((pairs.data, pairs.indices, pairs.indptr), shape=(pairs.shape[0], len(labels)))
    knn.counts_ = np.concatenate([knn.counts_, np.zeros(len(labels) - len(knn.labels_), np.int64)])
    knn.labels_, knn.hidden_ = labels, hidden.copy()


def beginnings(documents: Documents) -> list[str]:
    """How a document is shown in a line: its title, or how it begins. No file takes halves of characters."""
    return [
        " ".join((title or text[: 2 * BEGINNING]).encode("utf-8", "replace").decode().split())[:BEGINNING]
        for title, text in zip(documents.titles, documents.texts, strict=True)
    ]
