"""The beam search against a slow one in numpy, on trees and weights made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from everylabel.linear.lists import Lists
from everylabel.linear.ranker import LinearRanker
from everylabel.linear.scoring import probability
from everylabel.linear.solver import Features, SolverConfig
from everylabel.tree.build import LabelTree, build_tree, flat_tree
from everylabel.types import Ranking

BIAS = 0.5


def tree_of(n_labels: int, leaf_size: int, arity: int, seed: int = 0) -> LabelTree:
    rng = np.random.default_rng(seed)
    vectors, labels = rng.random((n_labels, 4)), rng.permutation(n_labels).astype(np.int32)
    return build_tree(vectors.astype(np.float32), labels, leaf_size=leaf_size, arity=arity, rng=rng)


def weights_of(tree: LabelTree, n_columns: int, density: float, seed: int = 0) -> list[Any]:
    """Of each level (columns + bias, nodes), in the steps that lists keep."""
    rng = np.random.default_rng(seed)
    shapes = [(n_columns + 1, int(starts[-1])) for starts in tree.children]
    levels = [(rng.normal(size=shape) * (rng.random(shape) < density)).astype(np.float32) for shape in shapes]
    return [Lists.of_levels([csr_matrix(level)]).level(0, level.shape[1]).toarray() for level in levels]


def ranker_of(tree: LabelTree, levels: list[Any], beam: int = 10) -> LinearRanker:
    """A ranker that learned these weights."""
    ranker = LinearRanker(solver=SolverConfig(bias=BIAS), beam=beam)
    ranker.tree_, ranker.n_columns_ = tree, levels[0].shape[0] - 1
    ranker.lists_ = Lists.of_levels([csr_matrix(level, dtype=np.float32) for level in levels])
    return ranker


def documents(n_docs: int, n_columns: int, density: float, seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    X = rng.random((n_docs, n_columns)) * (rng.random((n_docs, n_columns)) < density)
    return X.astype(np.float32)


def probability_of(margin: float) -> float:
    return float(probability(np.float32(margin)))


def slow_rank(tree: LabelTree, levels: list[Any], x: Any, k: int, beam: int) -> list[tuple[int, float]]:
    """(label, score) best first: at each level the best nodes by the product of the probabilities along the path."""
    paths = [(1.0, 0)]
    for level, starts in zip(levels, tree.children, strict=True):
        margins = np.append(x, BIAS).astype(np.float64) @ level
        reached = [(score, child) for score, node in paths for child in range(starts[node], starts[node + 1])]
        scored = [(score * probability_of(margins[child]), child) for score, child in reached]
        paths = (
            sorted(scored, key=lambda path: (-path[0], path[1]))[:beam] if starts is not tree.children[-1] else scored
        )
    best = sorted((-score, int(tree.order[place])) for score, place in paths)[:k]
    return [(label, -score) for score, label in best]


def assert_like_slow(found: Ranking, tree: LabelTree, levels: list[Any], X: Any, beam: int) -> None:
    for doc, x in enumerate(X):
        expected = slow_rank(tree, levels, x, found.k, beam)
        n = len(expected)
        np.testing.assert_array_equal(found.ids[doc, n:], -1)
        assert np.all(np.isneginf(found.scores[doc, n:]))
        scores = np.array([score for _, score in expected])
        np.testing.assert_allclose(found.scores[doc, :n], scores, atol=2e-6)
        for i, (label, score) in enumerate(expected):  # where rounding cannot have swapped two
            others = np.delete(scores, i)
            if i < found.k - 1 and (len(others) == 0 or np.abs(others - score).min() > 1e-5):
                assert found.ids[doc, i] == label


def test_probabilities() -> None:
    margins = np.array([-100, -3, -1, -0.1, 0, 0.3, 0.9, 0.999, 1, 1.5, 80], np.float32)
    found = np.array([probability_of(margin) for margin in margins])
    assert np.all((found >= 0) & (found <= 1))
    assert np.all(np.diff(found) >= 0)
    assert found[1] < found[4] < found[7]


# few words with long lists are searched by branch when the beam is narrow; many with short lists are walked whole
SHAPES = pytest.mark.parametrize(
    ("n_columns", "in_documents", "in_weights"),
    [(4, 1.0, 1.0), (6, 0.5, 1.0), (300, 0.3, 0.01), (60, 0.3, 0.2)],
    ids=["long-lists", "few-words", "short-lists", "between"],
)


@SHAPES
@pytest.mark.parametrize(("leaf_size", "arity"), [(1000, 2), (40, 16), (8, 4), (3, 2)])
def test_a_beam_over_everything_ranks_all_labels(
    n_columns: int, in_documents: float, in_weights: float, leaf_size: int, arity: int
) -> None:
    tree = tree_of(130, leaf_size, arity)
    levels = weights_of(tree, n_columns, in_weights)
    X = documents(12, n_columns, in_documents)
    found = ranker_of(tree, levels, beam=130).rank(Features.of(csr_matrix(X)), 130)
    assert all(sorted(row) == list(range(130)) for row in found.ids.tolist())
    assert_like_slow(found, tree, levels, X, beam=130)


@SHAPES
@pytest.mark.parametrize("beam", [1, 2, 5, 30])
@pytest.mark.parametrize(("leaf_size", "arity"), [(20, 16), (5, 3)])
def test_a_narrow_beam_is_the_slow_beam_search(
    n_columns: int, in_documents: float, in_weights: float, beam: int, leaf_size: int, arity: int
) -> None:
    tree = tree_of(400, leaf_size, arity)
    levels = weights_of(tree, n_columns, in_weights)
    X = documents(12, n_columns, in_documents)
    ranker = ranker_of(tree, levels)
    found = ranker.rank(Features.of(csr_matrix(X)), 3, beam=beam)
    assert_like_slow(found, tree, levels, X, beam)
    np.testing.assert_array_equal(ranker_of(tree, levels, beam=beam).rank(Features.of(csr_matrix(X)), 3).ids, found.ids)


@pytest.mark.parametrize("density", [1.0, 0.1])
def test_a_label_scores_the_same_however_it_is_found(density: float) -> None:
    tree = tree_of(600, leaf_size=6, arity=4)
    ranker = ranker_of(tree, weights_of(tree, 10, density))
    features = Features.of(csr_matrix(documents(20, 10, 0.5)))
    everything = ranker.rank(features, 600, beam=600)
    score_of = {
        (doc, label): everything.scores[doc, i] for doc, row in enumerate(everything.ids) for i, label in enumerate(row)
    }
    for beam in (1, 3, 20):
        ids, scores = ranker.rank(features, 5, beam=beam)
        expected = [[score_of[doc, label] for label in row] for doc, row in enumerate(ids)]
        np.testing.assert_allclose(scores, expected, atol=1e-6)


@given(
    n_labels=st.integers(1, 40),
    leaf_size=st.integers(2, 12),
    arity=st.integers(2, 5),
    beam=st.integers(1, 12),
    k=st.integers(1, 50),
    seed=st.integers(0, 1000),
)
@settings(deadline=None, max_examples=60)
def test_what_every_ranking_is(n_labels: int, leaf_size: int, arity: int, beam: int, k: int, seed: int) -> None:
    tree = tree_of(n_labels, leaf_size, arity, seed)
    levels = [np.round(level) for level in weights_of(tree, 5, 0.5, seed)]  # whole numbers: many equal scores
    features = Features.of(csr_matrix(np.round(documents(6, 5, 0.4, seed))))
    ranker = ranker_of(tree, levels, beam)
    found = ranker.rank(features, k)
    assert found.ids.shape == found.scores.shape == (6, k)
    assert found.ids.dtype == np.int32
    assert found.scores.dtype == np.float32
    smallest_leaf = int(np.diff(tree.children[-1]).min())
    for ids, scores in zip(found.ids, found.scores, strict=True):
        n = int((ids >= 0).sum())
        assert min(k, smallest_leaf) <= n <= min(k, n_labels)  # as many as the beam reaches
        assert np.all(ids[n:] == -1)
        assert np.all(np.isneginf(scores[n:]))
        assert np.all(ids[:n] < n_labels)
        assert len(set(ids[:n].tolist())) == n
        assert np.all((scores[:n] >= 0) & (scores[:n] <= 1))
        assert np.all(np.diff(scores[:n]) <= 0)
        assert np.all(np.diff(ids[:n])[np.diff(scores[:n]) == 0] > 0)
    longer = ranker.rank(features, k + 3)
    np.testing.assert_array_equal(longer.ids[:, :k], found.ids)  # asking for more changes nothing further up


@pytest.mark.parametrize("tree", [flat_tree(np.array([4, 2, 0, 3, 1], np.int32)), tree_of(5, 2, 2)])
def test_equal_scores_go_to_the_lower_label(tree: LabelTree) -> None:
    levels = [np.zeros((4, int(starts[-1])), np.float32) for starts in tree.children]
    features = Features.of(csr_matrix(np.ones((2, 3))))
    assert ranker_of(tree, levels).rank(features, 5).ids.tolist() == [[0, 1, 2, 3, 4]] * 2
    assert ranker_of(tree, levels).rank(features, 2).ids.tolist() == [[0, 1]] * 2


@given(margins=st.lists(st.integers(-60, 60) | st.integers(-2, 8), min_size=1, max_size=30), data=st.data())
@settings(deadline=None)
def test_also_where_a_float_ends_near_0_or_1(margins: list[int], data: st.DataObject) -> None:
    """Margins far out give scores that a float cannot tell apart: the lower label comes first, and into the list."""
    n = len(margins)
    order = data.draw(st.permutations(range(n)))
    k = data.draw(st.integers(1, n))
    levels = [np.array([[0.5 * margin for margin in margins], [0] * n], np.float32)]
    ranker = ranker_of(flat_tree(np.array(order, np.int32)), levels)
    found = ranker.rank(Features.of(csr_matrix([[1.0]])), k)
    kept = ranker.weights(0).toarray()[0]  # in the steps of lists
    best = sorted((-probability_of(margin), label) for margin, label in zip(kept, order, strict=True))[:k]
    assert found.ids.tolist() == [[label for _, label in best]]
    np.testing.assert_allclose(found.scores, [[-score for score, _ in best]], rtol=1e-6)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0]])
def test_a_path_of_probability_zero_ties_by_label_too(order: list[int]) -> None:
    tree = LabelTree(np.array(order, np.int32), (np.array([0, 2]), np.array([0, 2, 4])))
    levels = [np.full((2, 2), -900, np.float32), np.ones((2, 4), np.float32)]
    ids, scores = ranker_of(tree, levels).rank(Features.of(csr_matrix([[1.0]])), 2)
    assert ids.tolist() == [[0, 1]]
    assert scores.tolist() == [[0, 0]]


@pytest.mark.parametrize("n_dense", [0, 2])
def test_documents_without_known_words_are_ranked_by_the_bias(n_dense: int) -> None:
    tree = tree_of(50, 4, 3)
    levels = weights_of(tree, 8, 0.5)
    features = Features.of(csr_matrix((3, 8 - n_dense), dtype=np.float32), np.zeros((3, n_dense), np.float32))
    found = ranker_of(tree, levels).rank(features, 4, beam=7)
    assert_like_slow(found, tree, levels, np.zeros((3, 8)), beam=7)
    assert np.all(found.ids >= 0)


def test_no_documents() -> None:
    tree = tree_of(20, 4, 3)
    found = ranker_of(tree, weights_of(tree, 8, 0.5)).rank(Features.of(csr_matrix((0, 8), dtype=np.float32)), 4)
    assert found.ids.shape == (0, 4)


@pytest.mark.parametrize("beam", [1, 100])
def test_dense_columns_are_like_sparse_ones(beam: int) -> None:
    tree = tree_of(100, 8, 4)
    levels = weights_of(tree, 12, 0.6)
    X = documents(10, 12, 0.6)
    ranker = ranker_of(tree, levels)
    for n_dense in (1, 6, 12):
        features = Features.of(csr_matrix(X[:, : 12 - n_dense]), X[:, 12 - n_dense :])
        assert_like_slow(ranker.rank(features, 4, beam=beam), tree, levels, X, beam)


@pytest.mark.parametrize("threads", ["1", "2"])
def test_many_documents_on_several_threads(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tree_of(60, 8, 4)
    ranker = ranker_of(tree, weights_of(tree, 20, 0.3))
    X = documents(1500, 20, 0.2)
    alone = [ranker.rank(Features.of(csr_matrix(X[doc : doc + 1])), 4) for doc in range(0, 1500, 100)]
    monkeypatch.setenv("EVERYLABEL_THREADS", threads)
    together = ranker.rank(Features.of(csr_matrix(X)), 4)
    np.testing.assert_array_equal(together.ids[::100], np.vstack([one.ids for one in alone]))
    np.testing.assert_array_equal(together.scores[::100], np.vstack([one.scores for one in alone]))
