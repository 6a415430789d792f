"""Work on all cores: pieces of compiled work in the threads of one pool, and whole jobs in turn or side by side.

The kernels release the interpreter lock, so threads are enough. There is one pool a process, made on first use and made
anew in a forked child. A thread that works on one core (`one_core`: a worker of the pool, a job beside another) runs
what it is given by itself: nothing waits for a free thread while it holds one.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Protocol, TypeVar

from everylabel.forks import Lock, openmp_is_gone

A = TypeVar("A")
R = TypeVar("R")

VARIABLE = "EVERYLABEL_THREADS"


class _ThisThread(threading.local):
    alone = False  # works on one core; of the class, since an attribute that is not there takes long to be missed


_this_thread = _ThisThread()
_pools: dict[int, ThreadPoolExecutor] = {}  # by their size, of which there is one unless somebody changes it
_pools_lock = Lock()


def n_threads() -> int:
    """The cores this thread may use; EVERYLABEL_THREADS overrides it (a shared server, a benchmark on one core)."""
    if _this_thread.alone:
        return 1
    if (said := said_threads(VARIABLE) or said_threads("OMP_NUM_THREADS")) > 0:
        return said
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def said_threads(variable: str = VARIABLE) -> int:
    """A number that the environment says; 0: nothing, or nonsense."""
    said = os.environ.get(variable, "")
    return int(said) if said.isdecimal() else 0


def n_openmp_threads() -> int:
    """For LightGBM and torch: as `n_threads`, and one in a forked process, where more would wait for ever."""
    return 1 if openmp_is_gone() else n_threads()


def n_processes() -> int:
    """That fit one model together: torchrun's WORLD_SIZE, where it has given this process a number."""
    return max(1, said_threads("WORLD_SIZE")) if "RANK" in os.environ else 1


def is_first_process() -> bool:
    """Does this process write what all have learned?"""
    return n_processes() == 1 or said_threads("RANK") == 0


@contextmanager
def one_core() -> Iterator[None]:
    """What this thread does meanwhile is done by it alone."""
    before = _this_thread.alone
    _this_thread.alone = True
    try:
        yield
    finally:
        _this_thread.alone = before


def parallel_map(work: Callable[[A], R], items: Iterable[A]) -> Iterator[R]:
    """`map` on all cores, results in order; at most a few items are ahead of the caller, so memory stays bounded."""
    # threads cost more than a small piece of work
    if (isinstance(items, Sized) and len(items) < 2) or (threads := n_threads()) == 1:
        yield from map(work, items)
        return
    pool = _threads(threads)
    waiting: deque[Future[R]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
        for future in waiting:  # what has begun may write into the caller's arrays: it ends first
            if not future.cancelled():
                future.exception()


def work_together(work: Callable[[A], R], items: Sequence[A]) -> list[R]:
    """`map` on all cores for a few items: the caller works from the first item on, the others from the last one.

    A thread takes a good part of a millisecond to wake up, and of little work the caller has done its share by then.
    """
    if len(items) < 2 or (threads := min(n_threads(), len(items))) < 2:
        return list(map(work, items))
    waiting = deque(range(len(items)))
    results: dict[int, R] = {}

    def work_off(take: Callable[[], int]) -> None:
        while True:
            try:
                at = take()
            except IndexError:  # none is left
                return
            results[at] = work(items[at])

    pool = _threads(n_threads())
    others = [pool.submit(work_off, waiting.pop) for _ in range(threads - 1)]
    try:
        with one_core():
            work_off(waiting.popleft)
    finally:
        waiting.clear()
        begun = [other for other in others if not other.cancel()]
        failed = [error for other in begun if (error := other.exception()) is not None]  # waits until they have ended
    if failed:
        raise failed[0]
    return [results[at] for at in range(len(items))]


def for_each_part(size: int, work: Callable[[int, int], None]) -> None:
    """`work(first, last)` on one part of 0..size for each core."""
    n_parts = 1 if size < 2 else min(n_threads(), size)
    if n_parts == 1:
        work(0, size)
        return
    edges = [size * i // n_parts for i in range(n_parts + 1)]
    work_together(lambda edge: work(*edge), list(pairwise(edges)))


class Executor(Protocol):
    """Who runs jobs, here or elsewhere. Results come in the order of the jobs; an error of a job is raised.

    `done(job, result)` is called in this process as soon as a job is done, whatever the order.
    """

    def map(
        self, work: Callable[[A], R], jobs: Sequence[A], done: Callable[[A, R], None] | None = None
    ) -> Iterator[R]: ...


class Spread(Protocol):
    """Who does the items of one job together with others elsewhere; see `Run.spread`."""

    def map(self, work: Callable[[A], R], items: Sequence[A]) -> Iterator[R]: ...


class InTurn:
    """One job after the other, each on all cores."""

    def map(self, work: Callable[[A], R], jobs: Sequence[A], done: Callable[[A, R], None] | None = None) -> Iterator[R]:
        return map(_with_end(work, done), jobs)


class SideBySide:
    """As many jobs at a time as there are cores, each on one: faster for jobs that cannot use several.

    In threads: jobs share what they read. A single job has all cores.
    """

    def map(self, work: Callable[[A], R], jobs: Sequence[A], done: Callable[[A, R], None] | None = None) -> Iterator[R]:
        work, threads = _with_end(work, done), n_threads()
        if threads == 1 or len(jobs) < 2:
            yield from map(work, jobs)
            return
        with ThreadPoolExecutor(min(threads, len(jobs)), initializer=_alone) as pool:
            waiting = [pool.submit(work, job) for job in jobs]
            try:
                for future in waiting:
                    yield future.result()
            finally:
                for future in waiting:
                    future.cancel()


def _with_end(work: Callable[[A], R], done: Callable[[A, R], None] | None) -> Callable[[A], R]:
    if done is None:
        return work

    def ended(job: A) -> R:
        result = work(job)
        done(job, result)
        return result

    return ended


def _threads(size: int) -> ThreadPoolExecutor:
    with _pools_lock:
        if size not in _pools:
            _pools[size] = ThreadPoolExecutor(size, "everylabel", initializer=_alone)
        return _pools[size]


def _alone() -> None:
    _this_thread.alone = True


def _after_fork() -> None:
    """The parent's threads are not in the child."""
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
