"""Work on all cores: in order, with its errors, without running ahead, on as many cores as one is told; by one pool of
threads, whoever asks from wherever."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from everylabel.parallel import (
    Executor,
    InTurn,
    SideBySide,
    for_each_part,
    n_threads,
    one_core,
    parallel_map,
    work_together,
)

THREADS = pytest.mark.parametrize("threads", [1, 2, 4])


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch, threads: int) -> int:
    monkeypatch.setenv("EVERYLABEL_THREADS", str(threads))
    return threads


def test_the_environment_says_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERYLABEL_THREADS", "7")
    assert n_threads() == 7
    monkeypatch.delenv("EVERYLABEL_THREADS")
    assert 1 <= n_threads() <= (os.cpu_count() or 1)


@pytest.mark.parametrize("nonsense", ["", "0", "-2", "many", "1.5", "²"])
def test_nonsense_in_the_environment_is_as_good_as_nothing(nonsense: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVERYLABEL_THREADS", raising=False)
    expected = n_threads()
    monkeypatch.setenv("EVERYLABEL_THREADS", nonsense)
    assert n_threads() == expected


@THREADS
@pytest.mark.usefixtures("use")
def test_results_keep_the_order_of_the_items() -> None:
    def work(item: int) -> int:
        time.sleep(0.002 if item % 3 == 0 else 0)  # later items are done earlier
        return item * item

    assert list(parallel_map(work, range(40))) == [item * item for item in range(40)]
    assert list(parallel_map(work, [])) == []


@THREADS
def test_as_many_threads_as_asked_for(use: int) -> None:
    together = threading.Barrier(use, timeout=10)

    def work(_item: int) -> int:
        together.wait()  # passes only when `use` pieces of work run at once
        return threading.get_ident()

    found = set(parallel_map(work, range(use)))
    assert len(found) == use
    assert (threading.get_ident() in found) == (use == 1)


@THREADS
def test_the_caller_works_too(use: int) -> None:
    together = threading.Barrier(use, timeout=10)

    def work(item: int) -> tuple[int, int]:
        together.wait()
        return item, threading.get_ident()

    found = work_together(work, range(2 * use))
    assert [item for item, _ in found] == list(range(2 * use))
    assert len({thread for _, thread in found}) == use
    assert threading.get_ident() in {thread for _, thread in found}


@THREADS
@pytest.mark.parametrize("bad", [0, 7])
@pytest.mark.usefixtures("use")
def test_an_error_of_anybody_reaches_the_caller_once_all_have_ended(bad: int) -> None:
    running: set[int] = set()

    def work(item: int) -> None:
        running.add(item)
        try:
            time.sleep(0.01)
            if item == bad:
                raise LookupError(f"item {bad}")
        finally:
            running.remove(item)

    with pytest.raises(LookupError, match=f"item {bad}"):
        work_together(work, range(8))
    assert not running


@THREADS
@pytest.mark.usefixtures("use")
def test_an_error_reaches_the_caller_after_the_results_before_it() -> None:
    def work(item: int) -> int:
        if item == 5:
            raise LookupError("item 5")
        return item

    results = parallel_map(work, range(10))
    assert [next(results) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(LookupError, match="item 5"):
        next(results)


@THREADS
@pytest.mark.usefixtures("use")
def test_an_error_of_the_items_reaches_the_caller() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        list(parallel_map(str, items()))


@THREADS
def test_it_does_not_run_far_ahead_of_the_caller(use: int) -> None:
    taken = 0

    def items() -> Iterator[int]:
        nonlocal taken
        for item in range(1000):
            taken += 1
            yield item

    results = parallel_map(lambda item: item, items())
    for done in range(1, 50):
        next(results)
        assert taken - done <= 4 * use
    results.close()  # type: ignore[attr-defined]
    assert taken < 50 + 4 * use


def test_a_caller_that_stops_early_leaves_no_work_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has begun is waited for, as it may write into the caller's arrays; what has not never begins."""
    monkeypatch.setenv("EVERYLABEL_THREADS", "2")
    running: set[int] = set()
    done: list[int] = []

    def work(item: int) -> int:
        running.add(item)
        time.sleep(0.02)
        done.append(item)
        running.remove(item)
        return item

    results = parallel_map(work, range(100))
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]
    assert not running
    n_done = len(done)
    time.sleep(0.1)
    assert len(done) == n_done < 10


def test_an_error_waits_for_what_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERYLABEL_THREADS", "2")
    written: list[int] = []

    def work(item: int) -> None:
        if item == 0:
            raise LookupError("item 0")
        time.sleep(0.1)
        written.append(item)

    with pytest.raises(LookupError, match="item 0"):
        list(parallel_map(work, range(2)))
    assert written in ([1], [])
    n_written = len(written)
    time.sleep(0.15)
    assert len(written) == n_written


# --- one pool


def workers(n_items: int = 40) -> set[int]:
    return set(parallel_map(lambda _: (time.sleep(0.002), threading.get_ident())[1], range(n_items)))  # type: ignore[func-returns-value]


def test_one_pool_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """By all calls, from all threads: no more threads than cores, and none is started for a call."""
    monkeypatch.setenv("EVERYLABEL_THREADS", "3")
    first = workers()
    assert 1 < len(first) <= 3
    n_alive = threading.active_count()
    with ThreadPoolExecutor(8) as callers:
        found = set().union(*callers.map(lambda _: workers(), range(24)))
    assert len(first | found) <= 3
    assert threading.active_count() == n_alive


