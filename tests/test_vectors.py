"""Sparse arithmetic without scipy's checks: the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix, hstack
from scipy.sparse import random as random_matrix

from everylabel.vectors import csr_of, mean_of_two, side_by_side, unit_rows


def rows(n: int, density: float, seed: int) -> Any:
    found = csr_matrix(random_matrix(n, 40, density, random_state=seed, dtype=np.float32))
    found.sort_indices()
    return found


def equal(one: Any, other: Any) -> None:
    assert one.shape == other.shape
    assert one.dtype == other.dtype
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(one, part), getattr(other, part))


@pytest.mark.parametrize("n", [1, 16, 200])
def test_a_mean_of_two_matrices_is_scipys_to_the_last_bit(n: int) -> None:
    one, other, weight = rows(n, 0.3, 0), rows(n, 0.1, 1), np.float32(0.25)
    equal(mean_of_two(one, other, weight), csr_matrix(one + other * weight) / (1 + weight))
    equal(mean_of_two(one, csr_matrix((n, 40), dtype=np.float32), weight), one / (1 + weight))


@pytest.mark.parametrize("n", [1, 16, 200])
def test_matrices_side_by_side_are_scipys(n: int) -> None:
    one, other = rows(n, 0.3, 0), rows(n, 0.1, 1)
    equal(side_by_side(one, other), hstack([one, other], format="csr"))


def test_a_matrix_of_given_arrays_shares_nothing_with_the_next_one() -> None:
    one = rows(3, 0.3, 0)
    made = [csr_of(one.data * factor, one.indices, one.indptr, one.shape) for factor in (1, 2)]
    made[0].sort_indices()
    equal(made[0], one)
    equal(made[1], one * np.float32(2))


def test_rows_of_length_1_are_those_of_numpys_norm() -> None:
    dense = np.random.default_rng(0).standard_normal((5, 33)).astype(np.float32)
    np.testing.assert_array_equal(unit_rows(dense), dense / np.linalg.norm(dense, axis=1, keepdims=True))
