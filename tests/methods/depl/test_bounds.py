"""Theorem 3 as numbers, on scores that can be added up by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from everylabel.data.dataset import pairs_from_lists
from everylabel.methods.depl.bounds import keyword_bounds

# Words a, b, c; three labels with classifiers and one without. The longest row has length 2.
WEIGHTS = csr_matrix(np.array([[2, 0, 0], [0, 1.5, 0.5], [0, 0, 0], [0.5, 0.25, 0]], np.float32))
KEYWORDS = csr_matrix(np.array([[2, 0, 0], [0, 1.5, 0], [0, 0, 0], [0.5, 0, 0]], np.float32))
CONSTANTS = np.zeros(4, np.float32)
X = csr_matrix(np.array([[1, 0, 0], [0, 0.8, 0.6]], np.float32))


def test_margin_and_delta_of_each_correct_prediction() -> None:
    found = keyword_bounds(X, WEIGHTS, CONSTANTS, KEYWORDS, pairs_from_lists([[0], [1]], 4), 256)
    # Document 0: label 0 has 2, label 3 is next with 0.5, label 1 has 0. Document 1: label 1 has 1.5, label 3 is next
    # with 0.2, label 0 has 0; words that are no keywords add 0.3 to the first (c) and 0.2 to the second (b). All are
    # halved.
    assert found["n_predictions"] == 2
    assert found["margin"]["mean"] == pytest.approx((0.75 + 0.65) / 2)
    assert found["delta_needed"]["mean"] == pytest.approx((0 + 0.15) / 2)
    assert found["delta_bounded"] == 0.5
    assert found["margin_above_2_delta"] == 1.0
    gaps = np.array([[0.75, 1.0], [0.65 - 0.3, 0.75 - 0.3]])  # to each wrong label, without twice its own delta
    bounds = np.minimum(1, (4 * np.exp(-(gaps**2) * 256 / 50)).sum(axis=1))  # eq. 21
    assert found["bound"] == pytest.approx(bounds.mean())
    assert found["margin"]["50%"] == pytest.approx(0.7)


def test_the_guarantee_needs_a_large_dimension() -> None:
    truth = pairs_from_lists([[0], [1]], 4)
    shares = [keyword_bounds(X, WEIGHTS, CONSTANTS, KEYWORDS, truth, dim)["guaranteed"] for dim in (50, 200, 1000)]
    # 10 sqrt(log 2 / dim) is 1.18, 0.59 and 0.26; the gaps are 0.75 and 0.35
    assert shares == [0.0, 0.5, 1.0]


def test_delta_holds_for_every_wrong_label_below() -> None:
    """The next wrong label is one of keywords alone; the third has a word that is none, and decides delta."""
    weights = csr_matrix(np.array([[1, 0], [0.5, 0], [0.1, 0.3]], np.float32))
    keywords = csr_matrix(np.array([[1, 0], [0.5, 0], [0.1, 0]], np.float32))
    document = csr_matrix(np.array([[0.8, 0.6]], np.float32))
    found = keyword_bounds(document, weights, np.zeros(3, np.float32), keywords, pairs_from_lists([[0]], 3), 256)
    assert found["delta_needed"]["mean"] == pytest.approx(0.18)
    assert found["margin"]["mean"] == pytest.approx(0.4)
    assert found["bound"] == pytest.approx(
        min(1, 4 * np.exp(-(0.4**2) * 256 / 50) + 4 * np.exp(-((0.54 - 0.36) ** 2) * 256 / 50))
    )


def test_where_the_theorem_guarantees_it_the_bound_is_at_most_4_over_m() -> None:
    rng, n_labels = np.random.default_rng(0), 40
    weights = csr_matrix(np.abs(rng.normal(0, 0.01, (n_labels, 6))).astype(np.float32))
    weights[0, 0] = 1.0
    document = csr_matrix(np.eye(1, 6, dtype=np.float32))
    dims = [800, 1_600, 3_200]
    truth = pairs_from_lists([[0]], n_labels)
    found = [keyword_bounds(document, weights, np.zeros(n_labels, np.float32), weights, truth, dim) for dim in dims]
    assert all(one["guaranteed"] == 1 for one in found)
    assert all(0 < one["bound"] <= 4 / (n_labels - 1) for one in found)
    least = 100 * np.log(n_labels - 1) / found[0]["margin"]["mean"] ** 2  # the dimension from which on it is guaranteed
    below = keyword_bounds(document, weights, np.zeros(n_labels, np.float32), weights, truth, int(least) - 1)
    assert below["guaranteed"] == 0


def test_delta_is_the_caller_s() -> None:
    truth = pairs_from_lists([[0], [1]], 4)
    assert keyword_bounds(X, WEIGHTS, CONSTANTS, KEYWORDS, truth, 256, delta=0.15001)["delta_bounded"] == 1.0


def test_a_constant_is_no_word_and_scores_differ_by_it() -> None:
    constants = np.array([0, 0, 0, 1], np.float32)  # label 3 has 1.5 now; rows are no longer than before
    found = keyword_bounds(X[:1], WEIGHTS, constants, KEYWORDS, pairs_from_lists([[0]], 4), 256)
    assert found["margin"]["mean"] == pytest.approx(0.25)
    assert found["delta_needed"]["mean"] == 0


def test_words_against_a_label_count_with_their_size() -> None:
    weights = csr_matrix(np.array([[1, -0.5], [0.1, 0]], np.float32))
    keywords = csr_matrix(np.array([[1, 0], [0.1, 0]], np.float32))
    document = csr_matrix(np.array([[0.8, 0.6]], np.float32))
    found = keyword_bounds(document, weights, np.zeros(2, np.float32), keywords, pairs_from_lists([[0]], 2), 256)
    assert found["delta_needed"]["mean"] == pytest.approx(0.3 / np.sqrt(1.25))


def test_only_right_labels_among_the_best_and_with_a_wrong_one_below() -> None:
    none = {"n_predictions": 0}
    assert keyword_bounds(X, WEIGHTS, CONSTANTS, KEYWORDS, pairs_from_lists([[2], []], 4), 256) == none
    everything = pairs_from_lists([[0, 1, 3], []], 4)  # label 2 has no classifier: nothing wrong is below
    assert keyword_bounds(X, WEIGHTS, CONSTANTS, KEYWORDS, everything, 256) == none
    weights = csr_matrix(np.linspace(1, 0.1, 8, dtype=np.float32)[:, None])
    document = csr_matrix(np.ones((1, 1), np.float32))
    sixth = keyword_bounds(document, weights, np.zeros(8, np.float32), weights, pairs_from_lists([[5]], 8), 256)
    assert sixth == none
