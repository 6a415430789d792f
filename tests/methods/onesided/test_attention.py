"""Label-wise attention against slow attention over all tokens; and the spread of vectors against its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from everylabel.data.dataset import pairs_from_lists
from everylabel.methods.onesided import attention
from everylabel.methods.onesided import spread as spread_module
from everylabel.methods.onesided.attention import TokenRows, attended_cosines, attended_products, weights_of
from everylabel.methods.onesided.module import unit
from everylabel.methods.onesided.spread import between, isolation, projection, row_of, spread
from everylabel.metrics import ranking as metrics
from everylabel.types import Ranking

DOCUMENTS = [[3, 1, 3, 3, 2], [], [0], [5, 5, 1, 4, 0, 2, 5, 2]]  # tokens with repetitions
SETS = torch.tensor([[0, 2, 1], [1, 1, 0], [2, 0, 1], [0, 1, 3]])


def problem() -> tuple[torch.Tensor, torch.Tensor]:
    source = torch.Generator().manual_seed(0)
    table = torch.randn(6, 5, generator=source, dtype=torch.float64)
    return table.requires_grad_(), (torch.randn(4, 5, generator=source, dtype=torch.float64) * 3).requires_grad_()


def distinct(table: torch.Tensor, sparse: bool) -> TokenRows:
    found = [np.unique(row, return_counts=True) for row in DOCUMENTS]
    ids = np.concatenate([own for own, _ in found]).astype(np.int64)
    counts = np.concatenate([counts for _, counts in found])
    offsets = np.concatenate([[0], np.cumsum([len(own) for own, _ in found])]).astype(np.int64)
    bias = torch.from_numpy(np.log(counts))
    return TokenRows(table, torch.from_numpy(ids), bias, offsets, ids if sparse else None)


def slow(table: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
    """The paper's formula, over all tokens, one (document, label) at a time."""
    rows = []
    for document, asked in zip(DOCUMENTS, SETS.tolist(), strict=True):
        for label in asked:
            tokens = table[document]
            weights = (tokens @ queries[label] / 5**0.5).softmax(dim=0)
            rows.append(weights @ tokens if document else torch.zeros(5, dtype=torch.float64))
    return torch.stack(rows).reshape(4, 3, 5)


def slow_cosines(table: torch.Tensor, queries: torch.Tensor, outputs: torch.Tensor, mean: torch.Tensor) -> torch.Tensor:
    return (unit(unit(slow(table, queries)) - mean) * outputs[SETS]).sum(dim=2)


@pytest.mark.parametrize("together", [1, 60, 10_000])  # one document at a time, some, all
@pytest.mark.parametrize("sparse", [False, True])
def test_distinct_tokens_with_their_counts_are_all_tokens(
    monkeypatch: pytest.MonkeyPatch, sparse: bool, together: int
) -> None:
    monkeypatch.setattr(attention, "TOGETHER", together)
    table, queries = problem()
    source = torch.Generator().manual_seed(1)
    outputs = unit(torch.randn(4, 5, generator=source, dtype=torch.float64)).requires_grad_()
    mean, pull = torch.full((5,), 0.2, dtype=torch.float64), torch.randn(4, 3, generator=source, dtype=torch.float64)
    expected = slow_cosines(table, queries, outputs, mean)
    pull[1] = 0  # a document without tokens teaches nothing
    wanted = torch.autograd.grad((expected * pull).sum(), [table, queries, outputs])
    found = attended_cosines(distinct(table, sparse), queries, outputs, mean, SETS)
    torch.testing.assert_close(found, expected)
    of_table, *of_labels = torch.autograd.grad((found * pull).sum(), [table, queries, outputs])
    assert of_table.is_sparse == sparse
    for ours, right in zip([of_table.to_dense(), *of_labels], wanted, strict=True):
        torch.testing.assert_close(ours, right)
    every = attended_cosines(distinct(table, sparse), queries, outputs, mean, SETS)
    assert all(torch.isfinite(part.to_dense()).all() for part in torch.autograd.grad(every.sum(), [table, queries]))


@pytest.mark.parametrize("sparse", [False, True])
def test_products_of_what_labels_see(monkeypatch: pytest.MonkeyPatch, sparse: bool) -> None:
    """Section 4.3.1: w . x without any length made 1; a document without tokens is 0."""
    monkeypatch.setattr(attention, "TOGETHER", 60)
    table, queries = problem()
    source = torch.Generator().manual_seed(1)
    outputs = torch.randn(4, 5, generator=source, dtype=torch.float64).requires_grad_()
    pull = torch.randn(4, 3, generator=source, dtype=torch.float64)
    expected = (slow(table, queries) * outputs[SETS]).sum(dim=2)
    wanted = torch.autograd.grad((expected * pull).sum(), [table, queries, outputs])
    found = attended_products(distinct(table, sparse), queries, outputs, SETS)
    torch.testing.assert_close(found, expected)
    for ours, right in zip(torch.autograd.grad((found * pull).sum(), [table, queries, outputs]), wanted, strict=True):
        torch.testing.assert_close(ours.to_dense(), right)


def test_weights_of_one_document() -> None:
    table, queries = problem()
    rows = distinct(table, sparse=True)
    found = weights_of(rows, 3, queries[1])
    assert found.sum() == pytest.approx(1)
    tokens = rows.table[rows.ids[rows.offsets[3] :]].detach().numpy()
    np.testing.assert_allclose(found @ tokens, slow(table, queries)[3, 1].detach().numpy(), rtol=1e-5)


