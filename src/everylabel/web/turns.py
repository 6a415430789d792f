"""Long work of requests, one after the other, beside the threads that all short work shares.

A file may take half a minute, the first question about a language half a second: eight of them at once, and nobody else
would have a thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from everylabel.web.problems import busy

T = TypeVar("T")


class Turns:
    """`most`: how many wait or are worked for; more are sent away with 503."""

    def __init__(self, most: int, seconds: float) -> None:
        self._most, self._seconds, self._n = most, seconds, 0
        self._one = CapacityLimiter(1)

    async def run(self, work: Callable[[], T]) -> T:
        if self._n >= self._most:
            raise busy(f"{self._n} others wait for this; ask again later", self._n * self._seconds)
        self._n += 1
        try:
            return await run_sync(work, limiter=self._one)
        finally:
            self._n -= 1
