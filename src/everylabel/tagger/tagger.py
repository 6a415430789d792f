"""The Tagger: one object for whatever there is, documents and a vocabulary with no, few or many pairs.

It plans which methods to use (plan.py), fits them (experts.py), learns to blend them on documents they have not read
and labels that were hidden from them (rehearsal.py, candidates.py, blend.py), gives probabilities on one scale, says
why (explain.py), and stays up to date: labels come at once, new pairs in seconds.
Cost: fit that of the plan's experts, those that learn from label texts twice; a document: the sum of its experts and
candidates x trees; memory: one chunk of documents x labels at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import Any, Self

import numpy as np

from everylabel.config import merge
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet
from everylabel.data.enough import TO_CALIBRATE
from everylabel.data.given import texts_of
from everylabel.data.labels import labels_of
from everylabel.errors import ConfigError, DataError
from everylabel.memory import bytes_of
from everylabel.methods.base import Method, State
from everylabel.methods.calibrate import Calibration
from everylabel.methods.facts import Facts
from everylabel.methods.traits import Traits, method
from everylabel.methods.vocabulary import prepared
from everylabel.parallel import work_together
from everylabel.run import QUIET, Machines, Run
from everylabel.states import add_prefix, strip_prefix
from everylabel.tagger.blend import Blend, enough_for_trees, learn
from everylabel.tagger.blending_set import joined_set
from everylabel.tagger.budget import seconds_of, spoken, spoken_event
from everylabel.tagger.candidates import ADDED, CandidateTable, column_names, lengths_of_names, tabulated
from everylabel.tagger.choice import Choice
from everylabel.tagger.clock import Clock
from everylabel.tagger.contents import check_contents
from everylabel.tagger.cut import cut
from everylabel.tagger.experts import fit_expert, new_expert, opinion_names, opinions, ranks_unseen, why_unfitted
from everylabel.tagger.explain import Evidence, Training, beginnings, evidence
from everylabel.tagger.job_cache import FittedJob, RankingsByRehearsal
from everylabel.tagger.jobs import jobs_of, joined, run_jobs
from everylabel.tagger.order import DEPTH, MOST_NEW, ORDERS, Order, best_rare_weight, interleaved, only_new
from everylabel.tagger.plan import Accuracy, Plan, choose_plan
from everylabel.tagger.prior import Prior, prior_among, prior_of
from everylabel.tagger.probability import rate_of_unseen
from everylabel.tagger.refit import fit_again
from everylabel.tagger.rehearsal import Rehearsal, dev_of, labelled, n_held_out, rehearsals
from everylabel.tagger.selected import rank_selected
from everylabel.tagger.tags import Tag, described, is_one_share, shares
from everylabel.tagger.update import Learned, Pairs, learned
from everylabel.text.views import Views
from everylabel.types import IntArray, LongArray, Ranking

BLENDING = 5e-3  # seconds for each held-out document, as planned
WHEN = "%Y-%m-%dT%H:%M:%SZ"


@method("tagger", "several methods, chosen for the data and blended: frequent, rare and unseen labels in one ranking")
class Tagger(Method):
    """Frequent, rare and unseen labels in one ranking, by several methods and a blend that has learned whom to trust;
    see the file for the cost."""

    traits = Traits(pairs="welcome", documents="welcome", reads_label_texts=True, ranks_unseen=True, needs_texts=False)

    budget: str = ""  # time for the fit, such as "30m"; "": by the size of the data
    memory: str = ""  # that the fit may take beside the data, such as "8G"; "": what is free
    accuracy: Accuracy = "default"  # "fast": few experts, by words alone, for twice as many documents a second
    experts: tuple[str, ...] = ()  # methods to use; none: as planned
    without: tuple[str, ...] = ()  # methods never to use
    settings: dict[str, Any] = field(default_factory=dict)  # of experts: --set settings.of-de.learn.epochs=3
    order: Order = "probability"  # "interleave": rare and unseen labels come earlier, see order.py
    language: str = "auto"  # of the texts: "de", or "fi+sv+en"; "auto": told by their words, "none": words as they are
    refit: bool = True  # on train and dev, once the blend is learned on dev; published systems learn from train alone
    encoder: str = ""  # a sentence-transformers folder or hub id that all experts with an encoder use, such as a
    # multilingual one; "": the bundled ones, which know English, or what is learned from documents in other languages

    def check(self) -> None:
        seconds_of(self.budget), bytes_of(self.memory)
        if self.order not in ORDERS:
            raise ConfigError(f"order must be {' or '.join(map(repr, ORDERS))}; got {self.order!r}")
        for name, values in self.settings.items():
            if not isinstance(values, Mapping):
                raise ConfigError(f"settings.{name} must be settings of an expert: settings.{name}.KEY=VALUE")
            new_expert(name, values, self.random_state).check()

    def fit(self, dataset: Dataset, dev: Dataset | None = None, *, run: Run = QUIET) -> Self:
        """`dev`: labelled documents to blend on; without, training documents are held out for it."""
        run = run.sharing()
        dataset = prepared(dataset, self.label_languages, run)
        return self._fitted_by(dataset, lambda model: model._fit_and_blend(dataset, dev_of(dataset, dev), run))

    def plan(self, dataset: Dataset, dev: Dataset | None = None, machines: Machines | None = None) -> Plan:
        """What `fit` would do, without doing it; `machines`: where it would, if not here."""
        self.check_fit(dataset)
        dataset = prepared(dataset, self.label_languages)
        facts = Facts.of(dataset, dev_of(dataset, dev), self.language, self.encoder, self.memory).on(machines)
        chosen = {"only": self.experts, "without": self.without}
        return choose_plan(facts, seconds_of(self.budget), **chosen, accuracy=self.accuracy, refit=self.refit)

    def rank(self, texts: Views | Documents | Iterable[str], k: int = 10) -> Ranking:
        """The k best labels of each text with their probabilities, by these; of another `order` they may rise again."""
        model = self.model_
        if model.order == "probability" or model.blend_ is None:
            return Method.rank(model, texts, k)
        found = Method.rank(model, texts, max(k, DEPTH))
        return interleaved(found, model.counts_, model.blend_.rare_weight, min(k, found.k))

    def in_order(self, order: Order) -> Self:
        """A model with what this one has learned, and another order of its rankings."""
        model = self.model_._copy()
        model.order = order
        model.check()
        return model

    def new_labels(
        self, texts: Documents | Iterable[str], n: int = MOST_NEW, *, explain: bool = True
    ) -> list[list[Tag]]:
        """Labels that no document has had so far, and that fit, by their probability: seldom among the best of all."""
        return self._tags(
            texts, lambda model, views: only_new(Method.rank(model, views, DEPTH), model.counts_, n), explain
        )

    def tag(
        self,
        texts: Documents | Iterable[str],
        k: int = 5,
        *,
        threshold: float | None = None,
        best: bool = False,
        explain: bool = True,
    ) -> list[list[Tag]]:
        """The tags of each text with probability, band and evidence: the k best; those of a probability of at least
        `threshold`; or, with `best`, as many as give the best expected F1. At most k of them in any case."""
        return self._tags(texts, lambda model, views: cut(model.rank(views, k), threshold, best), explain)

    def _tags(
        self, texts: Documents | Iterable[str], rank: Callable[[Self, Views], Ranking], explain: bool
    ) -> list[list[Tag]]:
        model = self.model_

        def tagged(part: Documents) -> list[list[Tag]]:
            views = Views(part)
            return model.described(views, rank(model, views), explain=explain)

        return [tags for part in work_together(tagged, shares(Documents.of(texts))) for tags in part]

    def described(self, views: Views, ranking: Ranking, *, explain: bool = True) -> list[list[Tag]]:
        """The labels of a ranking of these texts. Evidence is looked for in what was read to rank."""
        return described(views, ranking, self.labels_, self.counts_, self._evidence if explain else None)

    def _evidence(self, views: Views, label: int) -> list[Evidence]:
        return evidence(self.experts_, views, label, self.training_)

    @property
    def knows_other_corpora_only(self) -> bool:
        """Probabilities are those of other corpora: there was no labelled document to learn them from."""
        own = self.calibration_ is not None and self.calibration_.changes
        return self.blend_ is None and self.prior_ is not None and not own

    def history(self) -> list[dict[str, Any]]:
        """What changed when: the fit, labels that came and went, pairs that were learned."""
        return [dict(event) for event in self.model_.history_]

    def card_parts(self) -> dict[str, list[str]]:
        return {"Plan": self.plan_.lines(), "History": [spoken_event(event) for event in self.history_]}

    def noted(self, what: str, **about: Any) -> Self:
        """The same model, with an event more in its history."""
        model = self.model_._copy()
        model._note(what, **about)
        return model

    def learn(self, pairs: Pairs, *, rejected: Sequence[Sequence[str]] = (), complete: Sequence[bool] = ()) -> Learned:
        """New labelled documents, (text, label ids) each, of known labels: a quick update, not a new fit.

        Neighbours and blend learn from them, and linear experts are fitted anew whenever documents have grown by a
        twentieth, if that takes less than a minute (update.py); the others stay until a full fit. `rejected`: labels of
        each that a person found wrong. `complete`: are its labels all of them? If not, the blend alone learns.
        """
        with self._changing:
            model, done = self.model_.with_pairs(pairs, rejected, complete)
            self._swap(model)
        return done

    def with_pairs(
        self, pairs: Pairs, rejected: Sequence[Sequence[str]] = (), complete: Sequence[bool] = ()
    ) -> tuple[Self, Learned]:
        """The next model, which has learned these: see `learn`."""
        return learned(self.model_, pairs, rejected, complete)

    def with_labels(self, labels: Iterable[Label]) -> Self:
        return super().with_labels(labels := labels_of(labels))._relabelled("labels added", len(labels))

    def without_labels(self, ids: Iterable[str]) -> Self:
        ids = texts_of(ids, "label id")
        return super().without_labels(ids)._relabelled("labels removed", len(set(ids)))

    def _relabelled(self, what: str, count: int) -> Self:
        self._hide_in_experts()
        return self.noted(what, labels=count)

    def calibrated(self, dataset: Dataset, ranking: Ranking | None = None) -> Self:
        return super().calibrated(dataset, ranking).noted("calibrated", documents=labelled(dataset))

    def _fit(self, dataset: Dataset, run: Run) -> None:
        self._fit_and_blend(dataset, None, run)

    def _fit_and_blend(self, dataset: Dataset, dev: Dataset | None, run: Run) -> None:
        self.plan_ = self.plan(dataset, dev, run.machines)
        for line in self.plan_.lines():
            run.say(line)
        self.costs_: dict[str, float] = {}
        self.history_: list[dict[str, Any]] = []
        self.experts_: dict[str, Method] = {}
        self.blend_: Blend | None = None
        self.prior_: Prior | None = None
        self.training_ = Training.of(dataset.documents.ids, beginnings(dataset.documents))
        self.name_lengths_: LongArray = lengths_of_names(dataset.labels)
        # those of `counts_` that the experts know: not what is learned later
        self.fitted_counts_: LongArray = dataset.counts
        self.learned_: int = 0
        clock = Clock(self.plan_.budget, self.costs_, run.clock)
        if self.plan_.rehearsal == "none":
            (choice,) = self.plan_.experts
            with clock.watch(choice.name):
                self.experts_[choice.name] = fit_expert(self._new(choice), dataset, run)
            self.prior_ = prior_of(self.experts_[choice.name])
        else:
            self._rehearse_and_fit(dataset, dev, clock, run)
        if self.calibration_ is None and dev is not None and labelled(dev) >= TO_CALIBRATE:
            with suppress(DataError):  # nothing is ranked for any of them: what was fitted is worth more
                self.calibration_ = Method.calibrated(self, dev).calibration_
        if self.calibration_ is None and self.prior_ is not None:
            self.calibration_ = Calibration.as_it_is()
        self._note("fitted", documents=len(dataset), labels=len(dataset.labels), seconds=round(clock.seconds, 1))
        if dev is not None and self.plan_.to_refit:
            fit_again(self, dataset, dev, clock, run)

    def _rehearse_and_fit(self, dataset: Dataset, dev: Dataset | None, clock: Clock, run: Run) -> None:
        """Expert by expert, the most valuable first: an interrupted or late fit has the best of them."""
        rehearsed = list(rehearsals(dataset, dev, self.random_state))
        found: list[RankingsByRehearsal] = []
        n_held = n_held_out(rehearsed)
        spare = self.plan_.spare
        begun: dict[str, Iterator[FittedJob]] = {}
        if run.executor is not None:  # jobs of all experts are done elsewhere, beside each other
            begun = {choice.name: self._jobs(choice, dataset, rehearsed, run) for choice in self.plan_.experts}
        for choice in (*self.plan_.experts, *spare):
            ahead = choice.name in begun
            later = BLENDING * n_held + (self.plan_.refit_seconds if choice in spare else 0.0)
            if self.experts_ and not ahead and not clock.has_time_for(choice.seconds, later, choice.kind):
                self._leave_out(choice, f"left out while fitting: {spoken(clock.seconds)} of the budget are gone", run)
                continue
            if choice in spare:
                run.say(f"{choice.name}: there is time for it")
                self.plan_ = self.plan_.taking(choice.name)
            try:
                with clock.watch(choice.name, 0.0 if ahead else choice.seconds, choice.kind) as watched:
                    results = list(begun.get(choice.name) or self._jobs(choice, dataset, rehearsed, run))
                    watched.before = sum(result.seconds for result in results if result.from_cache)
            except Exception as error:  # of whatever kind: what the others learn is worth more, and it is said
                self._leave_out(choice, why := why_unfitted(error), run)
                self._note("left out", expert=choice.name, why=why)
                continue
            if ahead:  # others were waited for, too
                self.costs_[choice.name] = round(sum(result.seconds for result in results), 2)
            found += [result.rankings for result in results]
            (self.experts_[choice.name],) = (result.expert for result in results if result.expert is not None)
        if not self.experts_:
            reasons = "; ".join(f"{event['expert']} {event['why']}" for event in self.history_)
            raise DataError(f"{dataset.name}: no expert is left: {reasons}")
        self.prior_ = prior_among(self.experts_.values(), n_held)
        with clock.watch("blend"):
            self._blend_experts(dataset, dev, rehearsed, joined(found, len(rehearsed)), run)

    def _jobs(self, choice: Choice, dataset: Dataset, rehearsed: list[Rehearsal], run: Run) -> Iterator[FittedJob]:
        jobs = jobs_of(choice.name, self._settings(choice), self.random_state, rehearsed)
        return run_jobs(jobs, dataset, rehearsed, run, choice.at_once)

    def _leave_out(self, choice: Choice, why: str, run: Run) -> None:
        run.say(f"{choice.name}: {why}")
        self.plan_ = self.plan_.without(choice.name, why)

    def _blend_experts(
        self,
        dataset: Dataset,
        dev: Dataset | None,
        rehearsed: list[Rehearsal],
        rankings: list[dict[str, Ranking]],
        run: Run,
    ) -> None:
        if not rehearsed:
            self.blend_ = Blend()
            return
        names = opinion_names(list(self.experts_), dataset.documents.features is None)
        data = joined_set(rehearsed, rankings, names)
        if not enough_for_trees(data, data.hits):  # a mean of ranks would count a title's words twice
            names = opinion_names(list(self.experts_), titles=False)
            data = joined_set(rehearsed, rankings, names)
        rate = rate_of_unseen(dataset.counts, len(dataset), None if dev is None else dev.pairs)
        self.blend_, ranking = learn(data, dataset.counts, rate, column_names(names), self.random_state, run)
        truth = data.truth_without_hidden
        if np.isfinite(ranking.scores).any() and truth.nnz:
            self.calibration_ = Calibration.as_it_is()  # the blend's levels are learned from the same documents
            weight = best_rare_weight(ranking, truth, dataset.counts, len(dataset))
            self.blend_ = replace(self.blend_, rare_weight=weight)

    def _settings(self, choice: Choice) -> dict[str, Any]:
        return merge(choice.settings, self.settings.get(choice.name, {}))

    def _new(self, choice: Choice) -> Method:
        return new_expert(choice.name, self._settings(choice), self.random_state)

    def _rank(self, views: Views, k: int) -> Ranking:
        if self.blend_ is None and self.prior_ is None:
            (expert,) = self.experts_.values()
            return expert.rank(views, k).top(k)
        if is_one_share(len(views)):
            return self._blended(views, k)
        parts = shares(views.documents)
        return Ranking.joined(work_together(lambda part: self._blended(Views(part), k), parts))

    def _visible(self, views: Views, k: int) -> Ranking:
        as_others = self.selected_ is None or self.blend_ is None or self.added_ is not None
        return super()._visible(views, k) if as_others else self._rank(views, k)  # which ranks selected labels alone

    def _blended(self, views: Views, k: int) -> Ranking:
        if self.blend_ is None:
            assert self.prior_ is not None
            (expert,) = self.experts_.values()
            return self.prior_.rank(expert, views, k)
        if self.selected_ is not None:
            return rank_selected(self, views, self.blend_, ~self.unranked, k)
        table = self._table(views)
        return table.ranking(self.blend_.scores(table, self.fitted_counts_), k)

    def _table(self, views: Views) -> CandidateTable:
        assert self.blend_ is not None
        return self.tabulated(opinions(self.experts_, views, self.prior_, titles=self.blend_.trees is not None))

    def tabulated(self, found: dict[str, Ranking], more: IntArray | None = None) -> CandidateTable:
        return tabulated(found, ranks_unseen(list(found)), self.fitted_counts_, self.name_lengths_, more)

    def _with_labels(self, labels: LabelSet, first: int) -> None:
        """To the experts that read label texts; to the others a new label is what one without pairs is: nothing."""
        fresh = labels.subset(range(first, len(labels)))
        self.name_lengths_ = np.concatenate([self.name_lengths_, lengths_of_names(fresh)])
        self.fitted_counts_ = np.concatenate([self.fitted_counts_, np.full(len(fresh), ADDED, np.int64)])
        able = {name: expert for name, expert in self.experts_.items() if expert.traits.ranks_unseen}
        self.experts_ = self.experts_ | {name: expert.with_labels(fresh.labels) for name, expert in able.items()}
        if not able:
            super()._with_labels(labels, first)

    def _hide_in_experts(self) -> None:
        self.experts_ = {name: one.hiding(self.hidden_[: len(one.labels_)]) for name, one in self.experts_.items()}

    def _note(self, what: str, **about: Any) -> None:
        self.history_ = [*self.history_, {"when": time.strftime(WHEN, time.gmtime()), "what": what, **about}]

    def _state(self) -> State:
        state: State = {
            "plan": self.plan_.to_json(),
            "costs": self.costs_,
            "history": self.history_,
            "learned": self.learned_,
            "fitted_counts": self.fitted_counts_,
            "name_lengths": self.name_lengths_,
            "sizes": {name: len(expert.labels_) for name, expert in self.experts_.items()},
            **add_prefix("training", self.training_.state()),
            **({} if self.blend_ is None else add_prefix("blend", self.blend_.state())),
            **({} if self.prior_ is None else add_prefix("prior", self.prior_.state())),
        }
        for name, expert in self.experts_.items():
            state |= add_prefix(f"experts/{name}", expert.state())
        return state

    def _restore(self, state: State) -> None:
        self.plan_ = Plan.from_json(state["plan"])
        self.costs_, self.history_, self.learned_ = state["costs"], state["history"], state["learned"]
        self.fitted_counts_, self.name_lengths_ = state["fitted_counts"], state["name_lengths"]
        self.training_ = Training.restored(strip_prefix(state, "training"))
        blend, prior = strip_prefix(state, "blend"), strip_prefix(state, "prior")
        self.blend_ = Blend.restored(blend) if blend else None
        self.prior_ = Prior.restored(prior) if prior else None
        choices = {choice.name: choice for choice in self.plan_.experts}
        self.experts_ = {
            name: self._new(choices[name]).restore(
                self.labels_ if size == len(self.labels_) else self.labels_.subset(range(size)),
                strip_prefix(state, f"experts/{name}"),
            )
            for name, size in state["sizes"].items()
        }

    def _check_contents(self, n_labels: int) -> None:
        check_contents(self, n_labels)
