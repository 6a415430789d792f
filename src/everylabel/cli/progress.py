"""Progress on stderr: a bar with rate and time left on a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from everylabel.progress import reporting

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

WORTH_A_LINE = 1.0  # seconds: shorter work ends without a line about it


@contextmanager
def progress(quiet: bool) -> Iterator[None]:
    """Show the progress of everything inside the block."""
    if quiet:
        with reporting(None):
            yield
    elif sys.stderr.isatty():
        with _bars() as bars, reporting(BarReporter(bars)):
            yield
    else:
        with reporting(LineReporter(sys.stderr)):
            yield


@dataclass
class _Work:
    name: str
    total: int | None
    started: float
    done: int = 0

    def rate(self, now: float) -> float:
        return self.done / max(now - self.started, 1e-9)

    def summary(self, now: float) -> str:
        return f"{self.name}: {self.done:,} in {spoken_seconds(now - self.started)}"

    def status(self, now: float) -> str:
        rate = self.rate(now)
        if not self.total:
            return f"{self.name}: {self.done:,}, {spoken_rate(rate)}"
        share = f"{self.done:,} of {self.total:,} ({self.done / self.total:.0%})"
        left = spoken_seconds((self.total - self.done) / rate) if self.done else "?"
        return f"{self.name}: {share}, {spoken_rate(rate)}, {left} left"


@dataclass
class LineReporter:
    """Plain lines, at most one every few seconds: what a log file wants."""

    stream: TextIO
    every: float = 5.0
    _running: dict[int, _Work] = field(default_factory=dict)
    _last: float = field(default_factory=time.monotonic)
    _started: int = 0

    def start(self, name: str, total: int | None) -> object:
        self._started += 1
        self._running[self._started] = _Work(name, total, time.monotonic())
        return self._started

    def advance(self, key: object, amount: int) -> None:
        work = self._running[_number(key)]
        work.done += amount
        now = time.monotonic()
        if now - self._last >= self.every:
            self._last = now
            self.say(work.status(now))

    def finish(self, key: object) -> None:
        work = self._running.pop(_number(key))
        now = time.monotonic()
        if now - work.started >= WORTH_A_LINE:
            self._last = now
            self.say(work.summary(now))

    def say(self, message: str) -> None:
        print(message, file=self.stream, flush=True)


@dataclass
class BarReporter:
    """One bar for each running step; a finished one leaves a line when it took noticeably long."""

    bars: Progress
    _running: dict[int, _Work] = field(default_factory=dict)

    def start(self, name: str, total: int | None) -> object:
        key = self.bars.add_task(name, total=total, rate="")  # a bar is drawn before it first advances
        self._running[key] = _Work(name, total, time.monotonic())
        return key

    def advance(self, key: object, amount: int) -> None:
        task = _number(key)
        self._running[task].done += amount
        rate = self._running[task].rate(time.monotonic())
        self.bars.update(_task_id(task), advance=amount, rate=spoken_rate(rate))

    def finish(self, key: object) -> None:
        task = _number(key)
        work, now = self._running.pop(task), time.monotonic()
        self.bars.remove_task(_task_id(task))
        if now - work.started >= WORTH_A_LINE:
            self.say(work.summary(now))

    def say(self, message: str) -> None:
        self.bars.console.print(message, markup=False, highlight=False)


@contextmanager
def _bars() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        yield bars


def spoken_seconds(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def spoken_rate(rate: float) -> str:
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"


def _number(key: object) -> int:
    if not isinstance(key, int):
        raise TypeError(f"expected the key that start() gave, got {key!r}")
    return key


def _task_id(number: int) -> TaskID:
    from rich.progress import TaskID

    return TaskID(number)
