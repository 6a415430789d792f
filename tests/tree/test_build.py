"""The label tree: balanced for any arity and leaf size, complete, deterministic, and alike labels together."""

from __future__ import annotations

import math
from itertools import chain, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from everylabel.errors import ConfigError
from everylabel.tree.build import LabelTree, build_tree, flat_tree, pifa
from everylabel.types import IntArray
from everylabel.vectors import unit_rows


def vectors_of(n_labels: int, seed: int = 0, n_features: int = 12) -> Any:
    rng = np.random.default_rng(seed)
    values = rng.random((n_labels, n_features)).astype(np.float32)
    return values * (rng.random((n_labels, n_features)) < 0.4)


def build(
    vectors: Any, labels: IntArray | None = None, *, leaf_size: int = 4, arity: int = 2, seed: int = 0
) -> LabelTree:
    labels = np.arange(vectors.shape[0], dtype=np.int32) if labels is None else labels
    return build_tree(vectors, labels, leaf_size=leaf_size, arity=arity, rng=np.random.default_rng(seed))


def leaves_of(tree: LabelTree) -> list[list[int]]:
    starts = tree.children[-1]
    return [tree.order[first:last].tolist() for first, last in pairwise(starts)]


def assert_same(one: LabelTree, other: LabelTree) -> None:
    assert one.order.dtype == other.order.dtype == np.int32
    np.testing.assert_array_equal(one.order, other.order)
    assert one.depth == other.depth
    for mine, yours in zip(one.children, other.children, strict=True):
        np.testing.assert_array_equal(mine, yours)


@given(n_labels=st.integers(1, 120), leaf_size=st.integers(2, 40), arity=st.integers(2, 17), seed=st.integers(0, 99))
@example(n_labels=1, leaf_size=2, arity=2, seed=0)
@example(n_labels=3, leaf_size=2, arity=2, seed=0)
@example(n_labels=120, leaf_size=2, arity=2, seed=0)
@example(n_labels=101, leaf_size=2, arity=50, seed=0)
@settings(deadline=None, max_examples=60)
def test_balanced_and_complete(n_labels: int, leaf_size: int, arity: int, seed: int) -> None:
    labels = np.random.default_rng(seed).permutation(500)[:n_labels].astype(np.int32)
    tree = build(vectors_of(n_labels, seed), labels, leaf_size=leaf_size, arity=arity, seed=seed)
    assert sorted(tree.order.tolist()) == sorted(labels.tolist())
    sizes = [len(leaf) for leaf in leaves_of(tree)]
    assert max(sizes) <= leaf_size
    assert max(sizes) - min(sizes) <= 1
    assert len(sizes) == math.ceil(n_labels / leaf_size)
    n_nodes = 1
    for starts in tree.children:  # every node of every level has children, the last level's are all labels
        assert len(starts) == n_nodes + 1
        assert starts[0] == 0
        assert np.all(np.diff(starts) >= 1)
        n_nodes = int(starts[-1])
    assert n_nodes == n_labels
    assert all(np.diff(starts).max() <= arity for starts in tree.children[:-1])


@given(n_labels=st.integers(1, 80), leaf_size=st.integers(2, 9), arity=st.integers(2, 5))
@settings(deadline=None, max_examples=30)
def test_the_node_of_a_label_is_its_ancestor(n_labels: int, leaf_size: int, arity: int) -> None:
    tree = build(vectors_of(n_labels), leaf_size=leaf_size, arity=arity)
    below = [[place] for place in range(n_labels)]  # the places below each node, from the bottom up
    np.testing.assert_array_equal(tree.node_of_label(tree.depth), np.arange(n_labels))
    for level in reversed(range(tree.depth)):
        starts = tree.children[level]
        below = [list(chain(*below[first:last])) for first, last in pairwise(starts)]
        expected = {place: node for node, members in enumerate(below) for place in members}
        assert tree.node_of_label(level).tolist() == [expected[place] for place in range(n_labels)]
    assert not tree.node_of_label(0).any()


@pytest.mark.parametrize("labels", [[7], [5, 3, 9]])
def test_flat(labels: list[int]) -> None:
    ids = np.array(labels, np.int32)
    tree = flat_tree(ids)
    assert tree.depth == 1
    assert leaves_of(tree) == [labels]
    built = build(vectors_of(len(labels)), ids, leaf_size=10)  # few labels: the same tree
    assert built.depth == 1
    assert sorted(built.order.tolist()) == sorted(labels)


@pytest.mark.parametrize("arity", [2, 3, 16])
def test_deterministic_under_a_seed(arity: int) -> None:
    vectors = vectors_of(70)
    assert_same(build(vectors, arity=arity, seed=5), build(vectors, arity=arity, seed=5))


