"""Work on all cores: in order, with its errors, without running ahead, and on as many cores as one is told."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pytest

from everylabel.parallel import n_threads, parallel_map

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
    monkeypatch.setenv("EVERYLABEL_THREADS", "2")
    before = threading.active_count()
    results = parallel_map(lambda item: item, range(100))
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before
