"""Long work beside serving: fit, refit, evaluate and report as processes of their own, one at a time unless told.

A job is a command of `everylabel` with its arguments. Its state, its progress (the last line it said) and its log (the
last `MOST_LOG` characters) are in the database, so that they can be asked for after a restart. What a job needs of
memory and what it may break are its process's: the server is not stopped by it. A job whose process died with the
server is marked failed when jobs are next opened on this machine; one that goes on without its server is ended.
"""

from __future__ import annotations

import os
import platform
import queue
import signal
import subprocess
import sys
import threading
import time
from builtins import list as list_of  # `list` is a name of ours below
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from everylabel.errors import ConfigError, DataError, StoreError
from everylabel.feedback.schema import jobs, sql
from everylabel.feedback.store import DecisionStore, now

Kind = Literal["fit", "refit", "evaluate", "report"]
State = Literal["queued", "running", "done", "failed", "cancelled"]

MOST_LOG = 100_000  # characters
WRITTEN_EVERY = 1.0  # seconds between two writes of a log that grows
PATIENCE = 10.0  # seconds that a cancelled process has to end by itself
OVER = ("done", "failed", "cancelled")


@dataclass(frozen=True, kw_only=True)
class Job:
    """As it is in the database."""

    id: int
    kind: str
    arguments: tuple[str, ...]  # of the command
    state: State
    progress: str  # the last line it said
    log: str
    exit_code: int | None
    at: str
    ended: str

    @property
    def is_over(self) -> bool:
        return self.state in OVER


