"""Independent pieces of compiled work on all cores. The kernels release the interpreter lock, so threads are enough."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

A = TypeVar("A")
R = TypeVar("R")


def n_threads() -> int:
    """The cores this process may use; EVERYLABEL_THREADS overrides it (a shared server, a benchmark on one core)."""
    chosen = os.environ.get("EVERYLABEL_THREADS", "")
    if chosen.isdecimal() and int(chosen) > 0:
        return int(chosen)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def parallel_map(work: Callable[[A], R], items: Iterable[A]) -> Iterator[R]:
    """`map` on all cores, results in order; at most a few items are ahead of the caller, so memory stays bounded."""
    threads = n_threads()
    if threads == 1 or (isinstance(items, Sized) and len(items) < 2):  # threads cost more than a small piece of work
        yield from map(work, items)
        return
    with ThreadPoolExecutor(threads) as pool:
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


def for_each_part(size: int, work: Callable[[int, int], None]) -> None:
    """`work(first, last)` on one part of 0..size for each core."""
    n_parts = min(n_threads(), max(size, 1))
    edges = [size * i // n_parts for i in range(n_parts + 1)]
    for _ in parallel_map(lambda edge: work(*edge), list(pairwise(edges))):
        pass
