"""Experts fitted again on train and dev: they are what a fit on both by hand gives, and nothing else changes."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, vstack
from tests.listening import Recorder
from tests.tagger.conftest import assert_identical, on_one_thread
from tests.tagger.test_clock import Time
from tests.tagger.test_jobs import Elsewhere
from tests.tagger.test_plan import facts

import everylabel
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.errors import ConfigError, DataError
from everylabel.methods.base import Method
from everylabel.methods.words.neighbours import NearestNeighbours as Knn
from everylabel.registry import method_class
from everylabel.run import QUIET, Machines, Run
from everylabel.tagger import jobs
from everylabel.tagger.choice import Choice
from everylabel.tagger.clock import Clock
from everylabel.tagger.experts import fit_expert, new_expert
from everylabel.tagger.growth import SAFETY
from everylabel.tagger.job_cache import FittedJob
from everylabel.tagger.plan import Plan, choose_plan
from everylabel.tagger.refit import WHAT, counts_for_blend, fitted_again, with_dev
from everylabel.tagger.tagger import Tagger
from everylabel.train.checkpoint import checkpointing
from everylabel.workflow.doubts import learned_before
from everylabel.workflow.evaluate import evaluate
from everylabel.workflow.optimize import optimize

EXPERTS = ("tfidf", "knn", "xr-linear", "zestxml")
AGAIN = ("knn", "xr-linear", "zestxml")


class Splits(NamedTuple):
    train: Dataset
    dev: Dataset
    test: Dataset


class Fitted(NamedTuple):
    again: Tagger
    once: Tagger


@pytest.fixture(scope="module", autouse=True)
def small_dev() -> Iterator[None]:
    """A dev split of some sixty documents is enough to blend on."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("rehearsal", "plan"):
            patch.setattr(f"everylabel.tagger.{module}.LEAST_DEV", 50)
        yield


@pytest.fixture(scope="module")
def splits(corpus: Any) -> Splits:
    """Some labels have documents in dev alone."""
    return Splits(corpus.train.subset(range(110)), corpus.train.subset(range(110, 180)), corpus.test)


@pytest.fixture(scope="module")
def fitted(splits: Splits, small_dev: None) -> Fitted:  # noqa: ARG001
    """Only to be read."""
    with on_one_thread():
        made = (Tagger(experts=EXPERTS, refit=refit).fit(splits.train, splits.dev) for refit in (True, False))
        return Fitted(*made)


def by_hand(train: Dataset, dev: Dataset) -> Dataset:
    """Both, written down document by document."""
    one, other = train.documents, dev.documents
    assert train.labels == dev.labels
    documents = Documents(one.ids + other.ids, one.texts + other.texts, one.titles + other.titles)
    pairs = vstack([train.required_pairs, dev.required_pairs])
    return Dataset(documents, train.labels, csr_matrix(pairs))


def assert_same_state(one: Any, other: Any) -> None:
    """Bit by bit, whatever is in it."""
    assert one.keys() == other.keys()
    for name, value in one.items():
        if isinstance(value, csr_matrix):
            for part in ("indptr", "indices", "data"):
                np.testing.assert_array_equal(getattr(value, part), getattr(other[name], part), name)
        elif isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, other[name], name)
        else:
            assert pickle.dumps(value) == pickle.dumps(other[name]), name


# --- what is fitted again, and what is not


@pytest.mark.parametrize("name", EXPERTS)
def test_an_expert_is_what_a_fit_by_hand_gives(name: str, splits: Splits, fitted: Fitted) -> None:
    """Bit by bit: on both, if it learns from pairs; else on train, as it was."""
    expert = new_expert(name, {}, 0)
    settings = next(choice.settings for choice in fitted.again.plan_.experts if choice.name == name)
    data = by_hand(splits.train, splits.dev) if name in AGAIN else splits.train
    expert = fit_expert(new_expert(name, settings, 0), data)
    assert_same_state(fitted.again.experts_[name].state(), expert.state())
    assert_identical(
        fitted.again.experts_[name].rank(splits.test.documents, 50), expert.rank(splits.test.documents, 50)
    )


@pytest.mark.parametrize("name", EXPERTS)
def test_without_refit_experts_know_train_alone(name: str, splits: Splits, fitted: Fitted) -> None:
    settings = next(choice.settings for choice in fitted.once.plan_.experts if choice.name == name)
    expert = fit_expert(new_expert(name, settings, 0), splits.train)
    assert_same_state(fitted.once.experts_[name].state(), expert.state())