class Jobs:
    """Thread safe. `close` ends what runs; what waits is cancelled."""

    def __init__(self, store: DecisionStore, *, at_once: int = 1, command: Sequence[str] = ()) -> None:
        self._database = store.database
        self._command = tuple(command) or (sys.executable, "-m", "everylabel.cli.main")
        self._waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._running: dict[int, subprocess.Popen[str]] = {}
        self._cancelled: set[int] = set()
        self._lock = threading.Lock()
        self._mark_dead()
        for _ in range(at_once):
            threading.Thread(target=self._work, name="everylabel-job", daemon=True).start()

    def start(self, kind: Kind, arguments: Sequence[str]) -> Job:
        """Queued: it runs when those before it are done."""
        if kind not in get_args(Kind):
            raise ConfigError(f"a job is one of {', '.join(get_args(Kind))}; got {kind!r}")
        values = {"kind": kind, "arguments": [str(one) for one in arguments], "state": "queued", "at": now()}
        values["process"] = _named(os.getpid())
        with self._database.writing() as connection:
            row = connection.execute(sql.insert(jobs).values(values).returning(jobs)).one()
        self._waiting.put(row.id)
        return _job(row)

    def get(self, job_id: int) -> Job | None:
        with self._database.reading() as connection:
            row = connection.execute(sql.select(jobs).where(jobs.c.id == job_id)).one_or_none()
        return None if row is None else _job(row)

    def list(self, limit: int = 100) -> list_of[Job]:
        """The latest first."""
        with self._database.reading() as connection:
            return [_job(row) for row in connection.execute(sql.select(jobs).order_by(jobs.c.id.desc()).limit(limit))]

    def last_done(self, kind: Kind, first: str) -> Job | None:
        """The latest job of this kind, and with this first argument, that has done its work."""
        wanted = sql.select(jobs.c.id, jobs.c.arguments).where(jobs.c.kind == kind, jobs.c.state == "done")
        with self._database.reading() as connection:
            found = connection.execute(wanted.order_by(jobs.c.id.desc())).all()
        return next((self.get(one.id) for one in found if one.arguments[:1] == [first]), None)

    def cancel(self, job_id: int) -> Job:
        """One that waits never runs; one that runs is told to end, and ended if it does not. One that is over stays."""
        if self._change(job_id, "queued", state="cancelled", ended=now()):
            return self._existing(job_id)
        with self._lock:
            process = self._running.get(job_id)
            if process is not None:
                self._cancelled.add(job_id)
        if process is not None:
            _end(process)
        return self._existing(job_id)

    def wait(self, job_id: int, seconds: float = 3600) -> Job:
        """Until it is over, at most so long."""
        until = time.monotonic() + seconds
        while not (job := self._existing(job_id)).is_over and time.monotonic() < until:
            time.sleep(0.05)
        return job

    def close(self) -> None:
        """Ends what runs here; its jobs are marked as cancelled."""
        while not self._waiting.empty():
            with suppress(queue.Empty, StoreError):
                self._change(self._waiting.get_nowait(), "queued", state="cancelled", ended=now())
        with self._lock:
            running = dict(self._running)
            self._cancelled |= running.keys()
        for process in running.values():
            _end(process)
        for job_id in running:
            with suppress(StoreError):
                self.wait(job_id, PATIENCE)

    def _existing(self, job_id: int) -> Job:
        job = self.get(job_id)
        if job is None:
            raise DataError(f"there is no job {job_id}")
        return job

    def _change(self, job_id: int, before: State, /, **values: Any) -> bool:
        """Only if it is in this state."""
        with self._database.writing() as connection:
            one = sql.update(jobs).where(jobs.c.id == job_id, jobs.c.state == before).values(values)
            return connection.execute(one).rowcount > 0

    def _work(self) -> None:
        while True:
            job_id = self._waiting.get()
            with suppress(StoreError):  # its state is found out at the next start
                self._run(job_id)

    def _run(self, job_id: int) -> None:
        job = self._existing(job_id)
        if job.state != "queued":
            return
        try:
            process = subprocess.Popen(
                [*self._command, job.kind, *job.arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            self._change(job_id, "queued", state="failed", log=f"cannot be started: {error}", ended=now())
            return
        with self._lock:
            self._running[job_id] = process
        about = f"{_named(os.getpid())} {_named(process.pid)}"
        if not self._change(job_id, "queued", state="running", process=about):
            _end(process)  # cancelled in between
        self._watch(job_id, process)
        with self._lock:
            self._running.pop(job_id)
            cancelled = job_id in self._cancelled
        code = process.wait()
        state: State = "cancelled" if cancelled else "done" if code == 0 else "failed"
        self._change(job_id, "running", state=state, exit_code=code, ended=now())

    def _watch(self, job_id: int, process: subprocess.Popen[str]) -> None:
        """Its log, written now and then; a database that is away for a while loses nothing of it."""
        assert process.stdout is not None
        log, written = "", 0.0
        with process.stdout:
            for line in process.stdout:
                log = (log + line)[-MOST_LOG:]
                if time.monotonic() - written > WRITTEN_EVERY:
                    with suppress(StoreError):
                        self._change(job_id, "running", log=log, progress=line.strip())
                    written = time.monotonic()
        self._change(job_id, "running", log=log, progress=(log.strip().splitlines() or [""])[-1])

    def _mark_dead(self) -> None:
        """Jobs of servers on this machine that are no more: failed, and ended if they go on."""
        open_jobs = sql.select(jobs.c.id, jobs.c.state, jobs.c.process).where(jobs.c.state.in_(("queued", "running")))
        with self._database.reading() as connection:
            rows = connection.execute(open_jobs).all()
        for job_id, state, process in rows:
            owner, *child = process.split(" ")
            if not _is_ours(owner) or _is_alive(owner):
                continue
            for one in child:
                if _is_alive(one):
                    with suppress(OSError):
                        os.killpg(_number(one), signal.SIGTERM)
            why = "the server ended before the job did; start it again: a fit goes on where it was\n"
            self._change(job_id, state, state="failed", progress=why.strip(), log=jobs.c.log + why, ended=now())


def _job(row: Any) -> Job:
    values = dict(row._mapping)
    del values["process"]
    return Job(**values | {"arguments": tuple(values["arguments"])})


def _end(process: subprocess.Popen[str]) -> None:
    """With all it has started: first by asking."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with suppress(OSError):
            os.killpg(process.pid, sign)
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
            return


def _named(pid: int) -> str:
    """Machine, number and birth: numbers are given again."""
    return f"{platform.node()}/{pid}/{_birth(pid)}"


def _birth(pid: int) -> str:
    """In ticks since the system started; "" where the system does not say."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def _number(named: str) -> int:
    return int(named.split("/")[1])


def _is_ours(named: str) -> bool:
    return named.split("/")[0] == platform.node()


def _is_alive(named: str) -> bool:
    pid = _number(named)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return _named(pid) == named
