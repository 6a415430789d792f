"""A tagger fitted by a cluster ranks as one fitted here, whatever the order of its jobs, and what is killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from everylabel.data.dataset import Dataset
from everylabel.distributed.cluster import cluster as there
from everylabel.distributed.executor import Needs, OnRay, machines, on_ray
from everylabel.distributed.fit import NeedsOfJobs
from everylabel.errors import ClusterError, DataError
from everylabel.methods.base import Method
from everylabel.registry import method_class
from everylabel.run import Run
from everylabel.tagger.tagger import Tagger
from everylabel.train.checkpoint import checkpointing
from everylabel.workflow.compare import compare_all

pytestmark = [pytest.mark.timeout(900), pytest.mark.usefixtures("cluster")]
EXPERTS = ("tfidf", "knn")


class Square(NamedTuple):
    """A job: `seconds` later, the square."""

    number: int
    seconds: float = 0.0

    @property
    def label(self) -> str:
        return f"square-{self.number}"


def squared(job: Square, more: int, folder: Path | None = None) -> int:
    time.sleep(job.seconds)
    if job.number < 0:
        raise DataError(f"{job.number} is below 0")
    if folder is not None and not (folder / job.label).exists():  # the first time
        (folder / job.label).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return job.number**2 + more


def one_core(_job: Any, _given: Any) -> Needs:
    return Needs(1)


def test_results_in_the_order_of_jobs_and_kept_as_they_come() -> None:
    executor, kept = OnRay(one_core, None), list[tuple[int, int]]()
    jobs = [Square(3, 2.0), Square(2), Square(1)]
    found = executor.map(partial(squared, more=1), jobs, lambda job, result: kept.append((job.number, result)))
    assert list(found) == [10, 5, 2]
    assert sorted(kept) == [(1, 2), (2, 5), (3, 10)]
    assert kept[-1] == (3, 10)


def test_an_error_of_a_job_is_ours_with_the_name_of_the_node() -> None:
    found = OnRay(one_core, None).map(partial(squared, more=0), [Square(1), Square(-1)])
    assert next(found) == 1
    with pytest.raises(DataError, match=r"^-1 is below 0 \(on node .+\)$"):
        next(found)


def test_a_killed_worker_is_another_try(tmp_path: Path) -> None:
    found = OnRay(one_core, None).map(partial(squared, more=0, folder=tmp_path), [Square(2), Square(3)])
    assert list(found) == [4, 9]


def died(_job: Square) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_one_that_is_always_killed_is_one_clear_error() -> None:
    with pytest.raises(ClusterError, match=r"square-1: a worker or a node was lost.*goes on from what is done"):
        list(OnRay(one_core, None).map(died, [Square(1)]))


def test_the_same_model_as_here(train: Dataset, tmp_path: Path) -> None:
    """Bit by bit; and fitted again from what was kept, without a single task."""
    here = Tagger(experts=EXPERTS).fit(train)
    with (
        checkpointing(tmp_path, "data") as checkpoints,
        on_ray(there(), NeedsOfJobs, Run(checkpoints=checkpoints)) as run,
    ):
        assert run.machines == machines(there())
        far = Tagger(experts=EXPERTS).fit(train, run=run)
    assert f"cluster of {there()}" in far.plan_.reason
    again = Tagger(experts=EXPERTS)
    with checkpointing(tmp_path, "data") as checkpoints:
        again.fit(train, run=Run(checkpoints=checkpoints, executor=Nobody()))
    for tagger in (far, again):
        assert list(tagger.experts_) == list(EXPERTS)
        one, other = here.rank(train.documents, 20), tagger.rank(train.documents, 20)
        np.testing.assert_array_equal(one.ids, other.ids)
        np.testing.assert_array_equal(one.scores, other.scores)


def test_rows_of_a_comparison_are_tasks(train: Dataset) -> None:
    def methods() -> list[Method]:
        return [method_class(name)() for name in ("popularity", "tfidf")]

    here = list(compare_all(methods(), train, train))
    with on_ray(there(), NeedsOfJobs, Run()) as run:
        far = list(compare_all(methods(), train, train, run=run))
    assert [one.name for one in far] == ["popularity", "tfidf"]
    for one, other in zip(here, far, strict=True):
        assert one.evaluation.scores.to_json() == other.evaluation.scores.to_json()
        assert one.differences == other.differences


class Nobody:
    """All jobs are done already."""

    def map(self, _work: Any, jobs: Any, _done: Callable[..., None] | None = None) -> Any:
        assert not jobs
        return iter(())
