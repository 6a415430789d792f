"""Exact search is what numpy finds by brute force, whatever else is in the batch."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from everylabel.index.exact import ExactIndex
from everylabel.types import Ranking
from everylabel.vectors import unit_rows


def brute_force(ids: Any, vectors: Any, queries: Any, k: int) -> Ranking:
    """Of vectors whose products are exact in float32, so that equal is equal."""
    ranking = Ranking.empty(len(queries), k)
    for row, scores in enumerate(np.asarray(queries @ vectors.T, np.float32)):
        order = np.lexsort((ids, -scores))[:k]
        ranking.ids[row, : len(order)], ranking.scores[row, : len(order)] = ids[order], scores[order]
    return ranking


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 1 << 20), n=st.integers(0, 60), n_queries=st.integers(0, 12), k=st.integers(1, 70))
def test_exact_is_brute_force(seed: int, n: int, n_queries: int, k: int) -> None:
    random = np.random.default_rng(seed)
    corners = random.choice([-0.5, 0, 0.5], (n + n_queries, 4)).astype(np.float32)  # many ties, and zeros
    corners[(corners != 0).sum(axis=1) < 4] = 0
    ids = random.permutation(1000)[:n]
    index = ExactIndex(4)
    index.add(ids, corners[:n])
    got, want = index.search(corners[n:], k), brute_force(ids, corners[:n], corners[n:], k)
    np.testing.assert_array_equal(got.ids, want.ids)
    np.testing.assert_array_equal(got.scores, want.scores)
    np.testing.assert_array_equal(index.scores(corners[n:]), corners[n:] @ corners[:n].T)


def test_a_ranking_does_not_depend_on_the_batch_or_the_blocks() -> None:
    """BLAS alone would not do: its sums differ in the last digits with the place of a vector."""
    random = np.random.default_rng(1)
    few = unit_rows(random.normal(size=(40, 48)))
    vectors = few[random.integers(0, 40, 20_000)]  # each 500 times: most ties go through all blocks
    queries = unit_rows(random.normal(size=(600, 48)))
    index = ExactIndex(48)
    index.add(random.permutation(20_000), vectors)
    whole = index.search(queries, 700)
    for part in (slice(0, 1), slice(5, 8), slice(90, 107), slice(599, 600)):
        alone = index.search(queries[part], 700)
        np.testing.assert_array_equal(alone.ids, whole.ids[part])
        np.testing.assert_array_equal(alone.scores, whole.scores[part])
    assert (np.diff(whole.scores, axis=1) <= 0).all()
    assert (np.diff(whole.ids, axis=1) > 0)[np.diff(whole.scores, axis=1) == 0].all()


def test_half_the_bytes_change_scores_little() -> None:
    random = np.random.default_rng(2)
    vectors, queries = unit_rows(random.normal(size=(500, 64))), unit_rows(random.normal(size=(20, 64)))
    whole, half = ExactIndex(64), ExactIndex(64, dtype="f16")
    for index in (whole, half):
        index.add(np.arange(500), vectors)
    difference = abs(whole.search(queries, 10).scores - half.search(queries, 10).scores)
    assert 0 < difference.max() < 1e-3
