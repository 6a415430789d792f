"""Nearest documents by inverted lists against every cosine, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from everylabel.linear.nearest import InvertedLists
from everylabel.vectors import unit_rows


def sparse(n_rows: int, n_columns: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return rng.random((n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.15)


def slow_nearest(rows: Any, vector: Any, k: int) -> list[tuple[int, float]]:
    norms = np.linalg.norm(rows, axis=1) * np.linalg.norm(vector)
    cosines = rows @ vector / np.where(norms > 0, norms, 1)
    best = sorted((-cosine, row) for row, cosine in enumerate(cosines) if cosine > 0)[:k]
    return [(row, -cosine) for cosine, row in best]


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("k", [1, 5, 1000])
def test_every_cosine(k: int, threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERYLABEL_THREADS", threads)
    rows, vectors = sparse(90, 40, seed=0), sparse(300, 40, seed=1)
    rows[3] = vectors[7] = 0
    found = InvertedLists.of(unit_rows(csr_matrix(rows))).nearest(unit_rows(csr_matrix(vectors)), k)
    assert found.ids.shape == (300, min(k, 90))
    for doc in range(300):
        expected = slow_nearest(rows, vectors[doc], k)
        there = found.ids[doc] >= 0
        np.testing.assert_allclose(found.scores[doc][there], [cosine for _, cosine in expected], atol=1e-5)
        assert np.all(np.isneginf(found.scores[doc][~there]))
        apart = [i for i, (_, cosine) in enumerate(expected) if is_apart(i, cosine, expected)]
        assert [found.ids[doc][i] for i in apart] == [expected[i][0] for i in apart]


def is_apart(i: int, cosine: float, expected: list[tuple[int, float]]) -> bool:
    """Whether float32 cannot have swapped it with another; the last one may have lost to one that is not listed."""
    return i < len(expected) - 1 and all(abs(cosine - other) > 1e-5 for j, (_, other) in enumerate(expected) if j != i)


def test_equal_cosines_in_the_order_of_the_rows() -> None:
    rows = unit_rows(csr_matrix(np.array([[0, 1.0], [1, 0], [0, 1], [1, 0], [1, 0]])))
    found = InvertedLists.of(rows).nearest(unit_rows(csr_matrix([[2.0, 0]])), 2)
    np.testing.assert_array_equal(found.ids, [[1, 3]])
    np.testing.assert_array_equal(found.scores, [[1, 1]])


def slow_owners(rows: Any, owners: list[int], vector: Any) -> list[tuple[int, float]]:
    best = {owner: max(float(rows[i] @ vector) for i, own in enumerate(owners) if own == owner) for owner in owners}
    return sorted(((owner, score) for owner, score in best.items() if score > 0), key=lambda item: (-item[1], item[0]))


@given(
    owners=st.lists(st.integers(0, 6), min_size=1, max_size=20).map(sorted),
    k=st.integers(1, 9),
    seed=st.integers(0, 999),
)
def test_the_best_of_an_owners_rows(owners: list[int], k: int, seed: int) -> None:
    """Whole numbers: sums are exact, and ties are many. Owners may be missing between others."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 3, (len(owners), 6)) * (rng.random((len(owners), 6)) < 0.3)
    vectors = rng.integers(0, 3, (4, 6)) * (rng.random((4, 6)) < 0.5)
    lists = InvertedLists.of(csr_matrix(rows, dtype=np.float32), np.array(owners, np.int32))
    found = lists.nearest(csr_matrix(vectors, dtype=np.float32), k)
    width = min(k, owners[-1] + 1)
    for doc, vector in enumerate(vectors):
        expected = slow_owners(rows, owners, vector)[:width]
        missing = width - len(expected)
        assert found.ids[doc].tolist() == [owner for owner, _ in expected] + [-1] * missing
        assert found.scores[doc].tolist() == [score for _, score in expected] + [-np.inf] * missing


def test_negative_products_are_not_found_by_owners() -> None:
    lists = InvertedLists.of(csr_matrix([[-1.0], [2.0], [-3.0]], dtype=np.float32), np.array([0, 0, 1], np.int32))
    found = lists.nearest(csr_matrix([[1.0], [-1.0]], dtype=np.float32), 2)
    assert found.ids.tolist() == [[0, -1], [1, 0]]
    assert found.scores.tolist() == [[2, -np.inf], [3, 1]]
