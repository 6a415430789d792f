"""What long work is given beside its data: who hears of its progress, where it keeps what is done, who runs its jobs.

A `Run` is handed down as a value, so that two fits in one process, in threads or on other machines do not hear or
overwrite each other. `QUIET` is for those who do not care. `for block in run.steps("training", blocks): ...` reports
each item; `with run.task("tf-idf", total) as advance: advance(n)` where the unit of work is not the item.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from everylabel.parallel import Executor, Spread, parallel_map

if TYPE_CHECKING:
    from everylabel.train.checkpoint import Checkpoints

A = TypeVar("A")
R = TypeVar("R")
T = TypeVar("T")


class Reporter(Protocol):
    """Who hears of progress. Called from several threads where jobs run side by side."""

    def start(self, name: str, total: int | None) -> object: ...

    def advance(self, key: object, amount: int) -> None: ...

    def finish(self, key: object) -> None: ...

    def say(self, message: str) -> None: ...


@dataclass(frozen=True)
class Machines:
    """Where an executor runs jobs, if not here: what a plan has to know of it."""

    at_once: int  # jobs that run at a time
    cores: int  # of a job
    gpu: bool
    about: str  # for people
    memory: float = math.inf  # bytes that a job may take


@dataclass(frozen=True)
class Run:
    """Everything has a default that does nothing."""

    reporter: Reporter | None = None
    checkpoints: Checkpoints | None = None  # None: nothing is kept, an interrupted fit begins anew
    executor: Executor | None = None  # None: here, as suits the job
    machines: Machines | None = None  # those of the executor
    others: Spread | None = None  # who helps with one job, if not only the cores here
    clock: Callable[[], float] = time.monotonic
    shared: dict[int, Any] | None = None  # what jobs on the same documents read of them (text/views.py); of one fit

    @contextmanager
    def task(self, name: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        reporter = self.reporter
        if reporter is None:
            yield _ignore
            return
        key = reporter.start(name, total)
        try:
            yield lambda amount: reporter.advance(key, amount)
        finally:
            reporter.finish(key)

    def steps(self, name: str, items: Iterable[T], total: int | None = None) -> Iterator[T]:
        if total is None and isinstance(items, Sized):
            total = len(items)
        with self.task(name, total) as advance:
            for item in items:
                yield item
                advance(1)

    def spread(self, work: Callable[[A], R], items: Sequence[A]) -> Iterator[R]:
        """`map`, in the order of the items, on all cores: those here, or of others too, who need a function that can be
        sent: one of a module, or a `partial` of it, with what all items share as its keywords."""
        return parallel_map(work, items) if self.others is None else self.others.map(work, items)

    def say(self, message: str) -> None:
        """A line for the user's eyes about what is being done and why."""
        if self.reporter is not None:
            self.reporter.say(message)

    def sharing(self) -> Run:
        """For a fit: its parts share what they read. Inside another fit they share what that one does."""
        return self if self.shared is not None else replace(self, shared={})

    def within(self, name: str) -> Run:
        """For a job: its checkpoints are kept apart from those of others, whatever the order they are made in."""
        return self if self.checkpoints is None else replace(self, checkpoints=self.checkpoints.within(name))

    def __getstate__(self) -> dict[str, Any]:
        """For another process, which reads by itself: documents are others there, whatever their address."""
        return self.__dict__ | {"shared": None if self.shared is None else {}}


def _ignore(_amount: int) -> None:
    """Nobody listens."""


QUIET = Run()
