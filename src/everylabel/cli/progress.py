"""Progress on stderr: a bar with rate and time left on a terminal, plain lines elsewhere, nothing when quiet.

Reporters are told by several threads where jobs run side by side: each call is done as a whole.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from everylabel.cli.printable import printable, printable_lines
from everylabel.run import QUIET, Run

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

WORTH_A_LINE = 1.0  # seconds: shorter work ends without a line about it


@contextmanager
def progress(quiet: bool) -> Iterator[Run]:
    """The run to hand down: its progress is shown until the end of the block."""
    if quiet:
        yield QUIET
    elif sys.stderr.isatty():
        with _bars() as bars:
            yield Run(reporter=BarReporter(bars))
    else:
        yield Run(reporter=LineReporter(sys.stderr))


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
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def start(self, name: str, total: int | None) -> object:
        with self._lock:
            self._started += 1
            self._running[self._started] = _Work(name, total, time.monotonic())
            return self._started

    def advance(self, key: object, amount: int) -> None:
        with self._lock:
            work, now = self._running[_number(key)], time.monotonic()
            work.done += amount
            if now - self._last >= self.every:
                self._last = now
                self.say(work.status(now))

    def finish(self, key: object) -> None:
        with self._lock:
            work, now = self._running.pop(_number(key)), time.monotonic()
            if now - work.started >= WORTH_A_LINE:
                self._last = now
                self.say(work.summary(now))

    def say(self, message: str) -> None:
        with self._lock:
            if not self.stream.closed:  # a reader that an error left open ends when it is collected, maybe long after
                print(printable_lines(message), file=self.stream, flush=True)


@dataclass
class BarReporter:
    """One bar for each running step; a finished one leaves a line when it took noticeably long."""

    bars: Progress
    _running: dict[int, _Work] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)  # of what is here; the bars have their own

    def start(self, name: str, total: int | None) -> object:
        with self._lock:
            key = self.bars.add_task(printable(name), total=total, rate="")  # a bar is drawn before it first advances
            self._running[key] = _Work(name, total, time.monotonic())
            return key

    def advance(self, key: object, amount: int) -> None:
        with self._lock:
            work = self._running[_number(key)]
            work.done += amount
            rate = spoken_rate(work.rate(time.monotonic()))
            self.bars.update(_task_id(_number(key)), advance=amount, rate=rate)

    def finish(self, key: object) -> None:
        with self._lock:
            work, now = self._running.pop(_number(key)), time.monotonic()
            self.bars.remove_task(_task_id(_number(key)))
            if now - work.started >= WORTH_A_LINE:
                self.say(work.summary(now))

    def say(self, message: str) -> None:
        self.bars.console.print(printable_lines(message), markup=False, highlight=False)


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
