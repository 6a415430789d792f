"""Label vectors from co-occurrence: groups come apart, a seed gives the same vectors, no label is left at random."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from everylabel.data.dataset import pairs_from_lists
from everylabel.errors import ConfigError
from everylabel.tree.label2vec import Label2VecConfig, completed, label2vec
from everylabel.vectors import unit_rows

CONFIG = Label2VecConfig(dim=16, epochs=40)
GROUPS, SIZE = 10, 8  # labels 0 to 7 occur together, and 8 to 15, ...
N = GROUPS * SIZE


def groups(n: int = 600) -> csr_matrix:
    """The last label but one is always alone, the last has no document."""
    rng = np.random.default_rng(0)
    sets = [(rng.permutation(SIZE)[:3] + SIZE * rng.integers(GROUPS)).tolist() for _ in range(n)]
    return pairs_from_lists([*sets, [N], [N]], N + 2)


def test_labels_that_occur_together_are_near() -> None:
    vectors, known = label2vec(groups(), CONFIG, seed=0)
    assert vectors.shape == (N + 2, 16)
    assert known.tolist() == [True] * N + [False] * 2
    assert not vectors[N:].any()
    cosines = unit_rows(vectors[:N]) @ unit_rows(vectors[:N]).T
    same = np.kron(np.eye(GROUPS, dtype=bool), np.ones((SIZE, SIZE), bool))
    assert cosines[same].min() > cosines[~same].max()


def test_a_seed_gives_the_same_vectors() -> None:
    one, again, other = (label2vec(groups(), CONFIG, seed)[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - other).max() > 0.01


def test_the_window_is_the_whole_set_and_frequent_labels_are_not_left_out() -> None:
    """Label 0 stands first in every set, label 30 last: with word2vec's window of 5 they would never meet."""
    sets = [[0, *range(1 + half * 15, 16 + half * 15), 31 + half] for half in (0, 1) for _ in range(100)]
    vectors, known = label2vec(pairs_from_lists(sets, 33), CONFIG, seed=0)
    assert known.all()
    cosines = unit_rows(vectors) @ unit_rows(vectors).T
    assert cosines[31, 1:16].min() > cosines[31, 16:31].max()


def test_without_any_two_labels_together_there_is_nothing_to_learn() -> None:
    vectors, known = label2vec(pairs_from_lists([[0], [1], []], 2), CONFIG, seed=0)
    assert not vectors.any()
    assert not known.any()


def test_a_missing_vector_is_made_of_those_that_the_label_resembles() -> None:
    vectors = np.array([[2, 0], [0, 1], [0, 0], [0, 0], [0, 0]], np.float32)
    known = np.array([True, True, False, False, False])
    features = csr_matrix(np.array([[1, 0, 0], [0, 1, 0], [3, 0, 0], [3, 4, 0], [0, 0, 1]], np.float32))
    found = completed(vectors, known, features)
    np.testing.assert_allclose(found, np.array([[1, 0], [0, 1], [1, 0], [0.6, 0.8], [0, 0]], np.float32), atol=1e-6)


def test_nothing_is_made_up_where_nothing_is_known() -> None:
    features = csr_matrix(np.eye(2, dtype=np.float32))
    assert not completed(np.zeros((2, 3), np.float32), np.zeros(2, bool), features).any()


def test_settings_that_cannot_work_are_refused() -> None:
    bad = [Label2VecConfig(dim=0), Label2VecConfig(negatives=0), Label2VecConfig(epochs=0), Label2VecConfig(rate=0.0)]
    for config in bad:
        with pytest.raises(ConfigError, match="label2vec: dim, negatives and epochs must be at least 1"):
            config.check()
