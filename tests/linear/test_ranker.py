"""Training of the linear ranker: which documents a node sees, pruning, settings, state (weights: parity/)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from everylabel.errors import ConfigError
from everylabel.linear.ranker import LinearRanker, shares
from everylabel.linear.solver import Features, SolverConfig
from everylabel.tree.build import LabelTree, build_tree, flat_tree

EXACT = SolverConfig(tolerance=1e-5, max_epochs=3000, prune=0.0)


def problem(n_docs: int = 120, n_labels: int = 20, seed: int = 0) -> tuple[Any, Any, LabelTree]:
    """Each label has a column of its own and a document the columns of its labels, with noise in others."""
    rng = np.random.default_rng(seed)
    Y = rng.random((n_docs, n_labels)) < 2 / n_labels
    Y[np.arange(n_docs), np.arange(n_docs) % n_labels] = True
    noise = rng.random((n_docs, 10)) * (rng.random((n_docs, 10)) < 0.3)
    X = np.hstack([Y, 0.3 * noise])
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    labels = np.arange(n_labels, dtype=np.int32)
    tree = build_tree((Y.T @ X).astype(np.float32), labels, leaf_size=5, arity=2, rng=rng)
    return csr_matrix(X), csr_matrix(Y, dtype=np.float32), tree


@pytest.mark.parametrize("matcher_negatives", [False, True])
@pytest.mark.parametrize("beam", [1, 3, 50])
def test_it_finds_the_labels_of_separable_documents(matcher_negatives: bool, beam: int) -> None:
    X, Y, tree = problem()
    ranker = LinearRanker(matcher_negatives=matcher_negatives, beam=beam).fit(Features.of(X), Y, tree)
    alone = csr_matrix(np.eye(20, 30, dtype=np.float32))  # a document of one label's column
    assert ranker.rank(Features.of(alone), 1).ids.ravel().tolist() == list(range(20))
    rows = np.flatnonzero(Y.sum(axis=1) >= 2)
    found = ranker.rank(Features.of(X), 1, beam=50).ids.ravel()
    assert np.mean([Y[row, found[row]] == 1 for row in rows]) == 1


def test_a_matcher_that_sends_every_document_everywhere_trains_on_all_documents() -> None:
    X, Y, tree = problem()
    assert tree.depth > 1
    flat = LinearRanker(solver=EXACT).fit(Features.of(X), Y, flat_tree(tree.order)).weights(0).toarray()
    ranker = LinearRanker(solver=EXACT, beam=1000, matcher_negatives=True).fit(Features.of(X), Y, tree)
    np.testing.assert_allclose(ranker.weights(tree.depth - 1).toarray(), flat, atol=1e-3, rtol=1e-3)
    teacher = LinearRanker(solver=EXACT, beam=1000, matcher_negatives=False).fit(Features.of(X), Y, tree)
    assert np.abs(teacher.weights(tree.depth - 1).toarray() - flat).max() > 0.01


def test_shares_are_a_row_s_numbers_by_their_sum() -> None:
    """Of a document with three labels below one node and one below another: 3/4 and 1/4. A row of zeros stays."""
    positives = csr_matrix(np.array([[3, 0, 1], [0, 0, 0], [0, 2, 0]], np.float32))
    np.testing.assert_array_equal(shares(positives).toarray(), [[0.75, 0, 0.25], [0, 0, 0], [0, 1, 0]])
    assert positives.data.tolist() == [3, 1, 2]  # the given ones are as they were


def test_the_best_groups_are_those_that_the_best_labels_are_in() -> None:
    X, Y, tree = problem()
    ranker = LinearRanker(beam=50).fit(Features.of(X), Y, tree)
    alone = Features.of(csr_matrix(np.eye(20, 30, dtype=np.float32)))
    groups = ranker.best_groups(alone, 2)
    starts, places = tree.children[-1], np.argsort(tree.order)
    for label, group in enumerate(groups.ids[:, 0]):
        assert starts[group] <= places[label] < starts[group + 1]
    assert (groups.scores[:, 0] > groups.scores[:, 1]).all()
    for own, found in zip(groups.ids, ranker.labels_of_groups(alone, 2), strict=True):
        expected = [label for group in own for label in tree.order[starts[group] : starts[group + 1]]]
        assert [label for label in found if label >= 0] == expected
    flat = LinearRanker().fit(Features.of(X), Y, flat_tree(tree.order))
    assert flat.best_groups(alone, 3).ids.tolist() == [[0]] * 20


def test_the_order_of_a_flat_tree_does_not_matter() -> None:
    X, Y, _ = problem()
    orders = [np.arange(20, dtype=np.int32), np.random.default_rng(5).permutation(20).astype(np.int32)]
    one, other = (LinearRanker(solver=EXACT).fit(Features.of(X), Y, flat_tree(order)) for order in orders)
    mine, theirs = one.weights(0).toarray()[:, orders[1]], other.weights(0).toarray()
    np.testing.assert_allclose(mine, theirs, atol=1e-3, rtol=1e-3)
    np.testing.assert_allclose(one.rank(Features.of(X), 5).scores, other.rank(Features.of(X), 5).scores, atol=1e-2)


@pytest.mark.parametrize("prune", [0.01, 0.1, 1e9])
def test_pruning_drops_weights_that_do_little_and_nothing_else(prune: float) -> None:
    X, Y, tree = problem()

    def fitted(prune: float) -> LinearRanker:
        solver = replace(EXACT, prune=prune)
        return LinearRanker(solver=solver, matcher_negatives=False).fit(Features.of(X), Y, tree)

    dense = X.toarray()
    typical = np.sqrt((dense**2).sum(axis=0) / np.maximum((dense != 0).sum(axis=0), 1))[:, None]
    for t in range(tree.depth):
        whole, pruned = fitted(0.0).weights(t).toarray(), fitted(prune).weights(t).toarray()
        least = prune * np.sqrt(np.linalg.norm(whole[:-1], axis=0))  # of what a weight does to a margin
        kept = np.vstack([np.abs(whole[:-1]) * typical > least, np.ones((1, whole.shape[1]), bool)])
        sure = np.vstack([np.abs(np.abs(whole[:-1]) * typical - least) > 1e-3 * least, kept[-1:]])
        np.testing.assert_allclose(pruned[sure], np.where(kept, whole, 0)[sure], atol=1e-3)
    found = fitted(prune).rank(Features.of(X), 3)
    assert np.all((found.ids >= 0) & (found.scores >= 0) & (found.scores <= 1))


def test_labels_outside_the_tree_are_never_ranked() -> None:
    X, Y, _ = problem()
    ranker = LinearRanker().fit(Features.of(X), Y, flat_tree(np.array([3, 17, 8], np.int32)))
    found = ranker.rank(Features.of(X), 5)
    assert set(found.ids.ravel().tolist()) == {3, 8, 17, -1}
    assert np.all(found.ids[:, 3:] == -1)


@pytest.mark.parametrize("threads", ["1", "2", "3"])
def test_deterministic_on_any_number_of_threads(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y, tree = problem()
    expected = LinearRanker(random_state=3).fit(Features.of(X), Y, tree)
    monkeypatch.setenv("EVERYLABEL_THREADS", threads)
    found = LinearRanker(random_state=3).fit(Features.of(X), Y, tree)
    for mine, other in zip(found.lists_, expected.lists_, strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("n_dense", [0, 7])
def test_state_round_trip(n_dense: int) -> None:
    X, Y, tree = problem()
    split = X.shape[1] - n_dense
    features = Features.of(X[:, :split], X[:, split:].toarray())
    fitted = LinearRanker(beam=2).fit(features, Y, tree)
    restored = LinearRanker(beam=2).restore(fitted.state())
    for mine, other in zip(fitted.rank(features, 7), restored.rank(features, 7), strict=True):
        np.testing.assert_array_equal(mine, other)


def test_features_of_another_width_are_refused() -> None:
    X, Y, tree = problem()
    ranker = LinearRanker().fit(Features.of(X), Y, tree)
    for width in (29, 31):
        with pytest.raises(ConfigError, match=f"30 feature columns.*got {width}"):
            ranker.rank(Features.of(csr_matrix((2, width), dtype=np.float32)), 3)
    with pytest.raises(ConfigError, match="got 31"):
        ranker.rank(Features.of(X, np.ones((X.shape[0], 1), np.float32)), 3)


@pytest.mark.parametrize(
    "settings",
    [{"cost_positive": 0.0}, {"cost_negative": -1.0}, {"tolerance": 0.0}, {"max_epochs": 0}, {"prune": -0.1}],
)
def test_solver_settings_that_cannot_work(settings: dict[str, float]) -> None:
    X, Y, tree = problem()
    with pytest.raises(ConfigError, match="solver"):
        LinearRanker(solver=SolverConfig(**settings)).fit(Features.of(X), Y, tree)  # type: ignore[arg-type]


def test_a_beam_of_nothing_is_refused() -> None:
    X, Y, tree = problem()
    with pytest.raises(ConfigError, match="beam must be at least 1"):
        LinearRanker(beam=0).fit(Features.of(X), Y, tree)


def test_training_leaves_its_inputs_alone() -> None:
    X, Y, tree = problem()
    before = [X.toarray(), Y.toarray(), tree.order.copy()]
    LinearRanker(matcher_negatives=True).fit(Features.of(X), Y, tree).rank(Features.of(X), 3)
    for was, now in zip(before, [X.toarray(), Y.toarray(), tree.order], strict=True):
        np.testing.assert_array_equal(was, now)
