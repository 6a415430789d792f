"""The check of a model that has learned: how often it refuses one that is as good, and finds one that is worse."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from everylabel.feedback.check import ALPHA, LEAST, Check, Compared, compared
from everylabel.metrics.ranking import Ratio
from everylabel.metrics.significance import sign_flip_test

TRIALS = 200
Draw = Callable[[np.random.Generator, int], tuple[Ratio, Ratio]]


def drawn(loss: float, changed: float = 0.5, spread: float = 0.2) -> Draw:
    """nDCG@5 of documents before and after learning, which changes half of them, and costs so much in the mean."""

    def draw(rng: np.random.Generator, n: int) -> tuple[Ratio, Ratio]:
        before = rng.beta(2, 1, n)
        after = before + np.where(rng.random(n) < changed, rng.normal(-loss / changed, spread, n), 0)
        return Ratio(after, np.ones(n)), Ratio(before, np.ones(n))

    return draw


def refused(draw: Draw, n: int, questions: int = 1) -> float:
    """The share of trials; several questions at a time have documents of their own, which is the worst case."""
    rng = np.random.default_rng(n)

    def answer() -> Compared:
        return Compared(n, 0, 0, 0, 0, sign_flip_test(*draw(rng, n), n_resamples=1_000))

    return sum(bool(Check({str(i): answer() for i in range(questions)}).worse) for _ in range(TRIALS)) / TRIALS


@pytest.mark.parametrize("questions", [1, 3])
@pytest.mark.parametrize("n", [LEAST, 8, 12, 60, 200])
def test_one_that_is_as_good_is_taken(n: int, questions: int) -> None:
    """Whatever the number of documents: refused in 5 % of the cases at most, up to the chance of 200 trials."""
    chance = 3 * np.sqrt(ALPHA * (1 - ALPHA) / TRIALS)
    assert refused(drawn(0), n, questions) <= ALPHA + chance
    assert refused(_lopsided, n, questions) <= 2 * ALPHA + chance


def _lopsided(rng: np.random.Generator, n: int) -> tuple[Ratio, Ratio]:
    """As good in the mean: few documents lose much, many gain a little."""
    after = np.where(rng.random(n) < 0.2, -0.4, 0.1)
    return Ratio(after, np.ones(n)), Ratio(np.zeros(n), np.ones(n))


@pytest.mark.parametrize(
    ("n", "loss", "least"), [(12, 0.2, 0.7), (60, 0.05, 0.6), (60, 0.1, 0.95), (200, 0.03, 0.6), (200, 0.05, 0.95)]
)
def test_one_that_is_worse_is_refused(n: int, loss: float, least: float) -> None:
    """The more documents, the smaller a loss that is found: 50 decisions find 5 points in most cases, 200 find 3."""
    assert refused(drawn(loss), n) >= least


def test_one_that_is_better_is_taken() -> None:
    assert max(refused(drawn(-0.05), n) for n in (8, 60, 200)) <= 0.02


def test_the_fewest_that_are_asked_can_refuse() -> None:
    """Also as one of three questions; one document less could not."""
    for n, refuses in ((LEAST, True), (LEAST - 1, False)):
        p = sign_flip_test(Ratio(np.full(n, 0.2), np.ones(n)), Ratio(np.full(n, 0.6), np.ones(n)))
        same = Compared(n, 0, 0, 0, 0, 1.0)
        assert bool(Check({"a": Compared(n, 0, 0, 0, 0, p), "b": same, "c": same}).worse) == refuses


def test_too_few_documents_say_nothing() -> None:
    few = Ratio(np.zeros(LEAST - 1), np.ones(LEAST - 1))
    assert compared(few, few) is None
    empty = Ratio(np.zeros(20), np.r_[np.ones(LEAST - 1), np.zeros(21 - LEAST)])  # of documents without labels
    assert compared(empty, empty) is None
    assert Check({}).worse == []
    assert Check({}).shown is None


def test_a_loss_is_told_by_the_question_that_found_it() -> None:
    n = 20
    good, bad = Ratio(np.full(n, 0.5), np.ones(n)), Ratio(np.full(n, 0.3), np.ones(n))
    first, second = compared(good, good), compared(bad, good)
    assert first is not None
    assert second is not None
    found = Check({"held out": first, "since the start": second})
    assert found.worse == ["since the start"]
    assert found.shown == second
    assert second.p_worse < 1e-3
    assert Check({"held out": first}).shown == first
