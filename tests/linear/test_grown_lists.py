"""Rows added to inverted lists are found as if they had been there from the beginning, and the old lists stay."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, vstack

from everylabel.linear.grown_lists import GrownLists
from everylabel.linear.nearest import InvertedLists

N_FEATURES = 9


def rows_of(seed: int, n: int, n_features: int = N_FEATURES, *, signed: bool = False, ones: bool = False) -> Any:
    """Random rows; with `ones` after one row for each feature alone, so that the largest of each is 1."""
    rng = np.random.default_rng(seed)
    dense = rng.random((n, n_features)) * (rng.random((n, n_features)) < 0.4)
    dense = dense - 0.5 * (dense > 0) if signed else dense
    dense = np.concatenate([np.eye(n_features), dense]) if ones else dense
    return csr_matrix(dense, dtype=np.float32)


@given(st.integers(0, 2**20), st.integers(0, 8), st.integers(0, 8), st.integers(1, 30), st.booleans(), st.booleans())
def test_added_rows_are_found_as_in_lists_of_all_to_the_bit(
    seed: int, n_old: int, n_new: int, k: int, signed: bool, compact: bool
) -> None:
    """Compact lists, too, where no weight is above the largest of its feature."""
    old = rows_of(seed, n_old, signed=signed, ones=compact)
    new = rows_of(seed + 1, n_new, signed=signed)
    queries = rows_of(seed + 2, 7)
    compact = compact and not signed
    whole = InvertedLists.of(csr_matrix(vstack([old, new])), compact=compact)
    before = InvertedLists.of(old, compact=compact)
    grown = GrownLists.of(before, new)
    assert grown.old is before
    found, expected = grown.nearest(queries, k), whole.nearest(queries, k)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.scores, expected.scores)
    for row in range(queries.shape[0]):
        alone = grown.nearest(queries[row], k)
        np.testing.assert_array_equal(alone.ids[0], found.ids[row])
        np.testing.assert_array_equal(alone.scores[0], found.scores[row])


def test_features_that_the_old_rows_do_not_have() -> None:
    grown = GrownLists.of(InvertedLists.of(csr_matrix([[1.0, 0]]), compact=True), csr_matrix([[0.6, 0, 0.8]]))
    ids, scores = grown.nearest(csr_matrix([[0.6, 0, 0.8], [1.0, 0, 0], [0, 1.0, 0]], dtype=np.float32), 2)
    assert ids.tolist() == [[1, 0], [0, 1], [-1, -1]]
    np.testing.assert_allclose(scores[:2], [[1, 0.6], [1, 0.6]], rtol=1e-5)


def test_a_weight_above_the_largest_of_its_list_is_not_cut() -> None:
    grown = GrownLists.of(InvertedLists.of(csr_matrix([[0.1, 0.2]]), compact=True), csr_matrix([[1.0, 0.0]]))
    scores = grown.nearest(csr_matrix([[1.0, 0]], dtype=np.float32), 1).scores
    np.testing.assert_allclose(scores, [[1]], rtol=1e-5)
