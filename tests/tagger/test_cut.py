"""How many tags a document gets, against every subset of labels and every outcome."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from everylabel.errors import ConfigError
from everylabel.tagger.cut import at_threshold, best_f1, expected_f1
from everylabel.types import Ranking


def ranking(*rows: list[float], k: int | None = None) -> Ranking:
    """Of these probabilities, best first; the labels are numbered from 10."""
    found = Ranking.empty(len(rows), max(map(len, rows)) if k is None else k)
    for i, row in enumerate(rows):
        found.ids[i, : len(row)] = 10 + np.arange(len(row))
        found.scores[i, : len(row)] = row
    return found


def n_kept(found: Ranking) -> list[int]:
    """Of each row; what is kept is its beginning, and the rest is padding."""
    counts = (found.ids >= 0).sum(axis=1)
    first = np.arange(found.k) < counts[:, None]
    np.testing.assert_array_equal(found.ids >= 0, first)
    np.testing.assert_array_equal(found.scores > -np.inf, first)
    assert found.ids.dtype == np.int32
    assert found.scores.dtype == np.float32
    return [int(n) for n in counts]


def enumerated(probabilities: Any) -> dict[tuple[int, ...], float]:
    """The expected F1 of every set of tags but the empty one, from all outcomes."""
    p = np.asarray(probabilities, np.float64)
    sets = np.array(list(product([0, 1], repeat=len(p))))
    chance = np.where(sets == 1, p, 1 - p).prod(axis=1)
    f1 = 2 * sets @ sets.T / np.maximum(sets.sum(axis=1)[:, None] + sets.sum(axis=1), 1)
    return {tuple(tags): float(value) for tags, value in zip(sets.tolist(), f1 @ chance, strict=True) if any(tags)}


PROBABILITIES = st.lists(st.one_of(st.sampled_from([0.0, 1.0, 0.5]), st.floats(0, 1, width=32)), min_size=1, max_size=6)


@settings(deadline=None)
@given(PROBABILITIES)
@example([1.0] * 6)
@example([0.0] * 6)
def test_no_other_set_of_tags_has_a_better_expected_f1(probabilities: list[float]) -> None:
    probabilities = sorted(probabilities, reverse=True)
    n, every = len(probabilities), enumerated(probabilities)
    first = [every[(1,) * j + (0,) * (n - j)] for j in range(1, n + 1)]
    np.testing.assert_allclose(expected_f1(np.array([probabilities]))[0], first, atol=1e-12)
    kept = n_kept(best_f1(ranking(probabilities, k=n + 2)))[0]
    assert first[kept - 1] >= max(every.values()) - 1e-12


def test_by_hand() -> None:
    """Both or one of two coins: F1 is (1 + 2/3 + 2/3) / 4 and (2/3 + 1) / 4."""
    np.testing.assert_allclose(expected_f1(np.array([[0.5, 0.5]])), [[5 / 12, 7 / 12]])
    assert n_kept(best_f1(ranking([0.5, 0.5]))) == [2]


def test_each_document_has_a_cut_of_its_own() -> None:
    found = best_f1(ranking([0.9, 0.8, 0.01, 0.01], [0.9, 0.02], [], [0.2, 0.2, 0.2, 0.2], [0.001]))
    assert n_kept(found) == [2, 1, 0, 4, 1]
    assert found.ids[0].tolist() == [10, 11, -1, -1]
    assert found.scores[0, :2].tolist() == pytest.approx([0.9, 0.8])


@pytest.mark.parametrize(
    ("probabilities", "kept"), [([1, 1, 0, 0], 2), ([0, 0, 0], 1), ([1, 1, 1], 3), ([0], 1), ([1], 1), ([1, 0.4], 1)]
)
def test_certainties_and_a_single_rank(probabilities: list[float], kept: int) -> None:
    assert n_kept(best_f1(ranking(probabilities))) == [kept]


def test_no_labels_at_all() -> None:
    for n_docs, k in [(0, 5), (3, 0), (2, 3)]:
        found = best_f1(Ranking.empty(n_docs, k))
        assert found.ids.shape == found.scores.shape == (n_docs, k)
        assert n_kept(found) == [0] * n_docs


def test_long_rankings_of_many_documents_are_cut_one_by_one() -> None:
    """In parts, or alone, or with labels of no chance behind them: the same. Against the sum over all counts."""
    rng = np.random.default_rng(0)
    scores = -np.sort(-(rng.random((900, 100)) ** rng.integers(1, 30, (900, 1))), axis=1)
    rows = ranking(*scores.tolist())
    kept = n_kept(best_f1(rows))
    assert len(set(kept)) > 20
    for row in (0, 450, 899):
        p = rows.scores[row].astype(np.float64)
        assert n_kept(best_f1(Ranking(rows.ids[[row]], rows.scores[[row]]).top(103))) == [kept[row]]
        assert int(np.argmax([by_counts(p, j) for j in range(1, 101)])) + 1 == kept[row]


def by_counts(p: Any, j: int) -> float:
    """The expected F1 of the first j, from how many of them and how many others are right (Ye et al.)."""
    first, others = np.ones(1), np.ones(1)
    for i, chance in enumerate(p):
        if i < j:
            first = np.convolve(first, [1 - chance, chance])
        else:
            others = np.convolve(others, [1 - chance, chance])
    right, more = np.arange(len(first))[:, None], np.arange(len(others))
    return float((np.outer(first, others) * 2 * right / (j + right + more)).sum())


def test_a_threshold() -> None:
    rows = ranking([0.9, 0.7, 0.1], [0.3], [])
    assert n_kept(at_threshold(rows, 0.7)) == [2, 0, 0]  # at it, too
    assert n_kept(at_threshold(rows, 0.0)) == [3, 1, 0]  # what is no label does not become one
    assert n_kept(at_threshold(rows, 1.0)) == [0, 0, 0]
    assert rows.ids[1].tolist() == [10, -1, -1]  # as it was
    assert n_kept(at_threshold(Ranking.empty(0, 3), 0.5)) == []


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan"), float("inf")])
def test_a_threshold_that_is_no_probability(threshold: float) -> None:
    with pytest.raises(ConfigError, match="threshold is a probability, from 0 to 1; got"):
        at_threshold(ranking([0.5]), threshold)
