"""Another order than by probability: rare and unseen labels come earlier, and scores stay what they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from everylabel.data.dataset import pairs_from_lists
from everylabel.tagger import order as module
from everylabel.tagger.order import FIRST_PLACES, best_rare_weight, favoured, interleaved, only_new
from everylabel.types import FloatArray, Ranking


def ranked(scores: FloatArray) -> Ranking:
    """Some labels are not there."""
    ids = np.broadcast_to(np.arange(scores.shape[1], dtype=np.int32), scores.shape)
    return Ranking.best_of(np.where(scores > 0, ids, -1), scores, scores.shape[1])


def made_up(seed: int, n: int, share: float) -> tuple[Ranking, NDArray[np.bool_]]:
    rng = np.random.default_rng(seed)
    scores = (rng.permutation(3 * n) / (3 * n)).astype(np.float32).reshape(3, n)
    return ranked(scores), rng.random(n) < share


@settings(deadline=None)
@given(seed=st.integers(0, 1_000), n=st.integers(1, 40), share=st.floats(0, 1))
def test_labels_without_documents_have_places_of_their_own(seed: int, n: int, share: float) -> None:
    before, unseen = made_up(seed, n, share)
    found = interleaved(before, np.where(unseen, 0, 7), 0.0, n)
    for row in range(3):
        was, now = ([label for label in one.ids[row].tolist() if label >= 0] for one in (before, found))
        assert dict(zip(now, found.scores[row].tolist(), strict=False)) == dict(
            zip(was, before.scores[row].tolist(), strict=False)
        )  # a probability does not depend on its place
        own = [label for label in was if unseen[label]]
        assert [label for label in now if unseen[label]] == own
        assert [label for label in now if not unseen[label]] == [label for label in was if not unseen[label]]
        for u, label in enumerate(own, start=1):
            latest = FIRST_PLACES + 2 * u if u <= 7 else 20 + (u - 7) + (u - 7) // 3
            assert now.index(label) + 1 <= max(latest, len(was) - len(own) + u)
            assert now.index(label) <= was.index(label)
        assert now[:FIRST_PLACES] == was[:FIRST_PLACES]


@pytest.mark.parametrize("k", [1, 5, 60])
def test_the_first_ones(k: int) -> None:
    before, unseen = made_up(1, 40, 0.5)
    counts = np.where(unseen, 0, 7)
    found = interleaved(before, counts, 0.1, k)
    assert found.ids.shape == found.scores.shape == (3, k)
    whole = interleaved(before, counts, 0.1, 40).top(k)
    np.testing.assert_array_equal(found.ids, whole.ids)
    np.testing.assert_array_equal(found.scores, whole.scores)


def test_rare_labels_come_before_frequent_ones_that_are_hardly_more_probable() -> None:
    before = ranked(np.array([[0.50, 0.49, 0.2]], np.float32))
    counts = np.array([1_000, 5, 2])
    assert interleaved(before, counts, 0.0, 3).ids.tolist() == [[0, 1, 2]]
    found = interleaved(before, counts, 0.1, 3)
    assert found.ids.tolist() == [[1, 0, 2]]
    np.testing.assert_allclose(found.scores, [[0.49, 0.50, 0.2]])
    odds = favoured(np.array([0.0, 1.0], np.float32), np.array([3, 0]), 0.2)
    assert np.isfinite(odds).all()


def test_new_labels_are_those_that_nobody_has_used_and_that_fit() -> None:
    ranking = ranked(np.array([[0.9, 0.4, 0.3, 0.07, 0.001], [0.001, 0.002, 0.3, 0.0, 0.0]], np.float32))
    counts = np.array([0, 5, 0, 0, 0])
    assert only_new(ranking, counts, 5).ids.tolist() == [[0, 2, 3, -1, -1], [2, -1, -1, -1, -1]]
    assert only_new(ranking, counts, 2).ids.tolist() == [[0, 2], [2, -1]]
    assert only_new(ranking, counts, 2, least=0.5).ids.tolist() == [[0, -1], [-1, -1]]
    assert only_new(ranking, counts * 0, 2).ids.tolist() == [[-1, -1], [-1, -1]]  # nobody has used any label
    beside = only_new(ranking, counts, 2, without=ranking.top(1))
    assert beside.ids.tolist() == [[2, 3], [-1, -1]]
    assert beside.scores[0].tolist() == pytest.approx([0.3, 0.07])


@pytest.mark.parametrize(
    ("overall", "rare", "chosen"),
    [
        ([0.8] * 8, [0.1 * i for i in range(8)], 7),  # it costs nothing
        ([0.8, 0.799, 0.796, 0.794, 0.5, 0.5, 0.5, 0.5], [0.1 * i for i in range(8)], 2),  # no more than a little
        ([0.8, 0.81, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8], [0.5] * 8, 1),  # of the best, not of where it begins
        ([np.nan] * 8, [np.nan] * 8, 0),
    ],
)
def test_rare_labels_cost_the_others_little(overall: list[float], rare: list[float], chosen: int) -> None:
    assert module.best_of_weights(np.array(overall), np.array(rare)) == module.RARE_WEIGHTS[chosen]


def test_a_weight_is_found_where_rare_labels_are_what_is_missing() -> None:
    """The rare one is right as often as it says, and as often as the frequent one: for the tail it is worth more."""
    rng = np.random.default_rng(0)
    n_docs, counts = 400, np.array([5_000] * 6 + [2] * 6)
    scores = rng.uniform(0.3, 0.4, (n_docs, 12)).astype(np.float32)
    truth = pairs_from_lists([np.flatnonzero(row).tolist() for row in rng.random((n_docs, 12)) < 0.35], 12)
    assert best_rare_weight(ranked(scores), truth, counts, 5_000) >= 0.06
    nothing = pairs_from_lists([[] for _ in range(n_docs)], 12)
    assert best_rare_weight(ranked(scores), nothing, counts, 5_000) == 0
