"""`Ranking`: what every method returns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_matrix, csr_matrix

from everylabel.types import Ranking

# few distinct scores, so that ties are common; negative ones too
entries = st.dictionaries(
    st.tuples(st.integers(0, 3), st.integers(0, 5)), st.sampled_from([-1.5, -0.25, 0.0, 0.5, 0.75]), max_size=24
)


def ranking() -> Ranking:
    return Ranking(np.array([[4, 2, -1], [0, 1, 3]], np.int32), np.array([[0.5, 0.25, -np.inf], [1, 1, 0]], np.float32))


def assert_equal(found: Ranking, ids: Any, scores: Any) -> None:
    assert found.ids.dtype == np.int32
    assert found.scores.dtype == np.float32
    np.testing.assert_array_equal(found.ids, ids)
    np.testing.assert_array_equal(found.scores, np.asarray(scores, np.float32))


def slow_top(matrix: dict[tuple[int, int], float], n_docs: int, k: int) -> tuple[Any, Any]:
    ids, scores = [], []
    for doc in range(n_docs):
        best = sorted((-score, label) for (row, label), score in matrix.items() if row == doc)[:k]
        missing = k - len(best)
        ids.append([label for _, label in best] + [-1] * missing)
        scores.append([-score for score, _ in best] + [-np.inf] * missing)
    return np.array(ids).reshape(n_docs, k), np.array(scores).reshape(n_docs, k)


def test_it_unpacks_and_knows_its_shape() -> None:
    ids, scores = ranking()
    assert ids.shape == scores.shape == (2, 3)
    assert (ranking().n_docs, ranking().k) == (2, 3)


def test_top_cuts_or_pads() -> None:
    assert_equal(ranking().top(1), [[4], [0]], [[0.5], [1]])
    assert_equal(ranking().top(3), *ranking())
    inf = np.inf
    padded = ranking().top(5)
    assert_equal(padded, [[4, 2, -1, -1, -1], [0, 1, 3, -1, -1]], [[0.5, 0.25, *[-inf] * 3], [1, 1, 0, -inf, -inf]])


def test_empty_is_all_padding() -> None:
    assert_equal(Ranking.empty(2, 3), np.full((2, 3), -1), np.full((2, 3), -np.inf))
    assert Ranking.empty(0, 3).top(5).ids.shape == (0, 5)


@given(entries=entries, k=st.integers(1, 8), shuffled=st.randoms(use_true_random=False))
@settings(deadline=None)
def test_from_csr_is_the_slow_way(entries: dict[tuple[int, int], float], k: int, shuffled: Any) -> None:
    items = sorted(entries.items())
    shuffled.shuffle(items)  # the columns of a row stand in any order
    items.sort(key=lambda item: item[0][0])
    data = np.array([score for _, score in items], np.float32)
    columns = np.array([label for (_, label), _ in items], np.int32)
    indptr = np.cumsum([0] + [sum(row == doc for (row, _), _ in items) for doc in range(4)])
    matrix = csr_matrix((data, columns, indptr), shape=(4, 6))
    assert_equal(Ranking.from_csr(matrix, k), *slow_top(entries, 4, k))
    np.testing.assert_array_equal(matrix.indices, columns)  # and the matrix stays as it was


@pytest.mark.parametrize("kind", [csr_matrix, coo_matrix, np.asarray])
def test_from_csr_takes_any_matrix(kind: Any) -> None:
    matrix = kind(np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 0.0]]))
    assert_equal(Ranking.from_csr(matrix, 2), [[2, 1], [-1, -1]], [[3, 2], [-np.inf, -np.inf]])


def test_from_csr_without_documents() -> None:
    assert Ranking.from_csr(csr_matrix((0, 4)), 2).ids.shape == (0, 2)


@given(entries, st.integers(1, 8), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_best_of_rows_in_any_order(matrix: dict[tuple[int, int], float], k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ids, scores = np.full((4, 8), -1), np.zeros((4, 8), np.float32)  # a place without a label has any score
    for row in range(4):
        own = [(label, score) for (doc, label), score in matrix.items() if doc == row]
        for place, (label, score) in zip(rng.permutation(8), own, strict=False):
            ids[row, place], scores[row, place] = label, score
    assert_equal(Ranking.best_of(ids.astype(np.int32), scores, k), *slow_top(matrix, 4, k))


@given(st.lists(entries, min_size=1, max_size=3), st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_summed(parts: list[dict[tuple[int, int], float]], k: int) -> None:
    tops = [slow_top(part, 4, 5) for part in parts]
    rankings = [Ranking(ids.astype(np.int32), scores.astype(np.float32)) for ids, scores in tops]
    total: dict[tuple[int, int], float] = {}
    for found in rankings:
        for row, column in np.argwhere(found.ids >= 0):
            key = (int(row), int(found.ids[row, column]))
            total[key] = total.get(key, 0) + float(found.scores[row, column])
    assert_equal(Ranking.summed(rankings, k), *slow_top(total, 4, k))
