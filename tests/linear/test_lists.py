"""Weights as lists: what comes out is what went in, in steps of the largest weight / 32,767."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from everylabel.linear.lists import Lists


def levels_of(n_columns: int, widths: list[int], density: float, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    shapes = [(n_columns, width) for width in widths]
    return [csr_matrix((rng.normal(size=s) * (rng.random(s) < density)).astype(np.float32)) for s in shapes]


@given(
    n_columns=st.integers(1, 20),
    widths=st.lists(st.integers(1, 30), min_size=1, max_size=4),
    density=st.sampled_from([0.0, 0.2, 1.0]),
    seed=st.integers(0, 100),
)
@settings(deadline=None)
def test_every_level_comes_back(n_columns: int, widths: list[int], density: float, seed: int) -> None:
    levels = levels_of(n_columns, widths, density, seed)
    lists = Lists.of_levels(levels)
    for t, level in enumerate(levels):
        found = lists.level(t, widths[t]).toarray()
        assert found.shape == level.shape
        step = max(np.abs(level.data).max(initial=0), 1e-9) / 32_767
        np.testing.assert_allclose(found, level.toarray(), atol=0.51 * step)


@given(seed=st.integers(0, 100))
@settings(deadline=None)
def test_saved_lists_are_the_same(seed: int) -> None:
    lists = Lists.of_levels(levels_of(12, [3, 9], 0.4, seed))
    for mine, other in zip(lists, Lists.restored(lists.state()), strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize(("n_nodes", "expected"), [(1 << 16, np.uint16), ((1 << 16) + 1, np.int32)])
def test_nodes_take_two_bytes_where_they_fit(n_nodes: int, expected: type) -> None:
    level = csr_matrix(([1.0, -2.0], ([0, 1], [0, n_nodes - 1])), shape=(2, n_nodes), dtype=np.float32)
    lists = Lists.of_levels([level])
    assert lists.nodes.dtype == expected
    np.testing.assert_allclose(lists.level(0, n_nodes).toarray()[1, -1], -2.0)
