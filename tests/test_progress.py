"""Progress: silent by default, and every task that was started is finished, whatever happens in it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import suppress

import pytest

from everylabel.progress import reporting, say, steps, task


class Recorder:
    """A reporter that writes down what it is told."""

    def __init__(self) -> None:
        self.said: list[tuple[object, ...]] = []
        self._keys = itertools.count()

    def start(self, name: str, total: int | None) -> object:
        key = next(self._keys)
        self.said.append(("start", key, name, total))
        return key

    def advance(self, key: object, amount: int) -> None:
        self.said.append(("advance", key, amount))

    def finish(self, key: object) -> None:
        self.said.append(("finish", key))

    def say(self, message: str) -> None:
        self.said.append(("say", message))


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    recorder = Recorder()
    with reporting(recorder):
        yield recorder


def test_nothing_is_said_to_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    say("hello")
    assert list(steps("work", [1, 2])) == [1, 2]
    with task("work", 3) as advance:
        advance(3)
    assert capsys.readouterr() == ("", "")


def test_a_task(recorder: Recorder) -> None:
    with task("work", 5) as advance:
        advance(2)
        say("half way")
        advance(3)
    assert recorder.said == [
        ("start", 0, "work", 5),
        ("advance", 0, 2),
        ("say", "half way"),
        ("advance", 0, 3),
        ("finish", 0),
    ]


def test_steps_know_their_number_where_there_is_one(recorder: Recorder) -> None:
    assert list(steps("sized", [7, 8])) == [7, 8]
    assert list(steps("stream", iter([7]))) == [7]
    assert list(steps("told", iter([7]), total=9)) == [7]
    assert [line[2:] for line in recorder.said if line[0] == "start"] == [("sized", 2), ("stream", None), ("told", 9)]
    assert recorder.said[:4] == [("start", 0, "sized", 2), ("advance", 0, 1), ("advance", 0, 1), ("finish", 0)]


def test_a_step_counts_when_it_is_done(recorder: Recorder) -> None:
    items = steps("work", [7, 8])
    next(items)
    assert recorder.said == [("start", 0, "work", 2)]
    next(items)
    assert recorder.said[1:] == [("advance", 0, 1)]
    items.close()  # type: ignore[attr-defined]
    assert recorder.said[2:] == [("finish", 0)]


def test_tasks_inside_tasks(recorder: Recorder) -> None:
    for _ in steps("outer", "a"):
        list(steps("inner", "b"))
    assert [line[:2] for line in recorder.said] == [
        ("start", 0),
        ("start", 1),
        ("advance", 1),
        ("finish", 1),
        ("advance", 0),
        ("finish", 0),
    ]


def test_an_error_finishes_the_task(recorder: Recorder) -> None:
    with pytest.raises(LookupError), task("work"):
        raise LookupError
    assert recorder.said == [("start", 0, "work", None), ("finish", 0)]


def test_reporters_nest_and_end() -> None:
    outer, inner = Recorder(), Recorder()
    with reporting(outer):
        with suppress(LookupError), reporting(inner):
            say("inner")
            raise LookupError
        with reporting(None):
            say("nobody")
        say("outer")
    say("nobody")
    assert inner.said == [("say", "inner")]
    assert outer.said == [("say", "outer")]
