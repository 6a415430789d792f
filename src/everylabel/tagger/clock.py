"""The budget of a fit: what its stages took, and whether there is time for one more.

Estimates are corrected while fitting: a stage takes as many times its estimate as the stages of its kind before it did
(a machine may be busy in what needs memory, and not in what needs a GPU), and as all stages did where there were few.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

LATE = 1.1  # of the budget: a stage that would end later is left out
TRUSTED = 10.0  # seconds of a kind by estimate that say as much of it as all stages together


@dataclass
class Watched:
    """A stage. What a run before this one has spent on it is a part of its cost, and says nothing of its speed."""

    before: float = 0.0


class Clock:
    """`costs`: seconds of each stage, filled as they end."""

    def __init__(self, budget: float, costs: dict[str, float], now: Callable[[], float] = time.monotonic) -> None:
        self.budget, self.costs, self._now = budget, costs, now
        self._started = now()
        self._planned: defaultdict[str, float] = defaultdict(
            float
        )  # seconds of stages that had an estimate, by their kinds
        self._spent: defaultdict[str, float] = defaultdict(float)

    @property
    def seconds(self) -> float:
        return self._now() - self._started

    @contextmanager
    def watch(self, stage: str, planned: float = 0.0, kind: str = "") -> Iterator[Watched]:
        started, watched = self._now(), Watched()
        yield watched
        spent = self._now() - started
        self.costs[stage] = round(spent + watched.before, 2)
        if planned > 0 and not watched.before:
            self._planned[kind] += planned
            self._spent[kind] += spent

    def slower(self, kind: str = "") -> float:
        """How many times its estimate a stage of this kind takes; 1 until something is known."""
        overall = (1 + sum(self._spent.values())) / (1 + sum(self._planned.values()))
        return (TRUSTED * overall + self._spent[kind]) / (TRUSTED + self._planned[kind])

    def has_time_for(self, planned: float, rest: float = 0.0, kind: str = "") -> bool:
        """For a stage of so many seconds by estimate and what must come after it."""
        return self.seconds + planned * self.slower(kind) + rest * self.slower() <= LATE * self.budget