def test_the_blend_and_the_probabilities_are_those_of_experts_that_did_not_know_dev(fitted: Fitted) -> None:
    one, other = fitted.again.model_, fitted.once.model_
    assert one.blend_ is not None
    assert other.blend_ is not None
    assert_same_state(one.blend_.state(), other.blend_.state())
    assert one.blend_.trees is not None
    assert list(one.experts_) == list(other.experts_)  # whose order is that of the trees' columns
    assert one.calibration_ is not None
    assert other.calibration_ is not None
    assert_same_state(one.calibration_.state(), other.calibration_.state())


def test_it_says_who_was_fitted_again_on_how_many_documents(splits: Splits, fitted: Fitted) -> None:
    (_, event) = fitted.again.history()
    assert event["what"] == WHAT
    assert set(event["experts"].split(", ")) == set(AGAIN)
    assert event["documents"] == len(splits.train) + len(splits.dev) == fitted.again.n_train_
    assert fitted.again.history()[0]["documents"] == fitted.once.n_train_ == len(splits.train)
    assert {name for name in fitted.again.costs_ if name.endswith(", again")} == {f"{name}, again" for name in AGAIN}
    (line,) = [line for line in fitted.again.plan_.lines() if "fitted again" in line]
    assert all(name in line for name in AGAIN)
    assert "tfidf" not in line
    assert [event["what"] for event in fitted.once.history()] == ["fitted"]
    assert not any("again" in line for line in [*fitted.once.plan_.lines(), *fitted.once.costs_])


def test_without_a_dev_split_nothing_changes(splits: Splits) -> None:
    """Nor with one that is too small to blend on."""
    few, small = splits.train.subset(range(60)), splits.dev.subset(range(20))
    for known in ((few,), (few, small)):
        one, other = (Tagger(experts=EXPERTS[:2], refit=refit).fit(*known) for refit in (True, False))
        assert one.plan_ == other.plan_
        left, right = one.state(), other.state()
        for name in ("costs", "history"):
            left.pop(name), right.pop(name)
        assert_same_state(left, right)


def test_a_single_expert_is_not_blended_and_keeps_its_fit(splits: Splits) -> None:
    tagger = Tagger(experts=("knn",)).fit(splits.train, splits.dev)
    assert tagger.plan_.refit == ()
    assert tagger.n_train_ == len(splits.train)


def test_a_text_is_read_once_for_those_that_read_alike(fitted: Fitted) -> None:
    for tagger in fitted:
        experts: Any = tagger.experts_
        assert experts["knn"].features_.key == experts["xr-linear"].texts_.features.key


# --- what follows for labels and documents


def test_labels_that_dev_has_and_train_has_not_are_seen(splits: Splits, fitted: Fitted) -> None:
    before, now = splits.train.counts, splits.train.counts + splits.dev.counts
    first = np.flatnonzero((before == 0) & (now > 0))
    assert len(first) > 0
    np.testing.assert_array_equal(fitted.again.counts_, now)
    np.testing.assert_array_equal(fitted.again.fitted_counts_, np.where(before > 0, before, now))
    np.testing.assert_array_equal(fitted.once.counts_, before)
    ids = {splits.train.labels[int(label)].id for label in first}
    documents = splits.dev.documents
    new = {
        refit: {tag.id for row in tagger.new_labels(documents, 20, explain=False) for tag in row}
        for refit, tagger in (("again", fitted.again), ("once", fitted.once))
    }
    assert not ids & new["again"]  # they are labels like the others
    assert ids & new["once"]


def test_they_are_ranked_once_and_higher(splits: Splits, fitted: Fitted) -> None:
    """Where they belong: in the documents of dev that have them."""
    first = np.flatnonzero((splits.train.counts == 0) & (splits.dev.counts > 0))
    rows, labels = splits.dev.required_pairs[:, first].nonzero()
    places = {}
    for name, tagger in (("again", fitted.again), ("once", fitted.once)):
        ids = tagger.rank(splits.dev.documents, len(splits.train.labels)).ids
        assert all(len(set(row)) == len(row) for row in (own[own >= 0].tolist() for own in ids))
        at = [np.flatnonzero(ids[row] == first[label]) for row, label in zip(rows, labels, strict=True)]
        places[name] = np.array([place[0] if len(place) else ids.shape[1] for place in at])
    assert places["again"].mean() < places["once"].mean()
    assert (places["again"] < 5).mean() > 0.9


