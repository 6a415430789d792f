"""Batches made in a thread: the same ones in the same order, none of them too early."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.train.conftest import Problem, keeping, same

from everylabel.train.ahead import Ahead


class Watched:
    """Batches that say in which thread they were made."""

    def __init__(self) -> None:
        self.made: list[tuple[int, bool]] = []

    def __call__(self, number: int, rng: np.random.Generator) -> tuple[int, float]:
        self.made.append((number, threading.current_thread() is threading.main_thread()))
        return number, rng.random()


class Clustered(Watched):
    """Every third one changes the state."""

    def __init__(self) -> None:
        super().__init__()
        self.state = 0

    def waits(self, number: int) -> bool:
        return number % 3 == 0

    def state_dict(self) -> dict[str, Any]:
        return {"state": self.state}


class Silent(Watched):
    def state_dict(self) -> dict[str, Any]:
        return {}


def taken(batches: Watched, n_ahead: int, n: int = 8) -> list[tuple[int, float]]:
    ahead = Ahead(batches, 5, n_ahead, n)
    found = [ahead.batch(number) for number in range(n)]
    ahead.close()
    return found


@pytest.mark.parametrize("n_ahead", [0, 1, 3])
def test_the_same_batches(n_ahead: int) -> None:
    batches = Watched()
    expected = [(number, np.random.default_rng((5, number)).random()) for number in range(8)]
    assert taken(batches, n_ahead) == expected
    assert sorted(number for number, _ in batches.made) == list(range(8))  # none twice, none beyond the last
    assert [here for _, here in sorted(batches.made)] == [True] + [n_ahead == 0] * 7


def test_what_looks_at_the_weights_waits_for_its_turn() -> None:
    batches = Clustered()
    taken(batches, 4)
    assert [here for _, here in sorted(batches.made)] == [number % 3 == 0 for number in range(8)]


def test_a_state_of_which_nothing_is_said_waits_always() -> None:
    batches = Silent()
    taken(batches, 4)
    assert all(here for _, here in batches.made)


def test_they_are_not_made_before_the_one_that_must_wait() -> None:
    batches = Clustered()
    ahead = Ahead(batches, 5, 6, 100)
    ahead.batch(0)
    ahead.batch(1)
    ahead.close()
    assert {number for number, _ in batches.made} <= {0, 1, 2}


def test_a_mistake_in_the_thread_is_seen() -> None:
    def batches(number: int, _rng: np.random.Generator) -> int:
        if number == 2:
            raise ZeroDivisionError("in batch 2")
        return number

    ahead = Ahead(batches, 5, 2, 10)
    assert [ahead.batch(0), ahead.batch(1)] == [0, 1]
    with pytest.raises(ZeroDivisionError, match="in batch 2"):
        ahead.batch(2)
    ahead.close()


def without_state() -> Problem:
    problem = Problem()
    usual = problem.batches

    def batches(number: int, rng: np.random.Generator) -> Any:
        return type(usual)()(number, rng)  # a fresh one each time

    problem.batches = batches  # type: ignore[assignment]
    return problem


def test_a_training_learns_the_same_and_leaves_no_thread() -> None:
    one, other = without_state(), without_state()
    before = threading.active_count()
    list(one.run())
    list(other.run(batches_ahead=3))
    assert same(one.weights(), other.weights())
    assert threading.active_count() == before


def test_a_training_that_goes_on_has_the_same_batches(tmp_path: Path) -> None:
    expected = without_state()
    list(expected.run())
    with keeping(tmp_path) as run:
        for step in without_state().run(run=run, batches_ahead=2, checkpoint_every=0):
            if step.number == 5:
                break
    resumed = without_state()
    with keeping(tmp_path) as run:
        numbers = [step.number for step in resumed.run(run=run, batches_ahead=0)]
    assert numbers == list(range(6, 13))
    assert same(resumed.weights(), expected.weights())
