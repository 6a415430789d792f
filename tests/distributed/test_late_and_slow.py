"""A node that joins late gets work; what a slow node has is begun again elsewhere, and the first result counts."""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.distributed.conftest import command, node, processes, until, waited, write_shards

from everylabel.distributed.begun import LEAST
from everylabel.distributed.executor import Needs, OnRay

pytestmark = [pytest.mark.timeout(900), pytest.mark.slow]


def written(folder: Path) -> list[Path]:
    """What was not finished is hidden."""
    return [file for file in folder.glob("[!.]*.jsonl") if file.is_file()]


def ids(folder: Path) -> list[str]:
    return [json.loads(line)["id"] for file in written(folder) for line in file.read_text("utf-8").splitlines()]


def test_a_late_node_tags_files(alone: Any, model: Path, tmp_path: Path) -> None:
    source, out = write_shards(tmp_path / "in", 90, 15_000), tmp_path / "out"
    process = command("tag", model, source, "-o", out, "--ray", alone.address, "--quiet")
    until(lambda: written(out))
    assert len(processes("_Tagging")) == 1
    alone.add_node(**node())
    until(lambda: len(processes("_Tagging")) == 2 or process.poll() is not None)
    assert process.poll() is None
    waited(process)
    assert len(written(out)) == 90
    assert len(set(ids(out))) == 90 * 15_000


def test_a_file_that_is_stuck_is_tagged_elsewhere(alone: Any, model: Path, tmp_path: Path) -> None:
    """An actor is stopped (SIGSTOP) in the middle of a file: as a node that is far too slow."""
    alone.add_node(**node())
    source, out = write_shards(tmp_path / "in", 12, 1_500), tmp_path / "out"
    process = command("tag", model, source, "-o", out, "--ray", alone.address, "--quiet")
    until(lambda: len(processes("_Tagging")) == 2 and len(written(out)) > 1)
    stopped = processes("_Tagging")[0]
    os.kill(stopped, signal.SIGSTOP)
    try:
        waited(process)
        assert len(written(out)) == 12
        assert len(set(ids(out))) == 12 * 1_500
    finally:
        with suppress(ProcessLookupError):
            os.kill(stopped, signal.SIGCONT)


class Job(NamedTuple):
    number: int
    name: str = "waiting"

    @property
    def label(self) -> str:
        return f"waiting-{self.number}"


def waiting(job: Job, seconds: float, folder: Path) -> int:
    """On the slow node for ever."""
    (folder / f"{job.number}-{os.environ.get('SLOW', 'fast')}-{os.getpid()}").touch()
    time.sleep(1_000 if "SLOW" in os.environ else seconds if job.name == "waiting" else LEAST + 3)
    return job.number


def test_a_job_that_is_stuck_is_done_elsewhere(connected: Any, tmp_path: Path) -> None:
    connected.add_node(**node(), env_vars={"SLOW": "slow"})
    executor = OnRay(lambda _job, _given: Needs(1), None)
    jobs = [Job(number) for number in range(6)]
    found = executor.map(partial(waiting, seconds=0.5, folder=tmp_path), jobs)
    assert list(found) == [0, 1, 2, 3, 4, 5]
    begun = [file.name.split("-")[:2] for file in tmp_path.iterdir()]
    (stuck,) = [number for number, where in begun if where == "slow"]
    assert [stuck, "fast"] in begun
    until(lambda: not processes("waiting-"))  # the one that was not needed any more is ended


def test_a_job_that_is_the_only_one_of_its_kind_may_take_long(connected: Any, tmp_path: Path) -> None:
    """Training takes minutes where others take seconds: that is no reason to do it twice."""
    connected.add_node(**node())
    executor = OnRay(lambda _job, _given: Needs(1), None)
    jobs = [Job(0), Job(1), Job(2), Job(3, "training")]
    assert list(executor.map(partial(waiting, seconds=0.2, folder=tmp_path), jobs)) == [0, 1, 2, 3]
    assert sorted(file.name.split("-")[0] for file in tmp_path.iterdir()) == ["0", "1", "2", "3"]


def test_a_late_node_is_given_jobs(connected: Any, tmp_path: Path) -> None:
    executor = OnRay(lambda _job, _given: Needs(1), None)
    found = executor.map(partial(waiting, seconds=2, folder=tmp_path), [Job(number) for number in range(10)])
    assert next(found) == 0
    connected.add_node(**node())
    assert list(found) == list(range(1, 10))
    assert len({file.name.split("-")[-1] for file in tmp_path.iterdir()}) == 2
