"""Ctrl-C while a step is computed: it waits for the end of the step, once, and what the process does with it stays."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from everylabel.train.interrupt import interrupts_held


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def step(signals: int, done: list[str]) -> None:
    """With as many Ctrl-C in its middle."""
    with interrupts_held():
        for _ in range(signals):
            signal.raise_signal(signal.SIGINT)
        done.append("the rest of the step")


def test_it_waits_for_the_end() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        step(1, done)
    assert done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_one_does_not_wait() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        step(2, done)
    assert not done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("ignored", [signal.SIG_IGN, lambda *_: None])
def test_where_it_is_ignored_it_stays_so(ignored: Any) -> None:
    """A background job, or a program that has its own use for it: nothing stops, and the handler is the same after."""
    done: list[str] = []
    signal.signal(signal.SIGINT, ignored)
    step(2, done)
    assert done
    assert signal.getsignal(signal.SIGINT) is ignored


def test_a_program_that_has_its_own_handler_hears_it_at_the_end() -> None:
    heard: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    with interrupts_held():
        signal.raise_signal(signal.SIGINT)
        waited = not heard
    assert waited
    assert heard == [signal.SIGINT]


def test_other_threads_have_nothing_to_hold() -> None:
    entered = []

    def work() -> None:
        with interrupts_held():
            entered.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert entered == [signal.default_int_handler]