@pytest.mark.parametrize("seed", range(5))
def test_dense_and_sparse_vectors_give_the_same_tree(seed: int) -> None:
    vectors = vectors_of(70, seed)
    assert_same(build(vectors, arity=3, seed=seed), build(csr_matrix(vectors), arity=3, seed=seed))


def test_the_vectors_lengths_do_not_matter() -> None:
    vectors = vectors_of(40)
    lengths = 2.0 ** np.random.default_rng(1).integers(-3, 4, size=(40, 1))
    assert_same(build(vectors), build((vectors * lengths).astype(np.float32)))


@pytest.mark.parametrize("seed", range(10))
def test_separated_clusters_come_apart(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cluster = rng.permutation(np.repeat([0, 1], 20))
    vectors = rng.random((40, 10)).astype(np.float32) * 0.2
    vectors[np.arange(40), cluster] += 1
    leaves = leaves_of(build(vectors, leaf_size=20, seed=seed))
    assert sorted(map(sorted, leaves)) == sorted(np.flatnonzero(cluster == c).tolist() for c in (0, 1))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("arity", [2, 4])
def test_clusters_of_clusters_come_apart_level_by_level(seed: int, arity: int) -> None:
    rng = np.random.default_rng(seed)
    fine = rng.permutation(np.repeat(np.arange(4), 8))
    vectors = rng.random((32, 10)).astype(np.float32) * 0.1
    vectors[np.arange(32), fine // 2] += 1.0
    vectors[np.arange(32), 2 + fine] += 0.5
    tree = build(vectors, leaf_size=8, arity=arity, seed=seed)
    assert sorted(map(sorted, leaves_of(tree))) == sorted(np.flatnonzero(fine == c).tolist() for c in range(4))
    if arity == 2:
        halves = tree.node_of_label(1)
        coarse = fine[tree.order] // 2
        assert len(set(zip(halves.tolist(), coarse.tolist(), strict=True))) == 2


@pytest.mark.parametrize("vectors", [np.zeros((9, 3)), np.ones((9, 3)), csr_matrix((9, 3))])
def test_vectors_that_say_nothing_still_give_a_balanced_tree(vectors: Any) -> None:
    tree = build(vectors, leaf_size=2)
    assert sorted(tree.order.tolist()) == list(range(9))
    assert sorted(len(leaf) for leaf in leaves_of(tree)) == [1, 2, 2, 2, 2]


@pytest.mark.parametrize(("leaf_size", "arity"), [(1, 2), (2, 1), (0, 16)])
def test_settings_that_cannot_work(leaf_size: int, arity: int) -> None:
    with pytest.raises(ConfigError, match="at least 2"):
        build(vectors_of(9), leaf_size=leaf_size, arity=arity)


@pytest.mark.parametrize("n_labels", [3, 60])
def test_state_round_trip(n_labels: int) -> None:
    tree = build(vectors_of(n_labels), arity=3)
    assert all(isinstance(value, np.ndarray) for value in tree.state().values())
    assert_same(LabelTree.restored(tree.state()), tree)


def test_pifa_points_where_a_labels_documents_point() -> None:
    X = csr_matrix(np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32))
    Y = csr_matrix(np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0]], np.float32))
    half = 0.5**0.5
    expected = np.array([[half, half, 0], [0, 1, 0], [0, 0, 0]])  # no documents: zeros
    np.testing.assert_allclose(unit_rows(pifa(X, Y)).toarray(), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("n_labels", "leaf_size", "arity", "first", "widths"),
    [
        (3_956, 16, 16, 16, [16, 248, 3_956]),  # MatchXML's stages of Eurlex-4K
        (1_333, 16, 8, 12, [12, 84, 1_333]),
        (40, 4, 2, 3, [3, 6, 10, 40]),
        (40, 4, 2, 100, [10, 40]),
        (3, 4, 2, 3, [3]),
    ],
)
def test_the_root_has_as_many_children_as_are_asked_for(
    n_labels: int, leaf_size: int, arity: int, first: int, widths: list[int]
) -> None:
    labels, rng = np.arange(n_labels, dtype=np.int32), np.random.default_rng(0)
    tree = build_tree(vectors_of(n_labels), labels, leaf_size=leaf_size, arity=arity, first=first, rng=rng)
    tree.check(n_labels)
    assert [int(level[-1]) for level in tree.children] == widths
    sizes = np.diff(tree.children[-1])
    assert sizes.max() - sizes.min() <= 1
    for level in tree.children[1:-1]:
        assert np.diff(level).max() <= arity
