"""The solver against liblinear (scikit-learn's LinearSVC, dual, squared hinge): the same weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.svm import LinearSVC

from everylabel.linear.ranker import LinearRanker
from everylabel.linear.solver import Features, SolverConfig, train_level
from everylabel.tree.build import LabelTree, build_tree

EXACT = SolverConfig(tolerance=1e-5, max_epochs=3000, prune=0.0)


def problem(n_docs: int, n_columns: int, n_labels: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.random((n_docs, n_columns)) * (rng.random((n_docs, n_columns)) < 0.4)
    X[:, 0] += 0.1
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    Y = rng.random((n_docs, n_labels)) < 0.25
    Y[rng.integers(n_docs, size=n_labels), np.arange(n_labels)] = True
    Y[:, Y.all(axis=0)] &= rng.random((n_docs, 1)) < 0.5
    return X.astype(np.float32), Y


def liblinear(X: Any, y: Any, config: SolverConfig, sample_weight: Any = None) -> Any:
    """Weights with the bias last; dense, as LinearSVC refuses some sparse matrices."""
    model = LinearSVC(
        loss="squared_hinge",
        dual=True,
        tol=1e-9,
        max_iter=1_000_000,
        C=1.0,
        class_weight={True: config.cost_positive, False: config.cost_negative},
        fit_intercept=config.bias > 0,
        intercept_scaling=config.bias or 1.0,
    ).fit(X.astype(np.float64), y, sample_weight)
    # scikit-learn folds the constant feature's value into the intercept; the solver keeps the plain weight
    return np.append(model.coef_[0], model.intercept_ / (config.bias or 1.0))


def weights(features: Features, Y: Any, tree: LabelTree, config: SolverConfig) -> Any:
    """All levels' weights, (columns + bias, nodes) each, with columns of zeros up to the widest level."""
    ranker = LinearRanker(solver=config, matcher_negatives=False).fit(features, csr_matrix(Y, dtype=np.float32), tree)
    found = np.zeros((tree.depth, features.n_columns + 1, Y.shape[1]), np.float32)
    for t in range(tree.depth):
        level = ranker.weights(t).toarray()
        found[t, :, : level.shape[1]] = level
    return found


def flat_weights(X: Any, Y: Any, config: SolverConfig) -> Any:
    """(columns + bias, labels), every label against all documents."""
    everything = csr_matrix(np.ones((len(X), 1), np.float32))
    children = np.array([0, Y.shape[1]], np.int64)
    pairs = csr_matrix(Y, dtype=np.float32)
    return train_level(Features.of(csr_matrix(X)), pairs, everything, children, config, seed=0, name="").toarray()


@pytest.mark.parametrize(
    ("n_docs", "n_columns", "n_labels"),
    [(40, 8, 1), (60, 30, 5), (50, 12, 16), (50, 12, 17), (30, 60, 50), (20, 6, 150)],
    ids=["one-label", "wide", "full-lanes", "one-over", "several-lanes", "several-tasks"],
)
def test_same_weights(n_docs: int, n_columns: int, n_labels: int) -> None:
    X, Y = problem(n_docs, n_columns, n_labels)
    found = flat_weights(X, Y, EXACT)
    for label in range(n_labels):
        np.testing.assert_allclose(found[:, label], liblinear(X, Y[:, label], EXACT), atol=1e-3)


@pytest.mark.parametrize(("positive", "negative"), [(1.0, 1.0), (2.0, 1.0), (0.3, 1.0), (1.0, 4.0)])
@pytest.mark.parametrize("bias", [1.0, 0.0, 0.5])
def test_separate_costs_and_bias(positive: float, negative: float, bias: float) -> None:
    X, Y = problem(60, 20, 3, seed=1)
    config = replace(EXACT, cost_positive=positive, cost_negative=negative, bias=bias)
    found = flat_weights(X, Y, config)
    for label in range(3):
        np.testing.assert_allclose(found[:, label], liblinear(X, Y[:, label], config), atol=1e-3)


@pytest.mark.parametrize("positive", [1.0, 2.0])
def test_positives_of_different_weights(positive: float) -> None:
    X, Y = problem(60, 20, 18, seed=5)
    config = replace(EXACT, cost_positive=positive)
    counts = np.where(Y, np.random.default_rng(5).integers(1, 5, Y.shape), 0)
    everything = csr_matrix(np.ones((60, 1), np.float32))
    pairs, settings = csr_matrix(counts, dtype=np.float32), {"seed": 0, "name": "", "weighted": True}
    found = train_level(Features.of(csr_matrix(X)), pairs, everything, np.array([0, 18]), config, **settings).toarray()  # type: ignore[arg-type]
    plain = flat_weights(X, Y, config)
    for label in range(18):
        expected = liblinear(X, Y[:, label], config, np.where(Y[:, label], counts[:, label], 1))
        np.testing.assert_allclose(found[:, label], expected, atol=1e-3)
    assert np.abs(found - plain).max() > 0.1


