"""Long work in processes of its own, told about in the database."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from tests.cli.conftest import write_data

import everylabel
from everylabel.errors import ConfigError, DataError
from everylabel.feedback import jobs as jobs_module
from everylabel.feedback.jobs import Job, Jobs
from everylabel.feedback.store import DecisionStore

PRETEND = (sys.executable, "-u", "-c")  # a program instead of everylabel: it gets the kind and the arguments
SLOW = "import time; print('working', flush=True); time.sleep(60)"
SERVER = """
import sys, time
from everylabel.feedback.jobs import Jobs
from everylabel.feedback.store import DecisionStore

jobs = Jobs(DecisionStore(sys.argv[1]), command=(sys.executable, "-c", sys.argv[2]))
jobs.start("fit", [])
jobs.start("fit", [])
while jobs.get(1).progress != "working": time.sleep(0.05)
print("ready", flush=True)
time.sleep(60)
"""
Start = Callable[..., Jobs]


@pytest.fixture
def start(store: DecisionStore) -> Iterator[Start]:
    """`start(program)`: jobs that run it."""
    made: list[Jobs] = []

    def jobs(program: str | None = None, at_once: int = 1) -> Jobs:
        made.append(Jobs(store, at_once=at_once, command=(*PRETEND, program) if program else ()))
        return made[-1]

    yield jobs
    for one in made:
        one.close()


def wait_for(check: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not check():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_fit(start: Start, tmp_path: Path) -> None:
    data = write_data(tmp_path / "data")
    jobs = start()
    job = jobs.start("fit", [str(data), "--method", "knn", "-o", str(tmp_path / "model")])
    assert job.state == "queued"
    job = jobs.wait(job.id, 100)
    assert (job.state, job.exit_code) == ("done", 0), job.log
    assert "fitted knn on 4 documents" in job.log
    assert job.progress in job.log
    assert everylabel.load(tmp_path / "model").name == "knn"


def test_a_failure_says_why(start: Start, tmp_path: Path) -> None:
    jobs = start()
    job = jobs.wait(jobs.start("evaluate", [str(tmp_path / "no model"), str(tmp_path)]).id, 100)
    assert job.state == "failed"
    assert job.exit_code == 5
    assert "no model" in job.log


def test_one_after_the_other(start: Start) -> None:
    jobs = start("import time; print(time.monotonic()); time.sleep(0.3); print(time.monotonic())")
    ids = [jobs.start("report", ["x"]).id for _ in range(3)]
    found = [jobs.wait(one) for one in ids]
    times = [[float(line) for line in job.log.splitlines()] for job in found]
    assert all(before[1] <= after[0] for before, after in pairwise(times))
    assert [job.id for job in jobs.list()] == ids[::-1]
    assert jobs.list(limit=1)[0].arguments == ("x",)


def test_two_at_once_if_told(start: Start) -> None:
    jobs = start("import time; print('working', flush=True); time.sleep(1.5)", at_once=2)
    ids = [jobs.start("fit", []).id for _ in range(2)]
    wait_for(lambda: [_get(jobs, one).state for one in ids] == ["running", "running"])
    assert [jobs.wait(one).state for one in ids] == ["done", "done"]


def test_cancelled(start: Start) -> None:
    jobs = start(SLOW)
    first, second = (jobs.start("fit", []) for _ in range(2))
    wait_for(lambda: _get(jobs, first.id).progress == "working")
    assert jobs.cancel(second.id).state == "cancelled"
    jobs.cancel(first.id)
    assert jobs.wait(first.id, 30).state == "cancelled"
    assert jobs.cancel(first.id).state == "cancelled"
    assert jobs.get(999) is None
    with pytest.raises(DataError, match="no job 999"):
        jobs.cancel(999)
    with pytest.raises(ConfigError, match="one of fit, refit, evaluate, report"):
        jobs.start("rm", [])  # type: ignore[arg-type]


def test_one_that_does_not_listen_is_ended(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "PATIENCE", 0.3)
    jobs = start(f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLOW}")
    job = jobs.start("fit", [])
    wait_for(lambda: _get(jobs, job.id).progress == "working")
    jobs.cancel(job.id)
    found = jobs.wait(job.id, 30)
    assert (found.state, found.exit_code) == ("cancelled", -signal.SIGKILL)


def test_a_log_keeps_its_end(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "MOST_LOG", 200)
    jobs = start("[print('line', i) for i in range(1000)]")
    job = jobs.wait(jobs.start("fit", []).id, 30)
    assert len(job.log) == 200
    assert job.progress == "line 999"


def test_a_server_that_was_killed(sqlite_store: DecisionStore) -> None:
    """Its jobs are marked failed when jobs are opened again, and a process that goes on alone is ended."""
    url = sqlite_store.name
    server = subprocess.Popen([sys.executable, "-c", SERVER, url, SLOW], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    assert server.stdout.readline() == "ready\n"
    with sqlite_store.database.reading() as connection:
        process = connection.exec_driver_sql("SELECT process FROM everylabel_jobs WHERE id = 1").scalar()
    beside = Jobs(sqlite_store)  # while it lives, its jobs are its own
    assert [_get(beside, one).state for one in (1, 2)] == ["running", "queued"]
    server.send_signal(signal.SIGKILL)
    server.communicate()
    child = int(str(process).split()[1].split("/")[1])
    os.kill(child, 0)
    after = Jobs(sqlite_store)
    found = [_get(after, one) for one in (1, 2)]
    assert [job.state for job in found] == ["failed", "failed"]
    assert "start it again" in found[0].log
    wait_for(lambda: not _runs(child))


def _runs(pid: int) -> bool:
    """A process that has ended and that nobody asks about has no command."""
    try:
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    except OSError:
        return False


def _get(jobs: Jobs, job_id: int) -> Job:
    found = jobs.get(job_id)
    assert found is not None
    return found
