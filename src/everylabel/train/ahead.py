"""Batches that are made in a thread while a step is computed: a GPU does not wait for them. Each is the same as ever.

Batches with a state may say which ones change it or look at the weights, `waits(number)`: those are made when it is
their turn, as all are of batches that have a state and do not say. The others depend on their number alone.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from everylabel.parallel import one_core

Batches = Callable[[int, np.random.Generator], Any]


class Ahead:
    """`batch(number)`, in order; `close` at the end. Memory: so many batches more."""

    def __init__(self, batches: Batches, seed: int, n_ahead: int, last: int) -> None:
        self.batches, self.seed, self.last = batches, seed, last
        self.n_ahead = 0 if hasattr(batches, "state_dict") and not hasattr(batches, "waits") else n_ahead
        self._made: dict[int, Future[Any]] = {}
        self._thread: ThreadPoolExecutor | None = None

    def batch(self, number: int) -> Any:
        future = self._made.pop(number, None)
        found = self._make(number) if future is None else future.result()
        self._ask(number + 1)
        return found

    def close(self) -> None:
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)
            self._thread = None
        self._made.clear()

    def _make(self, number: int) -> Any:
        return self.batches(number, np.random.default_rng((self.seed, number)))

    def _make_alone(self, number: int) -> Any:
        with one_core():
            return self._make(number)

    def _ask(self, first: int) -> None:
        """For the next ones, up to the first that must wait for the step before it."""
        for number in range(first, min(first + self.n_ahead, self.last)):
            if self._waits(number):
                return
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, "everylabel-batches")
            if number not in self._made:
                self._made[number] = self._thread.submit(self._make_alone, number)

    def _waits(self, number: int) -> bool:
        return bool(self.batches.waits(number)) if hasattr(self.batches, "waits") else False