@pytest.mark.parametrize(
    ("again", "expected"),
    [
        (("knn", "svm", "zestxml"), [2, 1, 1]),
        (("knn", "svm"), [2, 1, 1]),  # zestxml can rank what it has not seen
        (("knn", "zestxml"), [2, 0, 1]),  # svm knows nothing of the second: it would be the last one
    ],
)
def test_what_the_blend_is_told_of_labels(again: tuple[str, ...], expected: list[int]) -> None:
    experts = {name: method_class(name)() for name in ("tfidf", "knn", "svm", "zestxml")}
    found = counts_for_blend(np.array([2, 0, 1]), np.array([3, 1, 2]), experts, again)
    assert found.tolist() == expected


def test_documents_of_dev_are_evidence(splits: Splits, fitted: Fitted) -> None:
    """By the right name: neighbours are those of the fit on both."""
    shown = 0
    for row in range(10):
        own = splits.dev.subset([row])
        for tag in fitted.again.tag(own.documents, 3)[0]:
            named = [item.text for item in tag.evidence if item.kind == "document"]
            if own.required_pairs[0, splits.train.labels.index[tag.id]]:
                title = own.documents.titles[0]
                assert any(text.rstrip("…") in title for text in named)
                shown += 1
    assert shown > 5


def test_labels_and_documents_can_come_later(splits: Splits, fitted: Fitted, tmp_path: Path) -> None:
    fitted.again.save(tmp_path / "model")
    tagger: Any = everylabel.load(tmp_path / "model", verify=True)
    assert_identical(tagger.rank(splits.test.documents, 20), fitted.again.rank(splits.test.documents, 20))
    assert tagger.plan_ == fitted.again.plan_
    assert tagger.history() == fitted.again.history()
    tagger.add_labels([Label("volcano", "Volcanoes", "Mountains that spit lava")])
    assert tagger.tag(["Volcanoes spit lava"], 1)[0][0].id == "volcano"
    learned = tagger.learn([("Volcanoes spit lava and ashes over the harbour town", ["volcano"])] * 2)
    assert learned.documents == 2
    assert tagger.counts_.sum() == fitted.again.counts_.sum() + 2
    (tags,) = tagger.tag(["Volcanoes spit lava and ashes over the harbour town"], 1)
    assert any(item.kind == "document" and "Volcanoes" in item.text for item in tags[0].evidence)


# --- jobs: kept, elsewhere, left out


