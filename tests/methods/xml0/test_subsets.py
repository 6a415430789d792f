"""The best subset of weighted vectors: both searches against a slow version that adds vectors up, one by one."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everylabel.methods.xml0.subsets import (
    Best,
    Loss,
    cosines_of,
    is_member,
    loss_of_greedy,
    search,
)

compiled = settings(deadline=None)  # the first example compiles
problems = st.tuples(st.integers(0, 9999), st.integers(1, 6), st.integers(1, 9), st.integers(2, 8))


def made(problem: tuple[int, int, int, int]) -> tuple[Any, Any]:
    """Weighted vectors (n, dim) and labels of length 1 (m, dim)."""
    seed, n, m, dim = problem
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n, dim)) * rng.uniform(0.1, 1, (n, 1))
    labels = rng.normal(size=(m, dim))
    return vectors, labels / np.linalg.norm(labels, axis=1, keepdims=True)


def found(kind: Any, vectors: Any, labels: Any) -> Best:
    return search(kind, vectors @ vectors.T, vectors @ labels.T)


def cosine(total: Any, label: Any) -> float:
    return float(total @ label / np.linalg.norm(total))


def slow_exhaustive(vectors: Any, label: Any) -> float:
    places = range(len(vectors))
    every = [own for size in range(1, len(vectors) + 1) for own in combinations(places, size)]
    return max(cosine(vectors[list(own)].sum(axis=0), label) for own in every)


def slow_greedy(vectors: Any, label: Any) -> float:
    own: list[int] = []
    stages = []
    while len(own) < len(vectors):
        grown = {i: cosine(vectors[[*own, i]].sum(axis=0), label) for i in range(len(vectors)) if i not in own}
        best = max(grown, key=grown.__getitem__)
        own.append(best)
        stages.append(grown[best])
    return max(stages)


@compiled
@given(problems)
def test_the_exhaustive_search_is_the_best_of_all_subsets(problem: tuple[int, int, int, int]) -> None:
    vectors, labels = made(problem)
    expected = [slow_exhaustive(vectors, label) for label in labels]
    np.testing.assert_allclose(found("exhaustive", vectors, labels).cosines, expected, atol=1e-9)


@compiled
@given(problems)
def test_the_growing_search_is_the_best_stage_of_the_growth(problem: tuple[int, int, int, int]) -> None:
    vectors, labels = made(problem)
    expected = [slow_greedy(vectors, label) for label in labels]
    np.testing.assert_allclose(found("greedy", vectors, labels).cosines, expected, atol=1e-9)


@compiled
@given(problems)
def test_the_growing_search_is_never_above_the_exhaustive_one_nor_below_one_label(
    problem: tuple[int, int, int, int],
) -> None:
    vectors, labels = made(problem)
    exact, quick, full = (found(kind, vectors, labels).cosines for kind in ("exhaustive", "greedy", "full"))
    assert np.all(quick <= exact + 1e-12)
    assert np.all(full <= exact + 1e-12)
    alone = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True) @ labels.T).max(axis=0)
    assert np.all(quick >= alone - 1e-12)


@compiled
@given(problems)
def test_one_label_leaves_no_choice(problem: tuple[int, int, int, int]) -> None:
    vectors, labels = made((problem[0], 1, *problem[2:]))
    exact, quick, full = (found(kind, vectors, labels) for kind in ("exhaustive", "greedy", "full"))
    np.testing.assert_array_equal(exact.cosines, quick.cosines)
    np.testing.assert_array_equal(exact.cosines, full.cosines)
    assert exact.members.tolist() == quick.members.tolist() == full.members.tolist() == [1] * len(labels)


@compiled
@given(problems, st.sampled_from(["exhaustive", "greedy", "full"]))
def test_the_subset_has_the_cosine(problem: tuple[int, int, int, int], kind: Any) -> None:
    vectors, labels = made(problem)
    best = found(kind, vectors, labels)
    inside = is_member(best.members, len(vectors))
    expected = [cosine(vectors[own].sum(axis=0), label) for own, label in zip(inside.T, labels, strict=True)]
    np.testing.assert_allclose(best.cosines, expected, atol=1e-9)


@compiled
@given(problems)
def test_a_label_is_scored_the_same_beside_any_others(problem: tuple[int, int, int, int]) -> None:
    vectors, labels = made(problem)
    gram, cross = vectors @ vectors.T, vectors @ labels.T
    for kind in ("exhaustive", "greedy"):
        together = search(kind, gram, cross)
        for i in range(len(labels)):
            alone = search(kind, gram, cross[:, [i]])
            np.testing.assert_allclose(alone.cosines[0], together.cosines[i], atol=1e-12)


def test_of_equal_subsets_the_smallest() -> None:
    """Twice the same direction: each alone and both together have the same cosine."""
    vectors = np.array([[0.5, 0], [0.25, 0]])
    for kind in ("exhaustive", "greedy"):
        assert found(kind, vectors, np.array([[1.0, 0]])).members.tolist() == [1]


def test_no_labels_at_all() -> None:
    best = search("exhaustive", np.zeros((0, 0)), np.zeros((0, 3)))
    assert best.cosines.tolist() == [0, 0, 0]
    assert best.members.tolist() == [0, 0, 0]


@pytest.mark.parametrize("kind", ["exhaustive", "greedy", "full"])
def test_a_sum_without_length_points_nowhere(kind: Any) -> None:
    opposed = np.array([[1.0, 0], [-1.0, 0]])
    across = found(kind, opposed, np.array([[0, 1.0]]))
    assert across.cosines.tolist() == [0]
    along = found(kind, opposed, np.array([[1.0, 0]]))
    assert along.cosines.tolist() == [0 if kind == "full" else 1]
    assert found(kind, np.zeros((2, 2)), np.array([[1.0, 0]])).cosines.tolist() == [0]


def test_a_case_that_the_growing_search_misses() -> None:
    """Two labels left and right of the wanted one make it exactly; a third is nearer than each, and is taken first."""
    vectors = np.array([[1.0, 1, 0], [1, -1, 0], [1, 0, 0.8]])
    label = np.array([[1.0, 0, 0]])
    exact, quick = found("exhaustive", vectors, label), found("greedy", vectors, label)
    assert exact.cosines.tolist() == [pytest.approx(1)]
    assert exact.members.tolist() == [0b011]
    assert quick.members.tolist() == [0b111]
    assert quick.cosines[0] == pytest.approx(3 / np.sqrt(9 + 0.64))
    gram, cross = vectors @ vectors.T, vectors @ label.T
    loss = loss_of_greedy([(gram, cross), (gram[:1, :1], cross[:1])])
    assert loss == pytest.approx((2, 0.5, (1 - quick.cosines[0]) / 2, 1 - quick.cosines[0]))


def test_no_search_loses_nothing() -> None:
    assert loss_of_greedy([]) == Loss(0, 0, 0, 0)


def test_cosines_stay_inside_despite_rounding() -> None:
    vectors = np.full((3, 3), 0.1)
    cross = vectors @ np.full((3, 1), 1 / np.sqrt(3)) * (1 + 1e-15)
    assert cosines_of(np.array([7]), vectors @ vectors.T, cross).tolist() == [1]
