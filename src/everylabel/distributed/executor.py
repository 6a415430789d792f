"""Who runs jobs on a cluster: each is a task of Ray, with its cores, its memory and a GPU where it can use one.

All jobs begin as soon as there is room for them, in any order; results are taken in the order of the jobs, and are kept
(`done`) when they come. What all jobs need, such as the data, is put into Ray's object store once, and read by each
process once. A worker or node that is lost takes its tasks with it, and Ray runs them again, up to three times. A job
that takes much longer than the others of its kind while cores are free is begun again, elsewhere if there is room: the
first result counts, and both would be the same.
"""

from __future__ import annotations

import math
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any, NamedTuple, TypeVar

from everylabel import __version__
from everylabel.distributed.begun import LEAST, TIMES
from everylabel.distributed.cluster import Cluster, check_version
from everylabel.distributed.errors import said_where, told_here
from everylabel.distributed.progress import Far, heard
from everylabel.parallel import VARIABLE
from everylabel.run import Machines, Run

A = TypeVar("A")
R = TypeVar("R")

MOST_CORES = 8  # of a job: more of them together make it little faster
EVERY = 1.0  # seconds until it is looked who is slow
TIMES_DATA = 4  # memory of a job, as a multiple of what it is sent, where nothing else is known of it
_received: dict[bool, dict[str, Any]] = {True: {}, False: {}}  # in a worker: what was sent last, by its number in the
# object store, to parts of jobs and to jobs
_shared: dict[int, Any] = {}  # in a worker: what jobs read of the documents that were sent last (text/views.py)


class Needs(NamedTuple):
    """What a task is given."""

    cores: int
    gpus: int = 0
    memory: int = 0  # bytes, beside what it is sent; 0: nobody knows


NeedsOf = Callable[[Any, Mapping[str, Any]], Needs]  # of a job, and what all of its kind are given


class OnRay:
    """An executor (parallel.py). `needs`: of a job; `most_memory`: of a node, in bytes, beyond which nothing is asked
    for. `part_of_job`: what is run are parts of one job, which is in a worker itself (others.py)."""

    def __init__(
        self, needs: NeedsOf, reporter: Far | None, most_memory: int = 0, *, part_of_job: bool = False
    ) -> None:
        self._needs, self._reporter, self._most_memory, self._part = needs, reporter, most_memory, part_of_job
        self._sent: dict[int, tuple[Any, Any, int]] = {}  # by identity: the value, which is kept, its place, its size
        self._running: dict[Any, _Asked] = {}  # tasks of all calls
        self._quiet_since = 0.0  # since when there is a core that nobody uses, and nothing has begun or ended

    def map(self, work: Callable[[A], R], jobs: Sequence[A], done: Callable[[A, R], None] | None = None) -> Iterator[R]:
        sent, size = self._send(work)
        given = work.keywords if isinstance(work, partial) else {}
        seconds = defaultdict[str, list[float]](list)
        asked = [
            _Asked(job, done, seconds[kind_of(job)], partial(self._begin, sent, size, job, self._needs(job, given)))
            for job in jobs
        ]
        for one in asked:
            self._running[one.begin()] = one
        self._quiet_since = time.monotonic()
        return (self._result(one) for one in asked)

    def close(self) -> None:
        """Tasks that nobody waits for any more are ended."""
        import ray

        for task in self._running:
            ray.cancel(task, force=True)
        self._running.clear()
        self._sent.clear()

    def _result(self, asked: _Asked) -> Any:
        """Whatever ends meanwhile is kept; what went wrong with it is told to who asks for it."""
        import ray

        while asked.ended is None:
            ended, _ = ray.wait(list(self._running), timeout=EVERY)
            for task in ended:
                self._take(task)
            if not ended:
                self._help_slow_ones()
        if asked.ended.error is not None:
            raise asked.ended.error
        return asked.ended.result

    def _take(self, task: Any) -> None:
        import ray

        asked, self._quiet_since = self._running.pop(task), time.monotonic()
        others = [one for one, whose in self._running.items() if whose is asked]
        try:
            with told_here(label_of(asked.job)):
                result, seconds = ray.get(task)
        except Exception as error:
            if not others:  # else one of them may do it
                asked.ended = _Ended(None, error)
            return
        for one in others:
            del self._running[one]
            ray.cancel(one, force=True)
        asked.seconds.append(seconds)
        if asked.done is not None:
            asked.done(asked.job, result)
        asked.ended = _Ended(result)

    def _help_slow_ones(self) -> None:
        """While cores are free all that is left is at work: it has taken at least as long as they have been."""
        import ray

        now = time.monotonic()
        if not self._running or ray.available_resources().get("CPU", 0) < 1:
            self._quiet_since = now
            return
        for one in list(dict.fromkeys(self._running.values())):
            long = max(LEAST, TIMES * median(one.seconds)) if one.seconds else math.inf
            if now - max(self._quiet_since, one.helped) > long:
                one.helped = now
                self._running[one.begin(scheduling_strategy="SPREAD")] = one

    def _begin(self, sent: Any, size: int, job: Any, needs: Needs, **options: Any) -> Any:
        import ray

        label = label_of(job)
        reporter = None if self._reporter is None else self._reporter.named(f"{label}: ")
        memory = min(size + needs.memory if needs.memory else TIMES_DATA * size, self._most_memory)
        options |= {"num_cpus": needs.cores, "num_gpus": needs.gpus, "memory": memory}
        task = ray.remote(_worked).options(name=label, max_retries=3, **options)
        return task.remote(sent, job, reporter, needs.cores, __version__, self._part)

    def _send(self, work: Callable[..., Any]) -> tuple[Any, int]:
        """The function with references in place of what it is given. A `Run` is one of this process: a task gets its
        own."""
        import ray

        size, keywords = 0, dict[str, Any]()
        given = work.keywords if isinstance(work, partial) else {}
        for name, value in given.items():
            if isinstance(value, Run):
                keywords[name] = replace(value, reporter=None, checkpoints=None, executor=None, machines=None)
                continue
            if id(value) not in self._sent:
                place = ray.put(value)
                self._sent[id(value)] = (value, place, size_of(place))
            _, place, own = self._sent[id(value)]
            keywords[name] = _Place(place)
            size += own
        return (partial(work.func, *work.args, **keywords) if isinstance(work, partial) else work), size


