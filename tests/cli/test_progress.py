"""Progress: lines that are few and say enough, bars on a terminal, nothing when quiet."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from rich.console import Console
from rich.progress import Progress, TextColumn

from everylabel.cli import progress as cli_progress
from everylabel.cli.progress import BarReporter, LineReporter, progress, spoken_rate, spoken_seconds
from everylabel.run import Run


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(cli_progress, "time", clock)
    return clock


def test_lines_are_few_and_have_rate_and_time_left(clock: Clock) -> None:
    out = io.StringIO()
    with Run(reporter=LineReporter(out, every=5.0, _last=0.0)).task("training", 160) as advance:
        for _ in range(80):
            clock.now += 0.125
            advance(2)
    assert out.getvalue().splitlines() == [
        "training: 80 of 160 (50%), 16/s, 5.0 s left",
        "training: 160 of 160 (100%), 16/s, 0.0 s left",
        "training: 160 in 10 s",
    ]


def test_short_work_leaves_no_line(clock: Clock) -> None:
    out = io.StringIO()
    run = Run(reporter=LineReporter(out))
    for _ in run.steps("quick", range(10)):
        clock.now += 0.01
    run.say("a remark")
    assert out.getvalue() == "a remark\n"


def test_work_of_unknown_size(clock: Clock) -> None:
    out = io.StringIO()
    with Run(reporter=LineReporter(out, every=1.0, _last=0.0)).task("tagging") as advance:
        clock.now += 2
        advance(1000)
    assert out.getvalue().splitlines()[0] == "tagging: 1,000, 500/s"


def test_bars_advance_and_go(clock: Clock) -> None:
    out = io.StringIO()
    bars = Progress(TextColumn("{task.description}"), console=Console(file=out))
    with Run(reporter=BarReporter(bars)).task("training [x]", 3) as advance:
        clock.now += 2
        advance(3)
        assert (bars.tasks[0].completed, bars.tasks[0].fields["rate"]) == (3, "1.5/s")
    assert bars.tasks == []
    assert out.getvalue() == "training [x]: 3 in 2.0 s\n"


def test_the_bars_of_a_terminal_can_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: True)
    monkeypatch.setattr("sys.stderr", out)
    monkeypatch.setenv("TERM", "xterm")
    with progress(quiet=False) as run, run.task("training", 3) as advance:
        time.sleep(0.15)  # one refresh
        advance(1)
    assert "training" in out.getvalue()


def test_quiet_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(quiet=True) as run:
        run.say("a remark")
    assert capsys.readouterr() == ("", "")


class SlowStream(io.StringIO):
    """Another thread may come between any two writes."""

    def write(self, text: str) -> int:
        time.sleep(0.001)
        return super().write(text)


def side_by_side(work: Callable[[int], None]) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))


def test_lines_of_jobs_side_by_side_are_not_mixed() -> None:
    out = SlowStream()
    run = Run(reporter=LineReporter(out))
    side_by_side(lambda number: run.say(f"job {number} says something"))
    assert sorted(out.getvalue().splitlines()) == [f"job {number} says something" for number in range(4)]


@pytest.mark.parametrize("kind", ["lines", "bars"])
def test_jobs_side_by_side_count_what_is_done(kind: str) -> None:
    bars = Progress(TextColumn("{task.description}"), console=Console(file=io.StringIO()), disable=True)
    reporter = LineReporter(io.StringIO()) if kind == "lines" else BarReporter(bars)
    shared = reporter.start("shared", 400)

    def work(_: int) -> None:
        own = reporter.start("own", 100)
        for _ in range(100):
            reporter.advance(shared, 1)
            reporter.advance(own, 1)
        reporter.finish(own)

    side_by_side(work)
    assert [one.done for one in reporter._running.values()] == [400]


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.04, "0.0 s"), (9.94, "9.9 s"), (59, "59 s"), (61, "1 min 1 s"), (7320, "2 h 2 min")]
)
def test_seconds(seconds: float, words: str) -> None:
    assert spoken_seconds(seconds) == words


def test_rates() -> None:
    assert (spoken_rate(0.5), spoken_rate(12345.6)) == ("0.5/s", "12,346/s")
