"""What is left out when time runs out, by a clock that the test sets: no time passes by itself."""

from __future__ import annotations

from typing import Any

import pytest
from tests.listening import Recorder

from everylabel.machine import REFERENCE
from everylabel.methods import facts
from everylabel.run import Run
from everylabel.tagger.clock import Clock
from everylabel.tagger.tagger import Tagger


class Time:
    """A clock that the test sets: `now` is what it shows, `passes(5)` lets five seconds go."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def now(self) -> float:
        return self.seconds

    def passes(self, seconds: float) -> None:
        self.seconds += seconds


@pytest.fixture
def time() -> Time:
    return Time()


def test_what_stages_took(time: Time) -> None:
    costs: dict[str, float] = {}
    clock = Clock(60.0, costs, time.now)
    with clock.watch("svm", 3.0):
        time.passes(5)
    time.passes(1)
    with clock.watch("blend"):
        time.passes(2)
    assert costs == {"svm": 5.0, "blend": 2.0}
    assert clock.seconds == 8


def test_what_is_too_slow_is_left_out(time: Time) -> None:
    clock = Clock(60.0, {}, time.now)
    assert clock.has_time_for(50)
    assert not clock.has_time_for(100)
    assert not clock.has_time_for(50, rest=50)
    time.passes(40)
    assert clock.has_time_for(15)
    assert not clock.has_time_for(50)
    time.passes(1_000)
    assert not clock.has_time_for(0)


def test_a_machine_that_is_slower_than_planned_is_noticed(time: Time) -> None:
    slow, fast = (Clock(600.0, {}, time.now) for _ in range(2))
    with slow.watch("svm", 10.0):
        time.passes(100)
    assert not slow.has_time_for(100)  # which takes ten times as long here
    assert slow.has_time_for(10)
    with fast.watch("svm", 100.0):
        time.passes(10)
    assert fast.has_time_for(2_000)


def test_each_kind_of_work_is_as_fast_as_it_was_before(time: Time) -> None:
    clock = Clock(600.0, {}, time.now)
    with clock.watch("svm", 100.0, "solving"):
        time.passes(30)
    with clock.watch("of-de", 50.0, "training"):
        time.passes(150)
    assert clock.slower("solving") < 0.6
    assert 2.0 < clock.slower("training") < 3.1
    assert clock.slower("solving") < clock.slower("reading") < clock.slower("training")  # unknown: as all together
    assert clock.has_time_for(300, kind="solving")
    assert not clock.has_time_for(300, kind="training")
    assert not clock.has_time_for(300, rest=400, kind="solving")


def test_what_an_earlier_run_has_spent_is_a_cost_and_says_nothing_of_the_speed(time: Time) -> None:
    costs: dict[str, float] = {}
    clock = Clock(600.0, costs, time.now)
    with clock.watch("svm", 100.0) as watched:
        time.passes(1)
        watched.before = 90.0
    assert costs == {"svm": 91.0}
    assert not clock.has_time_for(1_000)  # a machine that did it in a second could


def test_a_tagger_that_is_late_has_the_best_experts_and_says_what_it_left_out(
    time: Time, corpus: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from everylabel.methods.words.neighbours import NearestNeighbours

    real = NearestNeighbours._fit

    def slow(self: NearestNeighbours, dataset: Any, run: Run) -> None:
        time.passes(10_000)
        real(self, dataset, run)

    monkeypatch.setattr(NearestNeighbours, "_fit", slow)
    said = Recorder()
    tagger = Tagger(experts=("tfidf", "knn", "svm"), budget="30m")
    tagger.fit(corpus.train.subset(range(40)), run=Run(said, clock=time.now))
    assert list(tagger.experts_) == tagger.plan_.names == ["tfidf", "knn"]
    assert "left out while fitting" in dict(tagger.plan_.left_out)["svm"]
    assert any(line.startswith("svm: left out while fitting") for line in said.said)
    assert tagger.costs_["knn"] >= 10_000
    assert tagger.rank(["the sea"], 5).ids[0, 0] >= 0


def test_experts_for_which_there_was_no_time_by_estimate_are_fitted_if_the_others_were_faster(
    time: Time, corpus: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine as fast as that of the estimates."""
    monkeypatch.setattr(facts, "speeds", lambda **_: REFERENCE)
    few = corpus.train.subset(range(40))
    tagger, said = Tagger(budget="4s", without=("semantic", "hybrid")), Recorder()
    spare = {choice.name for choice in tagger.plan(few).spare}
    assert spare
    tagger.fit(few, run=Run(said, clock=time.now))
    assert spare <= set(tagger.experts_)
    assert tagger.plan_.spare == ()
    assert tagger.plan_.names == list(tagger.experts_)
    assert {line.split(":")[0] for line in said.said if "there is time for it" in line} == spare
