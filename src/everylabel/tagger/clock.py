"""The budget of a fit: what its stages took, and whether there is time for one more."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

LATE = 1.1  # of the budget: a stage that would end later is left out


class Clock:
    """`costs`: seconds of each stage, filled as they end."""

    def __init__(self, budget: float, costs: dict[str, float]) -> None:
        self.budget, self.costs = budget, costs
        self._started = time.monotonic()
        self._planned = self._spent = 1.0  # seconds of stages that had an estimate: as fast as planned, until known

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    @contextmanager
    def watch(self, stage: str, planned: float = 0.0) -> Iterator[None]:
        started = time.monotonic()
        yield
        spent = time.monotonic() - started
        self.costs[stage] = round(spent, 2)
        if planned > 0:
            self._planned += planned
            self._spent += spent

    def has_time_for(self, planned: float, rest: float = 0.0) -> bool:
        """For a stage of so many seconds by estimate and what must come after it, as fast as the stages before were."""
        return self.seconds + (planned + rest) * self._spent / self._planned <= LATE * self.budget