def test_an_interrupted_refit_goes_on(
    splits: Splits, fitted: Fitted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_both, done = len(splits.train) + len(splits.dev), list[tuple[str, int]]()

    def watched(expert: Method, dataset: Dataset, run: Run = QUIET) -> Method:
        if len(dataset) == n_both and interrupts and any(size == n_both for _, size in done):
            raise KeyboardInterrupt
        done.append((expert.name, len(dataset)))
        return fit_expert(expert, dataset, run)

    monkeypatch.setattr(jobs, "fit_expert", watched)
    interrupts, tagger = True, Tagger(experts=EXPERTS)
    with checkpointing(tmp_path, "data") as checkpoints, pytest.raises(KeyboardInterrupt):
        tagger.fit(splits.train, splits.dev, run=Run(checkpoints=checkpoints))
    assert [size for _, size in done].count(n_both) == 1
    first, interrupts, done = done[-1][0], False, []
    with checkpointing(tmp_path, "data") as checkpoints:
        tagger.fit(splits.train, splits.dev, run=Run(checkpoints=checkpoints))
    assert {name for name, _ in done} == set(AGAIN) - {first}
    assert {size for _, size in done} == {n_both}
    assert_identical(tagger.rank(splits.test.documents, 50), fitted.again.rank(splits.test.documents, 50))
    for name in EXPERTS:
        assert_same_state(tagger.experts_[name].state(), fitted.again.experts_[name].state())


def test_jobs_that_ran_elsewhere_give_the_same(splits: Splits, fitted: Fitted) -> None:
    elsewhere = Elsewhere()
    tagger = Tagger(experts=EXPERTS).fit(splits.train, splits.dev, run=Run(executor=elsewhere))
    assert [job.name for job in elsewhere.sent if job.rehearsal == jobs.AGAIN] == list(tagger.plan_.refit)
    assert_identical(tagger.rank(splits.test.documents, 50), fitted.again.rank(splits.test.documents, 50))
    assert all(tagger.costs_[f"{name}, again"] > 0 for name in AGAIN)


def plan_of(*seconds: float) -> Plan:
    names = ("tfidf", "svm", "zestxml", "knn")
    choices = tuple(Choice(name, "", 1.0, again=again) for name, again in zip(names, seconds, strict=True))
    return Plan(choices, (), 100.0, "dev", "")


def test_who_is_fitted_again_in_time(corpus: Any) -> None:
    """Who would come too late keeps the first fit, and who fails, too."""
    plan, time, began = plan_of(0.0, 5.0, 60.0, 2.0), Time(), list[str]()
    experts = dict.fromkeys(plan.names, fit_expert(new_expert("knn", {}, 0), corpus.train.subset(range(5))))

    def begin(choice: Choice) -> Iterator[FittedJob]:
        began.append(choice.name)
        time.passes(choice.again)
        if choice.name == "knn":
            raise DataError("no words")
        return iter([FittedJob(experts[choice.name], {}, choice.again)])

    clock, reporter = Clock(plan.budget, {}, time.now), Recorder()
    time.passes(45)
    found, failed = fitted_again(plan, experts, begin, clock, Run(reporter))
    assert began == ["svm", "knn"]  # zestxml would take a minute, and there is less
    assert list(found) == ["svm"]
    assert "no words" in failed["knn"]
    assert clock.costs["svm, again"] == 5
    assert [line.partition(":")[0] for line in reporter.said] == ["knn", "zestxml"]


def test_those_that_read_alike_are_fitted_again_together_or_not_at_all() -> None:
    """And then nobody is: predictions would read a text twice."""
    plan, time, experts = plan_of(0.0, 40.0, 1.0, 30.0), Time(), dict.fromkeys(plan_of(0, 0, 0, 0).names, Knn())
    clock, reporter = Clock(plan.budget, {}, time.now), Recorder()
    time.passes(45)

    def begin(choice: Choice) -> Iterator[FittedJob]:
        pytest.fail(f"there is no time for {choice.name}")

    assert fitted_again(plan, experts, begin, clock, Run(reporter)) == ({}, {})
    assert len(reporter.said) == 1
    time.passes(-20)
    found, _ = fitted_again(plan, experts, lambda _: iter([FittedJob(Knn(), {}, 1.0)]), clock, QUIET)
    assert list(found) == ["svm", "knn", "zestxml"]


def test_a_setting_that_cannot_work_is_said(corpus: Any) -> None:
    plan = plan_of(0.0, 5.0, 0.0, 0.0)
    experts = {"svm": fit_expert(new_expert("knn", {}, 0), corpus.train.subset(range(5)))}

    def begin(choice: Choice) -> Iterator[FittedJob]:
        raise ConfigError(f"there is no GPU for {choice.name}")

    with pytest.raises(ConfigError, match="no GPU for svm"):
        fitted_again(plan, experts, begin, Clock(100.0, {}), QUIET)


def test_an_expert_that_cannot_be_fitted_again_keeps_its_fit(
    splits: Splits, fitted: Fitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(expert: Method, dataset: Dataset, run: Run = QUIET) -> Method:
        if expert.name == "knn" and len(dataset) > len(splits.train):
            raise DataError("it rains")
        return fit_expert(expert, dataset, run)

    monkeypatch.setattr(jobs, "fit_expert", failing)
    tagger = Tagger(experts=EXPERTS).fit(splits.train, splits.dev)
    assert_same_state(tagger.experts_["knn"].state(), fitted.once.experts_["knn"].state())
    assert_same_state(tagger.experts_["zestxml"].state(), fitted.again.experts_["zestxml"].state())
    assert len(tagger.training_.ids) == len(splits.train)  # where knn's neighbours are
    assert "it rains" in next(event["why"] for event in tagger.history() if event.get("expert") == "knn")
    first = (splits.train.counts == 0) & (splits.dev.counts > 0)
    assert not tagger.fitted_counts_[first].any()
    assert tagger.learn(splits.test.subset(range(3))).documents == 3


# --- plans


@settings(max_examples=50, deadline=None)
@given(
    st.floats(1.0, 50_000.0),
    st.fixed_dictionaries(
        {
            "n_docs": st.integers(1, 200_000),
            "n_labels": st.integers(1, 300_000),
            "n_dev": st.integers(0, 20_000),
            "words": st.floats(1, 3_000),
            "texts": st.booleans(),
        }
    ),
    st.booleans(),
)
def test_refits_never_take_more_than_the_budget_leaves(budget: float, given: dict[str, Any], cluster: bool) -> None:
    here = facts(**given)
    here = here.on(Machines(at_once=3, cores=2, gpu=False, about="three machines")) if cluster else here
    plan, without = choose_plan(here, budget), choose_plan(here, budget, refit=False)
    assert plan.names == without.names  # an expert more is worth more than one that knows dev
    assert [one.name for one in plan.spare] == [one.name for one in without.spare]
    assert without.refit == ()
    assert without.to_refit == []
    assert plan.seconds <= max(SAFETY * budget, without.seconds) + 1e-6
    assert set(plan.refit) <= {one.name for step in plan.to_refit for one in step} <= set(plan.names)
    assert not plan.refit or plan.rehearsal == "dev"
    assert all(method_class(name).traits.learns_from_pairs for name in plan.refit)
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
    named = [one.name for step in plan.to_refit for one in step]
    assert tuple(named[: len(plan.refit)]) == plan.refit
    if not cluster and len(plan.refit) < len(named):
        later = next(step for step in plan.to_refit if step[0].name not in plan.refit)
        assert sum(one.again for one in later) > SAFETY * budget - plan.seconds - 1e-6
    larger = choose_plan(here, 2 * budget, only=plan.names)
    assert set(plan.refit) <= set(larger.refit)  # of the same experts never fewer, with more time


def test_a_plan_of_an_earlier_version_is_read() -> None:
    values = choose_plan(facts(n_dev=1_000), 600.0).to_json()
    values.pop("refit")
    values["experts"] = [{name: own for name, own in one.items() if name != "again"} for one in values["experts"]]
    assert Plan.from_json(values).to_refit == []


# --- the documents of both


def test_texts_are_not_copied(splits: Splits) -> None:
    both = with_dev(splits.train, splits.dev)
    assert both is not None
    assert len(both) == 180
    given = [*splits.train.documents.texts, *splits.dev.documents.texts]
    assert all(one is other for one, other in zip(both.documents.texts, given, strict=True))
    np.testing.assert_array_equal(
        both.required_pairs.toarray(), by_hand(splits.train, splits.dev).required_pairs.toarray()
    )


def test_documents_of_dev_without_a_label_are_left_out(splits: Splits) -> None:
    pairs = splits.dev.required_pairs.copy()
    pairs.data[: pairs.indptr[3]] = 0
    both = with_dev(splits.train, splits.dev.with_pairs(pairs))
    assert both is not None
    assert both.documents.ids == splits.train.documents.ids + splits.dev.documents.ids[3:]


def test_bags_of_words() -> None:
    labels = LabelSet.of([Label("a", "A"), Label("b", "B")])

    def bag(n: int, width: int) -> Dataset:
        rows = csr_matrix(np.arange(1, n * width + 1, dtype=np.float32).reshape(n, width))
        documents = Documents([f"{width}-{i}" for i in range(n)], [""] * n, [""] * n, rows)
        return Dataset(documents, labels, pairs_from_lists([[i % 2] for i in range(n)], 2))

    both = with_dev(bag(3, 4), bag(2, 4))
    assert both is not None
    assert both.documents.features is not None
    np.testing.assert_array_equal(both.documents.features.toarray()[3:], np.arange(1, 9).reshape(2, 4))
    assert with_dev(bag(3, 4), bag(2, 5)) is None
    texts = Dataset(Documents.of(["a", "b"]), labels, pairs_from_lists([[0], [1]], 2))
    assert with_dev(bag(3, 4), texts) is None
    assert with_dev(texts, bag(3, 4)) is None


# --- what is too good to be measured on


def test_who_measures_on_documents_that_it_has_learned_from_is_told(splits: Splits, fitted: Fitted) -> None:
    for tagger, of_dev in ((fitted.again, 70), (fitted.once, 0)):
        assert tagger.training_.n_among(splits.train.documents) == 110
        assert tagger.training_.n_among(splits.dev.documents) == of_dev
        assert tagger.training_.n_among(splits.test.documents) == 0
    few = splits.dev.subset(range(10))
    others = Dataset(Documents(few.documents.ids, ["other texts"] * 10, [""] * 10), few.labels, few.pairs)
    for measure in (evaluate, optimize):
        told = []
        for tagger, data in ((fitted.again, few), (fitted.again, others), (fitted.once, few)):
            reporter = Recorder()
            measure(tagger, data, run=Run(reporter))
            told.append([line for line in reporter.said if "has learned from 10 of these 10 documents" in line])
        assert [len(lines) for lines in told] == [1, 0, 0]
    assert learned_before(method_class("popularity")().fit(splits.train), splits.train.documents) == ""
