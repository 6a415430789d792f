"""The budget of a fit: what its stages took, and whether there is time for one more."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

LATE = 1.1  # of the budget: a stage that would end later is left out


@dataclass
class Watched:
    """A stage. What a run before this one has spent on it is a part of its cost, and says nothing of its speed."""

    before: float = 0.0


class Clock:
    """`costs`: seconds of each stage, filled as they end."""

    def __init__(self, budget: float, costs: dict[str, float], now: Callable[[], float] = time.monotonic) -> None:
        self.budget, self.costs, self._now = budget, costs, now
        self._started = now()
        self._planned = self._spent = 1.0  # seconds of stages that had an estimate: as fast as planned, until known

    @property
    def seconds(self) -> float:
        return self._now() - self._started

    @contextmanager
    def watch(self, stage: str, planned: float = 0.0) -> Iterator[Watched]:
        started, watched = self._now(), Watched()
        yield watched
        spent = self._now() - started
        self.costs[stage] = round(spent + watched.before, 2)
        if planned > 0 and not watched.before:
            self._planned += planned
            self._spent += spent

    def has_time_for(self, planned: float, rest: float = 0.0) -> bool:
        """For a stage of so many seconds by estimate and what must come after it, as fast as the stages before were."""
        return self.seconds + (planned + rest) * self._spent / self._planned <= LATE * self.budget
