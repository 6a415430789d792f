"""Documents whose tags are least certain come first."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everylabel.feedback.review import doubt
from everylabel.types import Ranking


def ranking(*rows: list[float]) -> Ranking:
    scores = np.array(rows, np.float32)
    return Ranking(np.where(np.isfinite(scores), np.arange(scores.shape[1]), -1).astype(np.int32), scores)


def test_the_less_certain_the_more_doubtful() -> None:
    found = doubt(ranking([1, 1, 0], [0.95, 0.9, 0.01], [0.6, 0.5, 0.5], [0.2, 0.1, 0.1], [-np.inf, -np.inf, -np.inf]))
    assert found[0] == pytest.approx(0, abs=1e-9)
    assert (np.diff(found) > 0).all()
    assert found[-1] == 1


def test_many_certain_labels_are_no_doubt() -> None:
    """Entropy would put the second first."""
    many, few = [0.99] * 10, [0.5] + [0.0] * 9
    assert doubt(ranking(many))[0] < doubt(ranking(few))[0]


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=40))
def test_from_0_to_1(probabilities: list[float]) -> None:
    (found,) = doubt(ranking(sorted(probabilities, reverse=True)))
    assert 0 <= found <= 1


def test_nothing_is_ranked() -> None:
    assert doubt(Ranking(np.empty((2, 0), np.int32), np.empty((2, 0), np.float32))).tolist() == [1, 1]
