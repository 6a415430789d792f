"""Requests ranked together: each gets its own, nobody waits for company, and too many are sent away."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence

import pytest

from everylabel.parallel import n_threads
from everylabel.web.batching import MOST_TOGETHER, Batches
from everylabel.web.metrics import Metrics
from everylabel.web.problems import Problem


class Work:
    """Doubles numbers, as slowly as told, and knows what came together."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.go = threading.Event()
        self.go.set()

    def __call__(self, numbers: list[int]) -> list[int]:
        self.go.wait(10)
        self.batches.append(numbers)
        if -1 in numbers:
            raise ValueError("one of them is bad")
        return [2 * number for number in numbers]


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> Iterator[Batches]:
    """On one core, whatever the machine has."""
    monkeypatch.setenv("EVERYLABEL_THREADS", "1")
    found = Batches(Metrics(), most_waiting=100, seconds=5)
    yield found
    found.close()


async def ask(batches: Batches, work: Work, *numbers: int, key: str = "a") -> Sequence[int]:
    return await batches.results(key, work, numbers, 10)


async def held(batches: Batches, work: Work) -> asyncio.Task[Sequence[int]]:
    """A batch that is being worked on until `work.go`."""
    work.go.clear()
    first = asyncio.create_task(ask(batches, work, 0))
    while batches._waiting or not batches._threads:
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.01)
    return first


def test_what_waits_meanwhile_is_one_batch_and_each_gets_its_own(batches: Batches) -> None:
    async def run() -> None:
        work = Work()
        first = await held(batches, work)
        others = [asyncio.create_task(ask(batches, work, i, i + 100)) for i in range(1, 9)]
        await asyncio.sleep(0.02)
        work.go.set()
        assert await first == [0]
        assert [await other for other in others] == [[2 * i, 2 * i + 200] for i in range(1, 9)]
        assert [len(batch) for batch in work.batches] == [1, 16]

    asyncio.run(run())


def test_requests_that_ask_otherwise_are_apart_and_a_request_is_never_divided(batches: Batches) -> None:
    async def run() -> None:
        work = Work()
        first = await held(batches, work)
        tasks = [asyncio.create_task(ask(batches, work, *[i] * 3, key="ab"[i % 2])) for i in range(4)]
        tasks.append(asyncio.create_task(ask(batches, work, *range(MOST_TOGETHER + 5))))
        await asyncio.sleep(0.02)
        work.go.set()
        await asyncio.gather(first, *tasks)
        assert sorted(map(len, work.batches)) == [1, 6, 6, MOST_TOGETHER + 5]

    asyncio.run(run())


def test_a_single_client_waits_for_nobody(batches: Batches) -> None:
    async def run() -> float:
        work = Work()
        await ask(batches, work, 1)
        started = time.perf_counter()
        for number in range(50):
            await ask(batches, work, number)
        return (time.perf_counter() - started) / 50

    assert asyncio.run(run()) < 0.003  # less than the patience with several


def test_a_bad_document_is_not_the_others_fault(batches: Batches) -> None:
    async def run() -> None:
        work = Work()
        first = await held(batches, work)
        good, bad = asyncio.create_task(ask(batches, work, 1)), asyncio.create_task(ask(batches, work, -1))
        await asyncio.sleep(0.02)
        work.go.set()
        assert (await first, await good) == ([0], [2])
        with pytest.raises(ValueError, match="bad"):
            await bad

    asyncio.run(run())


def test_too_many_are_sent_away_and_told_when_to_come_back(batches: Batches) -> None:
    async def run() -> None:
        work = Work()
        first = await held(batches, work)
        waiting = asyncio.create_task(ask(batches, work, *range(99)))
        await asyncio.sleep(0.01)
        with pytest.raises(Problem) as sent_away:
            await ask(batches, work, 1, 2)
        assert sent_away.value.status == 503
        assert int(sent_away.value.headers["Retry-After"]) >= 1
        work.go.set()
        await asyncio.gather(first, waiting)

    asyncio.run(run())


def test_who_gives_up_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERYLABEL_THREADS", "1")
    batches = Batches(Metrics(), most_waiting=100, seconds=0.05)

    async def run() -> None:
        work = Work()
        first = await held(batches, work)
        with pytest.raises(Problem, match="no answer within"):
            await ask(batches, work, 7)
        work.go.set()
        with pytest.raises(Problem):
            await first
        assert await ask(batches, work, 3) == [6]
        assert [7] not in work.batches

    asyncio.run(run())
    batches.close()


def test_closing_answers_what_waits_and_takes_nothing_more(batches: Batches) -> None:
    async def run() -> None:
        work = Work()
        first = await held(batches, work)
        waiting = asyncio.create_task(ask(batches, work, 4))
        await asyncio.sleep(0.01)
        closing = asyncio.create_task(asyncio.to_thread(batches.close))
        await asyncio.sleep(0.01)
        with pytest.raises(Problem, match="stopping"):
            await ask(batches, work, 5)
        work.go.set()
        assert (await first, await waiting) == ([0], [8])
        await closing

    asyncio.run(run())


class Counted:
    """How many threads each batch may use, and how many were in use at a time."""

    def __init__(self) -> None:
        self.in_use, self.most, self.batches = 0, 0, list[tuple[int, int]]()
        self._lock = threading.Lock()

    def __call__(self, numbers: list[int]) -> list[int]:
        with self._lock:
            self.in_use += (own := n_threads())
            self.most = max(self.most, self.in_use)
            self.batches.append((len(numbers), own))
        time.sleep(0.02)
        with self._lock:
            self.in_use -= own
        return numbers


@pytest.mark.parametrize("n_cores", [1, 2, 3])
def test_never_more_threads_than_cores_and_all_of_them_for_who_is_alone(
    n_cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVERYLABEL_THREADS", str(n_cores))
    batches, work = Batches(Metrics(), most_waiting=100, seconds=5), Counted()

    async def client(n: int) -> None:
        for number in range(n):
            assert await batches.results("a", work, [number], 10) == [number]

    async def run() -> None:
        await client(3)
        assert work.batches == [(1, n_cores)] * 3
        work.batches.clear()
        await asyncio.gather(*(client(6) for _ in range(12)))

    asyncio.run(run())
    batches.close()
    assert work.most == n_cores
    steady = work.batches[2 * n_cores : -2 * n_cores]
    if n_cores > 1:
        assert {threads for _, threads in steady} == {1}
    assert sum(size for size, _ in steady) / len(steady) > 0.5 * 12 / n_cores  # nearly a core's share of the clients
