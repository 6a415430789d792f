"""Progress of long work. Silent unless a caller (the command line) opens `reporting(...)`; kernels never print.

`for block in steps("training", blocks): ...` reports each item; `with task("tf-idf", total) as advance: advance(n)`
where the unit of work is not the item. A reporter is any object with `start`, `advance` and `finish`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

T = TypeVar("T")


class Reporter(Protocol):
    def start(self, name: str, total: int | None) -> object: ...

    def advance(self, key: object, amount: int) -> None: ...

    def finish(self, key: object) -> None: ...

    def say(self, message: str) -> None: ...


_reporter: ContextVar[Reporter | None] = ContextVar("reporter", default=None)


@contextmanager
def reporting(reporter: Reporter | None) -> Iterator[None]:
    token = _reporter.set(reporter)
    try:
        yield
    finally:
        _reporter.reset(token)


@contextmanager
def task(name: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    reporter = _reporter.get()
    if reporter is None:
        yield lambda _amount: None
        return
    key = reporter.start(name, total)
    try:
        yield lambda amount: reporter.advance(key, amount)
    finally:
        reporter.finish(key)


def steps(name: str, items: Iterable[T], total: int | None = None) -> Iterator[T]:
    if total is None and isinstance(items, Sized):
        total = len(items)
    with task(name, total) as advance:
        for item in items:
            yield item
            advance(1)


def say(message: str) -> None:
    """A line for the user's eyes about what is being done and why."""
    reporter = _reporter.get()
    if reporter is not None:
        reporter.say(message)