def test_a_document_costs_a_node_by_the_share_of_its_labels_below_it() -> None:
    X, Y = problem(120, 15, 12, seed=3)
    labels, rng = np.arange(12, dtype=np.int32), np.random.default_rng(0)
    tree = build_tree((Y.T @ X).astype(np.float32), labels, leaf_size=3, arity=2, rng=rng)
    found = weights(Features.of(csr_matrix(X)), Y, tree, replace(EXACT, shares=True))
    in_order, n_labels = Y[:, tree.order], Y.sum(axis=1)
    for level in range(tree.depth):
        parents, nodes = tree.node_of_label(level), tree.node_of_label(level + 1)
        for node in range(nodes.max() + 1):
            below = in_order[:, nodes == node].sum(axis=1)
            seen = in_order[:, parents == parents[nodes == node][0]].any(axis=1) | (level == 0)
            if (below[seen] > 0).all():
                continue  # liblinear refuses a single class
            costs = np.where(below > 0, below / np.maximum(n_labels, 1), 1)[seen]
            expected = liblinear(X[seen], below[seen] > 0, EXACT, costs)
            np.testing.assert_allclose(found[level, :, node], expected, atol=1e-3, rtol=1e-3)


def test_documents_without_words() -> None:
    X, Y = problem(40, 10, 4, seed=2)
    X[::5] = 0
    found = flat_weights(X, Y, EXACT)
    for label in range(4):
        np.testing.assert_allclose(found[:, label], liblinear(X, Y[:, label], EXACT), atol=1e-3)


def test_a_node_of_the_tree_learns_from_its_parents_documents() -> None:
    X, Y = problem(120, 15, 12, seed=3)
    rng = np.random.default_rng(0)
    labels = np.arange(12, dtype=np.int32)
    tree = build_tree((Y.T @ X).astype(np.float32), labels, leaf_size=3, arity=2, rng=rng)
    assert tree.depth == 3
    found = weights(Features.of(csr_matrix(X)), Y, tree, EXACT)
    in_order = Y[:, tree.order]
    for level in range(tree.depth):
        parents, nodes = tree.node_of_label(level), tree.node_of_label(level + 1)
        for node in range(nodes.max() + 1):
            belongs = in_order[:, nodes == node].any(axis=1)
            seen = in_order[:, parents == parents[nodes == node][0]].any(axis=1)
            if level == 0:
                seen[:] = True  # the root's children are told apart from all documents
            if belongs[seen].all():
                continue  # liblinear refuses a single class
            expected = liblinear(X[seen], belongs[seen], EXACT)
            np.testing.assert_allclose(found[level, :, node], expected, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("bias", [1.0, 0.0])
@pytest.mark.parametrize("n_dense", [1, 5, 20])
def test_sparse_and_dense_side_by_side_are_one_matrix(n_dense: int, bias: float) -> None:
    X, Y = problem(60, 20, 18, seed=4)
    X[:, -n_dense:] += 0.1  # dense, and the sparse part of a document may be empty
    config = replace(EXACT, bias=bias)
    vectors, labels, rng = (Y.T @ X).astype(np.float32), np.arange(18, dtype=np.int32), np.random.default_rng(0)
    tree = build_tree(vectors, labels, leaf_size=6, arity=2, rng=rng)
    pairs = csr_matrix(Y, dtype=np.float32)
    both = Features.of(csr_matrix(X[:, : 20 - n_dense]), X[:, 20 - n_dense :])
    alone = Features.of(csr_matrix(X))
    assert (both.n_docs, both.n_columns) == (alone.n_docs, alone.n_columns) == (60, 20)
    rankers = [LinearRanker(solver=config).fit(features, pairs, tree) for features in (both, alone)]
    for t in range(tree.depth):
        mine, other = (ranker.weights(t).toarray() for ranker in rankers)
        np.testing.assert_allclose(mine, other, atol=1e-3, rtol=1e-3)
    one, other = (ranker.rank(features, 5) for ranker, features in zip(rankers, (both, alone), strict=True))
    np.testing.assert_allclose(one.scores, other.scores, atol=5e-3)
    # rankings by the same weights are the same, whichever way the columns come
    one, other = rankers[0].rank(both, 5), rankers[0].rank(alone, 5)
    np.testing.assert_array_equal(one.ids, other.ids)
    np.testing.assert_allclose(one.scores, other.scores, atol=1e-5)