class _Ended(NamedTuple):
    result: Any
    error: Exception | None = None


@dataclass(eq=False)
class _Asked:
    """A job that was begun. `seconds`: that others of its kind took."""

    job: Any
    done: Callable[[Any, Any], None] | None
    seconds: list[float]
    begin: Callable[..., Any]
    helped: float = -math.inf  # when it was begun again
    ended: _Ended | None = None


class _Place(NamedTuple):
    """A reference that Ray does not follow by itself: a process that has the value already does not read it again."""

    reference: Any


@contextmanager
def on_ray(there: Cluster, needs: Callable[[int, int], NeedsOf], run: Run) -> Iterator[Run]:
    """The run whose jobs are done by the cluster until the end of the block."""
    cores = cores_of_a_job(there)
    with heard(run) as reporter:
        most_memory = max((node.memory for node in there.nodes), default=0)
        executor = OnRay(needs(cores, there.gpus), reporter, most_memory)
        try:
            yield replace(run, executor=executor, machines=machines(there))
        finally:
            executor.close()


def cores_of_a_job(there: Cluster) -> int:
    return max(1, min([MOST_CORES, *(node.cores for node in there.nodes if node.cores)]))


def machines(there: Cluster) -> Machines:
    cores = cores_of_a_job(there)
    at_once = sum(node.cores // cores for node in there.nodes)
    of_jobs = [node.memory / max(1, node.cores // cores) for node in there.nodes if node.memory]
    return Machines(max(1, at_once), cores, there.gpus > 0, str(there), max(of_jobs, default=math.inf))


def label_of(job: Any) -> str:
    """By what a task is found in Ray's dashboard."""
    return str(getattr(job, "label", job))


def kind_of(job: Any) -> str:
    """Jobs of one kind take about as long: those of an expert, or parts of a job. One of a kind is never slow, since
    others may take seconds where it takes an hour."""
    return str(getattr(job, "name", type(job).__name__))


def size_of(place: Any) -> int:
    """Bytes in the object store."""
    import ray

    found = ray.experimental.get_object_locations([place])[place].get("object_size", 0)
    return int(found or 0)


def _worked(
    work: Callable[[Any], Any], job: Any, reporter: Far | None, cores: int, version: str, part_of_job: bool
) -> tuple[Any, float]:
    """In a worker: the result, and how long it took."""
    from everylabel.distributed.others import Others

    started = time.monotonic()
    with said_where():
        check_version(version)
        if isinstance(work, partial):
            keywords = _here(work.keywords, part_of_job)
            for name, value in keywords.items():
                if isinstance(value, Run):
                    shared = None if value.shared is None else _shared
                    keywords[name] = replace(value, reporter=reporter, shared=shared, others=Others(label_of(job)))
            work = partial(work.func, *work.args, **keywords)
        with _on_cores(cores):
            return work(job), time.monotonic() - started


def _here(keywords: dict[str, Any], part_of_job: bool) -> dict[str, Any]:
    """With what the references lead to. A process that goes on with the same documents has what it has read of them."""
    import ray

    places = {value.reference.hex(): value for value in keywords.values() if isinstance(value, _Place)}
    received = _received[part_of_job]
    for old in [key for key in received if key not in places]:
        del received[old]
        if not part_of_job:
            _shared.clear()
    for key, place in places.items():
        if key not in received:
            received[key] = ray.get(place.reference)
    return {
        name: received[value.reference.hex()] if isinstance(value, _Place) else value
        for name, value in keywords.items()
    }


@contextmanager
def _on_cores(n: int) -> Iterator[None]:
    """As many threads as the task was given; Ray says so only to OpenMP, and to a new process."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(n)
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before
