"""Machines that help with one job: the same results in the same order, and no task for what is quick."""

from __future__ import annotations

import os
import time
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

from everylabel.data.dataset import Dataset
from everylabel.distributed import others
from everylabel.distributed.executor import Needs, OnRay
from everylabel.distributed.others import Others
from everylabel.parallel import Spread
from everylabel.registry import method_class
from everylabel.run import Run
from everylabel.tagger.experts import opinions, opinions_of_parts
from everylabel.text.views import Views

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("cluster")]


class Job(NamedTuple):
    label: str


def doubled(item: int, more: int, seconds: float) -> tuple[int, int]:
    time.sleep(seconds)
    return 2 * item + more, os.getpid()


def test_results_in_order_by_several_processes() -> None:
    found = list(Others("doubling").map(partial(doubled, more=1, seconds=0.2), range(24)))
    assert [one for one, _ in found] == list(range(1, 49, 2))
    assert len({process for _, process in found}) >= 3


def test_what_is_quick_stays_here() -> None:
    found = list(Others("doubling").map(partial(doubled, more=0, seconds=0.001), range(300)))
    assert [one for one, _ in found] == list(range(0, 600, 2))
    assert {process for _, process in found} == {os.getpid()}


def summed(_job: Job, run: Run) -> int:
    return sum(one for one, _ in run.spread(partial(doubled, more=0, seconds=0.1), range(60)))


def test_jobs_that_wait_for_others_leave_them_their_cores() -> None:
    """More jobs than cores, all of which hand out most of what they have to do."""
    executor = OnRay(lambda _job, _given: Needs(1), None)
    jobs = [Job(f"sum-{i}") for i in range(4)]
    assert list(executor.map(partial(summed, run=Run()), jobs)) == [60 * 59] * 4


class Everything:
    """`Others`, who are given all but the first item, and count what they are given."""

    def __init__(self) -> None:
        self.items = 0

    def map(self, work, items):  # type: ignore[no-untyped-def]
        self.items += len(items) - 1
        return Others("all").map(work, items)


@pytest.fixture
def everything(monkeypatch: pytest.MonkeyPatch) -> Everything:
    for name, value in {"TRIED": 0.0, "WORTH": 0.0, "LEAST": 1e-9}.items():
        monkeypatch.setattr(others, name, value)
    return Everything()


@pytest.mark.parametrize("name", ["svm", "xr-linear"])
def test_the_same_classifiers(
    name: str, train: Dataset, everything: Everything, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("everylabel.linear.solver._LABELS_PER_TASK", 16)
    settings = {"leaf_size": 20, "arity": 3} if name == "xr-linear" else {}
    here, far = fitted(name, train, None, settings), fitted(name, train, everything, settings)
    assert everything.items > 0
    for one, other in zip(
        here.texts_.ranker.lists_.state().items(), far.texts_.ranker.lists_.state().items(), strict=True
    ):
        assert one[0] == other[0]
        np.testing.assert_array_equal(one[1], other[1])


def test_the_same_opinions(train: Dataset, everything: Everything, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everylabel.tagger.experts.PART", 16)
    experts = {name: method_class(name)().fit(train) for name in ("tfidf", "knn", "svm")}
    here = opinions(experts, Views(train.documents))
    far = opinions_of_parts(experts, train.documents, None, Run(others=everything))
    assert everything.items == 3
    assert list(here) == list(far)
    for name, one in here.items():
        np.testing.assert_array_equal(one.ids, far[name].ids)
        np.testing.assert_array_equal(one.scores, far[name].scores)


def fitted(name: str, train: Dataset, who: Spread | None, settings: Any) -> Any:
    return method_class(name)(**settings).fit(train, run=Run(others=who))