# --- what is watched


@pytest.mark.parametrize(("n", "dim"), [(2, 5), (7, 3), (4, 9)])
def test_spread_by_its_definition(n: int, dim: int) -> None:
    vectors = np.random.default_rng(n).normal(size=(n, dim)).astype(np.float32) + 0.5
    units = vectors.astype(np.float64) / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = [units[i] @ units[j] for i in range(n) for j in range(n) if i != j]
    variances = np.linalg.eigvalsh(np.cov(units.T))
    found = spread(vectors)
    assert found is not None
    assert found.cosine == pytest.approx(np.mean(cosines), abs=1e-6)
    assert found.participation == pytest.approx(variances.sum() ** 2 / np.square(variances).sum(), rel=1e-4)


def test_spread_of_what_is_spread_and_of_what_has_collapsed() -> None:
    assert spread(np.ones((1, 3), np.float32)) is None
    assert spread(np.ones((4, 3), np.float32)) == pytest.approx((1, 0), abs=1e-6)
    assert spread(np.concatenate([np.eye(3), -np.eye(3)]).astype(np.float32)) == pytest.approx((-1 / 5, 3))


def test_isolation_by_its_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread_module, "NEIGHBOURS", 3)
    monkeypatch.setattr(spread_module, "ROWS", 2)
    vectors = np.random.default_rng(0).normal(size=(12, 4)).astype(np.float32)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    shares = []
    for i in range(7, 12):
        nearest = sorted((j for j in range(12) if j != i), key=lambda j: -float(units[i] @ units[j]))[:3]
        shares.append(np.mean([j >= 7 for j in nearest]))
    assert isolation(vectors[:7], vectors[7:]) == pytest.approx((np.mean(shares) - 4 / 11) / (1 - 4 / 11))
    pairs = [units[i] @ units[j] for i in range(7) for j in range(7, 12)]
    assert between(vectors[:7], vectors[7:]) == pytest.approx(np.mean(pairs), abs=1e-6)


def test_a_heap_of_its_own_is_told_from_labels_that_are_all_alike() -> None:
    """What the mean cosine of unseen labels alone cannot tell: two worlds with the same."""
    rng = np.random.default_rng(0)
    noise, here, there = rng.normal(size=(400, 16)), np.zeros(16), np.zeros(16)
    here[0], there[1] = 8, 8
    unseen = noise[:40] + here
    alike, apart = ((noise[40:] + centre).astype(np.float32) for centre in (here, there))
    assert isolation(alike, unseen.astype(np.float32)) == pytest.approx(0, abs=0.15)
    assert isolation(apart, unseen.astype(np.float32)) == pytest.approx(1)
    own = spread(unseen.astype(np.float32))
    assert own is not None
    assert own.cosine == pytest.approx(between(alike, unseen.astype(np.float32)), abs=0.05)
    assert own.cosine > 0.5 + (between(apart, unseen.astype(np.float32)) or 0)


def test_isolation_of_few() -> None:
    two = np.eye(4, dtype=np.float32)
    assert isolation(two[:3], two[3:]) is None
    assert isolation(two[:0], two) is None
    assert between(two[:0], two) is None
    assert isolation(two[:2], np.stack([two[2], two[2]])) == 1


def test_measures_are_those_of_the_evaluation() -> None:
    rng = np.random.default_rng(0)
    truth = pairs_from_lists([rng.permutation(30)[: rng.integers(0, 8)].tolist() for _ in range(20)], 30)
    scores = rng.random((20, 30)).astype(np.float32)
    ranking = Ranking.best_of(np.tile(np.arange(30, dtype=np.int32), (20, 1)), scores, 12)
    hidden = np.arange(30) % 3 == 0
    measured = metrics.evaluate(ranking, truth, np.where(hidden, 0, 1), 20)
    row = row_of(3, ranking, truth, hidden, np.ones((0, 4), np.float32), 0)
    assert (row["ndcg@5"], row["zsr@100"]) == (measured["nDCG@5"], measured["ZSR@100"])
    empty: Any = pairs_from_lists([[]] * 20, 30)
    row = row_of(3, ranking, empty, hidden, np.ones((0, 4), np.float32), 0)
    collapse = ("unseen_cosine", "unseen_participation", "seen_cosine", "unseen_seen_cosine", "unseen_isolation")
    nothing = dict.fromkeys(("ndcg@5", "zsr@100", *collapse))
    assert row == {"step": 3, **nothing, "projection": {"seen": [], "unseen": []}}


def test_a_projection_keeps_distances_within_two_dimensions_and_shows_a_part_of_many() -> None:
    rng = np.random.default_rng(0)
    angles = rng.uniform(0, 2 * np.pi, 700)
    plane = np.linalg.qr(rng.normal(size=(6, 2)))[0].T
    vectors = (np.stack([np.cos(angles), np.sin(angles)], axis=1) @ plane).astype(np.float32)
    found = projection(vectors[:650], vectors[650:])
    assert len(found["seen"]) == -(-650 // 3)
    points = np.array(found["unseen"])
    expected = np.linalg.norm(vectors[650:, None] - vectors[None, 650:], axis=2)
    np.testing.assert_allclose(np.linalg.norm(points[:, None] - points[None], axis=2), expected, atol=3e-3)
