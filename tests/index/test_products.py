"""Inner products by an index of cosines: the same as comparing everything with everything."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from everylabel.index.build import load_index
from everylabel.index.products import ProductIndex
from everylabel.types import Ranking


def case(n: int = 60, dim: int = 7) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, dim)) * rng.exponential(size=(n, 1))  # lengths of all sizes, for products to differ
    return rows.astype(np.float32), rng.normal(size=(9, dim)).astype(np.float32)


def test_the_largest_products() -> None:
    rows, queries = case()
    ids = np.arange(60, dtype=np.int32)[::-1] + 5
    found = ProductIndex.of("exact", ids, rows).search(queries, 8)
    expected = Ranking.best_of(np.tile(ids, (9, 1)), queries @ rows.T, 8)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-4, atol=1e-5)
    cosines = (queries @ (rows / np.linalg.norm(rows, axis=1, keepdims=True)).T).argmax(axis=1)
    assert (ids[cosines] != found.ids[:, 0]).any()  # lengths decide


@pytest.mark.parametrize("k", [3, 10])
def test_fewer_rows_than_asked_for_and_a_query_of_zeros(k: int) -> None:
    rows = np.array([[1, 0], [0, 0], [3, 4]], np.float32)
    found = ProductIndex.of("exact", np.arange(3, dtype=np.int32), rows).search(np.zeros((1, 2), np.float32), k)
    assert found.ids.tolist() == [[0, 1, 2] + [-1] * (k - 3)]
    assert found.scores.tolist() == [[0.0] * 3 + [-np.inf] * (k - 3)]


def test_no_rows_and_rows_of_zeros() -> None:
    query = np.ones((1, 2), np.float32)
    none = ProductIndex.of("exact", np.empty(0, np.int32), np.empty((0, 2), np.float32))
    assert none.search(query, 2).ids.tolist() == [[-1, -1]]
    zeros = ProductIndex.of("exact", np.arange(2, dtype=np.int32), np.zeros((2, 2), np.float32))
    assert zeros.search(query, 2).scores.tolist() == [[0.0, 0.0]]


def test_the_same_after_save_and_load(tmp_path: Path) -> None:
    rows, queries = case()
    index = ProductIndex.of("exact", np.arange(60, dtype=np.int32), rows)
    state = index.state("a")
    state["a/index"].save(tmp_path / "index")
    again = ProductIndex.restore("a", state | {"a/index": load_index("exact", tmp_path / "index")})
    for one, other in zip(again.search(queries, 5), index.search(queries, 5), strict=True):
        np.testing.assert_array_equal(one, other)
