"""Spherical k-means: clear clusters are found, whatever their number."""

from __future__ import annotations

import numpy as np
import pytest

from everylabel.train import clusters
from everylabel.train.clusters import spherical_kmeans
from everylabel.types import FloatArray
from everylabel.vectors import unit_rows

SIZE = 30


def blobs(n: int, seed: int, noise: float = 0.05) -> FloatArray:
    """n directions at right angles, SIZE rows near each."""
    rng = np.random.default_rng(seed)
    rows: FloatArray = unit_rows(np.repeat(np.eye(n), SIZE, axis=0) + noise * rng.normal(size=(n * SIZE, n)))
    return rows


@pytest.mark.parametrize("seed", range(8))
def test_two_clear_clusters(seed: int) -> None:
    found = spherical_kmeans(blobs(2, seed), 2, np.random.default_rng(seed))
    assert found.dtype == np.int32
    assert sorted([set(found[:SIZE].tolist()), set(found[SIZE:].tolist())], key=min) == [{0}, {1}]


@pytest.mark.parametrize("seed", range(4))
def test_more_clusters_than_directions_never_mix_them(seed: int) -> None:
    found = spherical_kmeans(blobs(4, seed), 40, np.random.default_rng(seed))
    parts = [set(found[i * SIZE : (i + 1) * SIZE].tolist()) for i in range(4)]
    assert sum(map(len, parts)) == len(set.union(*parts))
    assert 4 < len(set.union(*parts)) <= 40


def test_more_clusters_than_rows() -> None:
    rows = unit_rows(np.random.default_rng(0).normal(size=(7, 5)))
    found = spherical_kmeans(rows, 100, np.random.default_rng(0))
    assert sorted(found.tolist()) == list(range(7))  # each its own


def test_one_cluster_and_one_row() -> None:
    assert set(spherical_kmeans(blobs(3, 0), 1, np.random.default_rng(0)).tolist()) == {0}
    assert spherical_kmeans(blobs(1, 0)[:1], 5, np.random.default_rng(0)).tolist() == [0]


def test_equal_rows_are_in_one_cluster_and_empty_clusters_do_no_harm() -> None:
    rows = np.repeat(np.eye(2, dtype=np.float32), 50, axis=0)
    found = spherical_kmeans(rows, 20, np.random.default_rng(1))
    assert len(set(found[:50].tolist())) == len(set(found[50:].tolist())) == 1
    assert found[0] != found[50]


@pytest.mark.parametrize("seed", range(6))
def test_a_cluster_that_lost_its_rows_begins_again(seed: int) -> None:
    """Nearly all rows are equal, so that all centres begin as the same one."""
    rows = np.repeat(np.eye(2, dtype=np.float32), [60, 4], axis=0)
    found = spherical_kmeans(rows, 2, np.random.default_rng(seed))
    assert found[0] != found[-1]


def test_blocks_and_samples_change_nothing_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = blobs(2, 3)
    whole = spherical_kmeans(rows, 2, np.random.default_rng(5))
    monkeypatch.setattr(clusters, "_BLOCK", 7)
    np.testing.assert_array_equal(spherical_kmeans(rows, 2, np.random.default_rng(5)), whole)
    monkeypatch.setattr(clusters, "_SAMPLE", 10)  # 20 of 60 rows
    found = spherical_kmeans(rows, 2, np.random.default_rng(5))
    assert len(set(found[:SIZE].tolist())) == len(set(found[SIZE:].tolist())) == 1
    assert found[0] != found[SIZE]


def test_the_rows_stay_as_they_were_and_the_seed_decides() -> None:
    rows = blobs(4, 0, noise=0.5)
    before = rows.copy()
    one, other = (spherical_kmeans(rows, 9, np.random.default_rng(2)) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(rows, before)
