"""One job done by several machines: items of it that do not depend on each other, as tasks beside the job's own.

Only where that is worth it, which is measured: the first items are done by the job itself, for a moment, and if the
rest would take it seconds, the rest is handed out, neighbours together. A job that waits for others leaves its core to
them, so there are never more at work than there are cores. Results are those of one machine, in the order of the items.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from everylabel.distributed.cluster import cluster
from everylabel.distributed.executor import Needs, OnRay
from everylabel.parallel import parallel_map

A = TypeVar("A")
R = TypeVar("R")

TRIED = 0.3  # seconds after which it is known how long items take
WORTH = 3.0  # seconds of one core, from which on a rest is handed out
PARTS = 3  # a core: the last ones keep few cores waiting
LEAST = 1.0  # seconds of a part, beside which its way there and back is little


class Part(NamedTuple):
    """Items that are neighbours."""

    label: str
    items: Sequence[Any]


class Others:
    """For the run of a job (`Run.others`), in a worker. `name`: of the job; its parts are seen under it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def map(self, work: Callable[[A], R], items: Sequence[A]) -> Iterator[R]:
        began, done = time.monotonic(), 0
        while done < len(items) and (done == 0 or time.monotonic() - began < TRIED):
            yield work(items[done])
            done += 1
        taken, left = time.monotonic() - began, items[done:]
        seconds = taken / max(done, 1) * len(left)
        if len(left) < 2 or seconds < WORTH:
            yield from parallel_map(work, left)
            return
        yield from self._handed_out(work, left, seconds)

    def _handed_out(self, work: Callable[[A], R], items: Sequence[A], seconds: float) -> Iterator[R]:
        n = max(2, min(len(items), PARTS * cluster().cores, int(seconds / LEAST)))
        edges = [len(items) * i // n for i in range(n + 1)]
        parts = [Part(f"{self._name}-part-{i}", items[edges[i] : edges[i + 1]]) for i in range(n)]
        given = work if isinstance(work, partial) else partial(work)
        executor = OnRay(_one_core, None, part_of_job=True)
        try:
            for found in executor.map(partial(_one_by_one, given.func, *given.args, **given.keywords), parts):
                yield from found
        finally:
            executor.close()


def _one_core(_part: Part, _given: Any) -> Needs:
    return Needs(1)


def _one_by_one(*given: Any, **keywords: Any) -> list[Any]:
    """The function, what it is given first, and the part. By one core."""
    function, *first, part = given
    return [function(*first, item, **keywords) for item in part.items]