def test_another_number_of_cores_is_another_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    for n in (2, 4, 2):
        monkeypatch.setenv("EVERYLABEL_THREADS", str(n))
        assert len(workers()) <= n


def test_the_number_that_other_libraries_obey_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVERYLABEL_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert n_threads() == 5
    assert len(workers()) <= 5
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert workers() == {threading.get_ident()}
    monkeypatch.setenv("EVERYLABEL_THREADS", "2")  # ours is asked first
    assert n_threads() == 2
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    monkeypatch.delenv("EVERYLABEL_THREADS")
    assert n_threads() >= 1


def nested(depth: int) -> int:
    """Work in work: 3 items a level."""
    if depth == 0:
        time.sleep(0.001)
        return 1
    return sum(parallel_map(lambda _: nested(depth - 1), range(3)))


@THREADS
@pytest.mark.usefixtures("use")
@pytest.mark.timeout(30)
def test_work_inside_work_does_not_wait_for_itself() -> None:
    """More pieces than threads, each of which asks for threads: a pool that waited for its own would stand still."""
    assert nested(4) == 81
    with ThreadPoolExecutor(8) as callers:
        assert list(callers.map(nested, [3] * 8)) == [27] * 8
    assert list(SideBySide().map(nested, [2, 3, 2, 3])) == [9, 27, 9, 27]
    inside = list(parallel_map(lambda _: list(SideBySide().map(nested, [1, 2])), range(4)))
    assert inside == [[3, 9]] * 4


@pytest.mark.timeout(30)
def test_a_worker_works_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """On one core, in its own thread: others have the other cores."""
    monkeypatch.setenv("EVERYLABEL_THREADS", "3")
    assert set(parallel_map(lambda _: n_threads(), range(6))) == {1}
    assert set(SideBySide().map(lambda _: n_threads(), [1, 2])) == {1}
    assert list(SideBySide().map(lambda _: n_threads(), [1])) == [3]  # a single job has all cores
    assert list(InTurn().map(lambda _: n_threads(), [1, 2])) == [3, 3]
    with one_core():
        assert n_threads() == 1
        assert workers() == {threading.get_ident()}
        with one_core():
            pass
        assert n_threads() == 1
    assert n_threads() == 3
    with pytest.raises(LookupError), one_core():
        raise LookupError
    assert n_threads() == 3


@THREADS
@pytest.mark.usefixtures("use")
@pytest.mark.parametrize("size", [0, 1, 2, 3, 10])
def test_each_part_is_worked_on_once(size: int) -> None:
    done = [0] * size

    def work(first: int, last: int) -> None:
        for at in range(first, last):
            done[at] += 1

    for_each_part(size, work)
    assert done == [1] * size


# --- jobs


@pytest.mark.parametrize("executor", [InTurn(), SideBySide()])
def test_jobs_in_their_order_with_their_errors(executor: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERYLABEL_THREADS", "3")
    begun: list[int] = []

    def work(job: int) -> int:
        begun.append(job)
        time.sleep(0.01 * (5 - job))
        if job == 2:
            raise LookupError("job 2")
        return job * job

    assert list(executor.map(work, [0, 1, 3, 4])) == [0, 1, 9, 16]
    assert list(executor.map(work, [])) == []
    results = executor.map(work, list(range(5)))
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(LookupError, match="job 2"):
        next(results)


def test_side_by_side_is_as_many_at_a_time_as_there_are_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERYLABEL_THREADS", "2")
    together, now, most = threading.Barrier(2, timeout=10), [0], [0]

    def work(job: int) -> int:
        now[0] += 1
        most[0] = max(most[0], now[0])
        together.wait()  # passes only when two run at once
        now[0] -= 1
        return job

    assert list(SideBySide().map(work, [1, 2, 3, 4])) == [1, 2, 3, 4]
    assert most == [2]


# --- other processes


def in_child(work: Callable[[], Any]) -> Any:
    """What `work` returns in a forked process; an error where it hangs."""
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    process = context.Process(target=lambda: queue.put(work()))
    process.start()
    process.join(30)
    hangs = process.is_alive()
    process.kill()
    process.join()
    assert not hangs
    assert process.exitcode == 0
    return queue.get()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.timeout(60)
def test_a_forked_child_makes_a_pool_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parent's threads are not there; who waited for them would wait for ever."""
    monkeypatch.setenv("EVERYLABEL_THREADS", "2")
    parents = workers()
    assert len(parents) == 2
    assert in_child(lambda: sorted(parallel_map(lambda item: item * item, range(20)))) == [i * i for i in range(20)]
    assert in_child(lambda: len(workers())) == 2
    assert in_child(lambda: in_child(lambda: nested(3))) == 27
    assert workers() == parents  # who goes on with its own


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.timeout(60)
def test_a_fork_in_the_middle_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERYLABEL_THREADS", "2")
    results = parallel_map(lambda item: (time.sleep(0.02), item)[1], range(12))  # type: ignore[func-returns-value]
    assert next(results) == 0
    assert in_child(lambda: list(parallel_map(str, range(4)))) == ["0", "1", "2", "3"]
    assert list(results) == list(range(1, 12))
