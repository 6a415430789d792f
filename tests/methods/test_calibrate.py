"""Calibration: probabilities that mean something, and rankings that stay."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

import everylabel
from everylabel.data import load_dataset, sample
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.errors import DataError
from everylabel.methods.base import Method
from everylabel.methods.calibrate import Calibration
from everylabel.types import FloatArray, Ranking

Bools = NDArray[np.bool_]
UNIT = st.floats(0, 1, width=32)
HELD_OUT = st.lists(st.tuples(UNIT, st.booleans()), min_size=1, max_size=60)


def learned(pairs: list[tuple[float, bool]]) -> Calibration:
    scores, hits = zip(*pairs, strict=True)
    return Calibration.of_pairs(np.array(scores, np.float32), np.array(hits, np.bool_))


@given(HELD_OUT, hnp.arrays(np.float32, st.integers(1, 50), elements=UNIT))
def test_inside_0_and_1_and_rising(pairs: list[tuple[float, bool]], scores: FloatArray) -> None:
    """Also outside of the scores that were seen, with one pair, with hits alone and with misses alone."""
    ascending = np.unique(scores)
    found = learned(pairs).probability(ascending)
    assert found.dtype == np.float32
    assert ((found > 0) & (found < 1)).all()
    assert (np.diff(found) >= 0).all()
    apart = np.diff(ascending) > 1e-3  # nearer ones may need more digits than float32 has: `apply` sees to them
    assert (np.diff(found)[apart] > 0).all()


@given(HELD_OUT, hnp.arrays(np.float32, st.tuples(st.integers(1, 4), st.integers(1, 8)), elements=UNIT))
def test_no_ranking_changes(pairs: list[tuple[float, bool]], scores: FloatArray) -> None:
    """Neither order nor ties, down to neighbours among the float32 numbers; padding stays padding."""
    near = np.nextafter(scores, np.float32(2)).clip(0, 1)
    both = np.concatenate([scores, near], axis=1)
    ids = np.tile(np.arange(both.shape[1], dtype=np.int32), (len(both), 1))
    ranking = Ranking.best_of(ids, both, both.shape[1] + 2)
    found = learned(pairs).apply(ranking)
    np.testing.assert_array_equal(found.ids, ranking.ids)
    again = Ranking.best_of(found.ids, found.scores, found.k)
    np.testing.assert_array_equal(again.ids, ranking.ids)
    np.testing.assert_array_equal(np.isneginf(found.scores), ranking.ids < 0)
    ranked = ranking.ids[:, 1:] >= 0
    tied = ranking.scores[:, 1:] == ranking.scores[:, :-1]
    np.testing.assert_array_equal((found.scores[:, 1:] == found.scores[:, :-1])[ranked], tied[ranked])
    np.testing.assert_array_equal(learned(pairs).apply(ranking.top(3)).scores, found.top(3).scores)


def drawn(scores: FloatArray, probability: NDArray[np.floating], seed: int = 0) -> Bools:
    return np.asarray(np.random.default_rng(seed).random(len(scores)) < probability)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**31))
def test_scores_that_are_probabilities_already_change_little(seed: int) -> None:
    scores = np.random.default_rng(seed).random(20_000).astype(np.float32)
    found = Calibration.of_pairs(scores, drawn(scores, scores, seed + 1)).probability(scores)
    assert np.abs(found - scores).mean() < 0.02
    assert np.abs(found - scores).max() < 0.2


@pytest.mark.parametrize("shape", ["cosines", "a step", "too sure"])
def test_whatever_the_scores_are_like_the_probabilities_come_out(shape: str) -> None:
    scores = np.random.default_rng(1).beta(2, 3, 20_000).astype(np.float32)
    truth = {
        "cosines": 1 / (1 + np.exp(-12 * (scores - 0.7))),
        "a step": 0.02 + 0.6 * (scores > 0.55),
        "too sure": scores**2,
    }[shape]
    found = Calibration.of_pairs(scores, drawn(scores, truth)).probability(scores)
    assert np.abs(found - truth).mean() < 0.02 < np.abs(scores - truth).mean()


def test_few_pairs_are_no_certainty() -> None:
    for hit in (True, False):
        one = learned([(0.5, hit)]).probability(np.array([0.0, 0.5, 1.0], np.float32))
        assert ((one > 0.1) & (one < 0.9)).all()
    misses = learned([(0.01 * i, False) for i in range(90)])
    assert 0 < misses.probability(np.array([1.0], np.float32))[0] < 0.05


LABELS = LabelSet.of(Label(f"l{i}", f"label {i}") for i in range(3))


def popular() -> Method:
    """Scores 1, 0.5 and 0.25 for every document."""
    pairs = pairs_from_lists([[0, 1, 2], [0, 1], [0], [0]], 3)
    return everylabel.method("popularity").fit(Dataset(Documents.of(["a"] * 4), LABELS, pairs))


def held_out(lists: list[list[int]], labels: LabelSet = LABELS) -> Dataset:
    return Dataset(Documents.of(["b"] * len(lists)), labels, pairs_from_lists(lists, len(labels)))


def test_probabilities_are_the_shares_of_the_held_out_documents() -> None:
    method = popular()
    assert method.rank(["x"], 3).scores.tolist() == [[1, 0.5, 0.25]]
    assert method.calibrate(held_out([[0, 1], [0, 1], [0], [2]] * 200)) is method
    np.testing.assert_allclose(method.rank(["x"], 3).scores[0], [0.75, 0.5, 0.25], atol=0.01)


def test_documents_without_a_label_are_left_out() -> None:
    lists = [[0], [0], [0, 1], [2]] * 50
    one, other = (popular().calibrate(held_out(rows)).rank(["x"], 3) for rows in (lists, lists + [[]] * 100))
    np.testing.assert_array_equal(one.scores, other.scores)


def test_labels_are_matched_by_their_ids() -> None:
    names = LabelSet.of([Label("l2", "c"), Label("other", "not in the model"), Label("l0", "a"), Label("l1", "b")])
    one = popular().calibrate(held_out([[0], [0], [0, 1], [2]] * 50))
    other = popular().calibrate(held_out([[2, 1], [2], [2, 3], [0]] * 50, names))
    np.testing.assert_array_equal(one.rank(["x"], 3).scores, other.rank(["x"], 3).scores)


def test_calibrating_again_starts_from_the_scores_and_fitting_forgets() -> None:
    first, second = held_out([[0], [1]] * 20), held_out([[0], [0, 1]] * 20)
    twice, once = popular().calibrate(first).calibrate(second), popular().calibrate(second)
    np.testing.assert_array_equal(twice.rank(["x"], 3).scores, once.rank(["x"], 3).scores)
    refitted = twice.fit(Dataset(Documents.of(["a"]), LABELS, pairs_from_lists([[0]], 3)))
    assert refitted.calibration_ is None
    assert refitted.rank(["x"], 1).scores.tolist() == [[1]]


@pytest.mark.parametrize("lists", [[], [[]], [[], []]])
def test_nothing_to_learn_from_leaves_the_method_as_it_was(lists: list[list[int]]) -> None:
    method = popular()
    with pytest.raises(DataError, match="nothing to calibrate on"):
        method.calibrate(held_out(lists))
    with pytest.raises(DataError, match="no labelled pair"):
        method.calibrate(held_out([[0]]).without_pairs())
    assert method.rank(["x"], 3).scores.tolist() == [[1, 0.5, 0.25]]


def test_a_ranking_that_is_there_already_is_used_and_one_of_other_documents_refused() -> None:
    data = held_out([[0, 1], [0], [2]] * 20)
    ranking = popular().rank(data.documents, 100)
    one, other = popular().calibrate(data, ranking), popular().calibrate(data)
    np.testing.assert_array_equal(one.rank(["x"], 3).scores, other.rank(["x"], 3).scores)
    with pytest.raises(DataError, match="the ranking has 60 documents and the data 2"):
        popular().calibrate(held_out([[0], [1]]), ranking)


def test_identical_after_save_and_load(tmp_path: Path) -> None:
    sample(tmp_path / "sample")
    train, dev = (load_dataset(tmp_path / "sample", split) for split in ("train", "dev"))
    method = everylabel.method("xr-linear").fit(train)
    raw = method.rank(dev.documents, 50)
    method.calibrate(dev).save(tmp_path / "model")
    want, got = method.rank(dev.documents, 50), everylabel.load(tmp_path / "model").rank(dev.documents, 50)
    np.testing.assert_array_equal(raw.ids, want.ids)
    assert not np.array_equal(raw.scores, want.scores)
    np.testing.assert_array_equal(want.ids, got.ids)
    np.testing.assert_array_equal(want.scores, got.scores)
