"""Reliability against a slow implementation, values worked out by hand, and the traps."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everylabel.data.dataset import pairs_from_lists
from everylabel.metrics.reliability import Bin, Reliability, by_seen, reliability
from everylabel.types import Csr, Ranking

N_LABELS = 6
# few different scores, so that ties are common
ROW = st.lists(st.tuples(st.sampled_from([0.0, 0.125, 0.25, 0.5, 0.9, 1.0]), st.booleans()), max_size=N_LABELS)


def data(rows: list[list[tuple[float, bool]]]) -> tuple[Ranking, Csr]:
    """A row is a document's labels, from 0: each with its score and whether it is true."""
    ids, scores = np.full((len(rows), N_LABELS), -1, np.int32), np.zeros((len(rows), N_LABELS), np.float32)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = range(len(row))
        scores[i, : len(row)] = [score for score, _ in row]
    truth = pairs_from_lists([[label for label, (_, hit) in enumerate(row) if hit] for row in rows], N_LABELS)
    return Ranking.best_of(ids, scores, N_LABELS), truth


def slow_ece(rows: list[list[tuple[float, bool]]], k: int, n_bins: int, least: int) -> float:
    """A pair at a time. A bin begins at each score that is n/n_bins further down the sorted list."""
    pairs = []
    for row in rows:
        if any(hit for _, hit in row):
            best = sorted(range(len(row)), key=lambda label, row=row: (-row[label][0], label))[:k]  # type: ignore[misc]
            pairs += [(float(np.float32(row[label][0])), row[label][1]) for label in best]
    if not pairs:
        return float("nan")
    while n_bins > 1 and n_bins * least > len(pairs):
        n_bins -= 1
    ordered = sorted(score for score, _ in pairs)
    edges = {ordered[i * len(ordered) // n_bins] for i in range(1, n_bins)}
    bins: dict[int, list[tuple[float, bool]]] = {}
    for score, hit in pairs:
        bins.setdefault(sum(edge <= score for edge in edges), []).append((score, hit))
    error = 0.0
    for members in bins.values():
        confidence = sum(score for score, _ in members) / len(members)
        accuracy = sum(hit for _, hit in members) / len(members)
        error += len(members) / len(pairs) * abs(confidence - accuracy)
    return error


@given(st.lists(ROW, min_size=1, max_size=12), st.integers(1, 7), st.integers(1, 20), st.integers(1, 9))
def test_as_the_slow_one(rows: list[list[tuple[float, bool]]], k: int, n_bins: int, least: int) -> None:
    found = reliability(*data(rows), k=k, n_bins=n_bins, least=least)
    assert found.ece == pytest.approx(slow_ece(rows, k, n_bins, least), nan_ok=True)
    assert len(found.bins) <= n_bins
    assert [one.probability for one in found.bins] == sorted({one.probability for one in found.bins})


@given(st.lists(ROW, min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_documents_does_not_matter(rows: list[list[tuple[float, bool]]], random: object) -> None:
    before = reliability(*data(rows), least=2)
    random.shuffle(rows)  # type: ignore[attr-defined]
    after = reliability(*data(rows), least=2)
    np.testing.assert_allclose(np.array(before.bins), np.array(after.bins))


def test_bins_by_hand() -> None:
    rows = [[(1.0, True), (0.5, False)], [(1.0, False), (0.5, True)], [(1.0, True), (0.25, False)], [(0.9, False)]]
    found = reliability(*data(rows), n_bins=2, least=1)  # the last document has no true label, and is left out
    np.testing.assert_allclose(found.bins, [Bin(1.25 / 3, 1 / 3, 3), Bin(1, 2 / 3, 3)])
    assert found.ece == pytest.approx((abs(1.25 - 1) + abs(3 - 2)) / 6)
    assert found.pairs == 6
    assert found.to_json()["ECE"] == found.ece


def test_probabilities_that_hold_have_a_small_error_and_scores_that_do_not_a_large_one() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random((2000, N_LABELS))
    hits = rng.random(scores.shape) < scores
    exact = [list(zip(s, h, strict=True)) for s, h in zip(scores.tolist(), hits.tolist(), strict=True)]
    sure = [[(score**0.2, hit) for score, hit in row] for row in exact]
    assert reliability(*data(exact)).ece < 0.02
    assert reliability(*data(sure)).ece > 0.2


def test_seen_tail_and_unseen_labels_apart() -> None:
    rows = [[(0.9, True), (0.6, False), (0.3, True)], [(0.9, True), (0.6, True), (0.3, False)]]
    counts = np.array([10, 9, 0, 0, 0, 0])
    found = by_seen(*data(rows), counts)
    assert {name: one.pairs for name, one in found.items()} == {"all": 6, "seen": 4, "tail": 2, "unseen": 2}
    assert found["tail"].ece == pytest.approx(0.1)
    assert len(found["all"].bins) == 1  # six pairs are too few for more
    assert found["unseen"].ece == pytest.approx(0.2)
    assert by_seen(*data(rows), counts, k=2)["unseen"].pairs == 0


def test_nothing_suggested_is_no_perfection() -> None:
    found = reliability(*data([[], []]))
    assert found == Reliability(())
    assert isnan(found.ece)
    assert found.to_json() == {"ECE": None, "by_chance": None, "pairs": 0, "bins": []}


def test_by_chance_is_the_error_of_scores_that_are_the_probabilities() -> None:
    """However right they are, a few hundred suggestions are not right just as often as they say."""
    rng = np.random.default_rng(0)
    scores = rng.choice(np.array([0.1, 0.3, 0.8], np.float32), (400, 2))
    ids = np.broadcast_to(np.arange(2, dtype=np.int32), scores.shape)
    measured, expected = [], []
    for _ in range(30):
        hits = rng.random(scores.shape) < scores
        truth = pairs_from_lists([[*np.flatnonzero(row).tolist(), 2] for row in hits], 3)  # each has a true label
        found = reliability(Ranking.best_of(ids, scores, 2), truth, k=2)
        measured.append(found.ece)
        expected.append(found.by_chance)
    assert float(np.mean(measured)) == pytest.approx(float(np.mean(expected)), rel=0.2)
    assert isnan(Reliability(()).by_chance)
