"""The losses against slow ones that are written down straight from the paper's equations."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch.nn import functional

from everylabel.train.losses import (
    decoupled_softmax,
    info_nce,
    label_regularisation,
    of_positives,
    squared_hinge,
    supervised_contrastive,
)

Floats = NDArray[np.float64]
shapes = given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 7), st.sampled_from([0.05, 0.5, 1.0]))
few = settings(max_examples=40, deadline=None)


def vectors(seed: int, *rows: int) -> list[Floats]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, 3)) for n in rows]


def tensor(array: Floats) -> torch.Tensor:
    return torch.from_numpy(array).requires_grad_()


def tensors(*arrays: Floats) -> list[torch.Tensor]:
    return [tensor(array) for array in arrays]


def share(x: Floats, y: Floats, others: Floats, temperature: float) -> float:
    """log(exp(x.y / t) / the sum over all others of exp(x.other / t)), without overflow."""
    over = np.array([x @ other / temperature for other in others])
    return float(x @ y / temperature - (over.max() + np.log(np.exp(over - over.max()).sum())))


@shapes
@few
def test_info_nce_is_equation_2(seed: int, n: int, extra: int, temperature: float) -> None:
    x, y = vectors(seed, n, n + extra - 1)
    expected = -np.mean([share(x[i], y[i], y, temperature) for i in range(n)])
    assert info_nce(tensor(x), tensor(y), temperature).item() == pytest.approx(expected, abs=1e-9)


@shapes
@few
def test_supervised_contrastive_is_equation_3(seed: int, n: int, m: int, temperature: float) -> None:
    x, y = vectors(seed, n, m)
    mask = np.random.default_rng(seed).random((n, m)) < 0.4
    rows = [
        -np.mean([share(x[i], y[p], y, temperature) for p in np.flatnonzero(mask[i])])
        for i in range(n)
        if mask[i].any()
    ]
    expected = np.mean(rows) if rows else 0.0
    loss = supervised_contrastive(tensor(x), tensor(y), mask, temperature)
    assert loss.item() == pytest.approx(expected, abs=1e-9)
    same = supervised_contrastive(tensor(x), tensor(y), torch.from_numpy(mask), temperature)
    assert same.item() == loss.item()


@shapes
@few
def test_positives_may_count_for_more_or_less(seed: int, n: int, m: int, temperature: float) -> None:
    x, y = vectors(seed, n, m)
    rng = np.random.default_rng(seed)
    weights = np.where(rng.random((n, m)) < 0.4, rng.random((n, m)), 0)
    rows = [
        -np.average([share(x[i], y[p], y, temperature) for p in range(m)], weights=weights[i])
        for i in range(n)
        if weights[i].any()
    ]
    loss = supervised_contrastive(tensor(x), tensor(y), weights, temperature)
    assert loss.item() == pytest.approx(np.mean(rows) if rows else 0.0, abs=1e-9)
    mask = weights > 0
    same = [supervised_contrastive(tensor(x), tensor(y), mask * weight, temperature) for weight in (1.0, 0.25)]
    assert same[0].item() == supervised_contrastive(tensor(x), tensor(y), mask, temperature).item()
    torch.testing.assert_close(*same)


@shapes
@few
def test_label_regularisation_is_equation_4_with_all_twins(seed: int, n: int, m: int, temperature: float) -> None:
    """As the authors' loss.py: twins of the same cluster are positives, all twins and labels the denominator."""
    x, twins, labels = vectors(seed, n, n, m)
    others = np.vstack([twins, labels])
    own = -np.mean([share(x[i], twins[i], others, temperature) for i in range(n)])
    given = tensor(x), tensor(twins), tensor(labels), temperature
    assert label_regularisation(*given).item() == pytest.approx(own, abs=1e-9)
    clusters = np.random.default_rng(seed).integers(0, 2, n)
    mask = clusters[:, None] == clusters
    expected = -np.mean(
        [np.mean([share(x[i], twins[p], others, temperature) for p in np.flatnonzero(mask[i])]) for i in range(n)]
    )
    assert label_regularisation(*given, mask).item() == pytest.approx(expected, abs=1e-9)


def test_label_regularisation_is_not_inert_at_its_own_temperature() -> None:
    """Cosines of a text, its twin, 256 labels that are none of its own: nothing is left to learn at 0.05."""
    rng = np.random.default_rng(0)
    x, labels = (functional.normalize(torch.from_numpy(rng.normal(size=(n, 64)))) for n in (1, 256))
    twin = functional.normalize(x + 0.02 * torch.from_numpy(rng.normal(size=(1, 64))))
    cold, warm = (label_regularisation(x, twin, labels, temperature).item() for temperature in (0.05, 1.0))
    assert cold < 0.001
    assert 3.5 < warm < 5


@pytest.mark.parametrize("n", [1, 4, 9])
def test_the_identity_as_the_mask_is_info_nce(n: int) -> None:
    x, y = tensors(*vectors(n, n, n))
    torch.testing.assert_close(supervised_contrastive(x, y, np.eye(n, dtype=bool), 0.3), info_nce(x, y, 0.3))


def test_no_positive_at_all_is_a_loss_of_zero_with_zero_gradients() -> None:
    x, y = tensors(*vectors(0, 3, 4))
    loss = supervised_contrastive(x, y, np.zeros((3, 4), bool))
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.item() == 0
    assert x.grad is not None
    assert not x.grad.any()


def test_very_similar_vectors_stay_finite() -> None:
    x = torch.full((3, 4), 50.0, requires_grad=True)
    for loss in (
        info_nce(x, x, 0.01),
        supervised_contrastive(x, x, np.eye(3, dtype=bool), 0.01),
        label_regularisation(x, x, -x, 0.01),
    ):
        assert torch.isfinite(loss)


def test_the_size_of_the_batch_does_not_scale_the_gradient() -> None:
    """Why these are means: the same row twice, each with its own negatives, moves the weights as much as once."""
    x, y = vectors(1, 1, 6)
    once, twice, own = tensors(x, np.vstack([x, x]), y)
    mask = np.arange(6)[None] == 0
    supervised_contrastive(once, own, mask).backward()  # type: ignore[no-untyped-call]
    supervised_contrastive(twice, own, np.vstack([mask, mask])).backward()  # type: ignore[no-untyped-call]
    assert once.grad is not None
    assert twice.grad is not None
    torch.testing.assert_close(twice.grad.sum(0), once.grad[0])


def test_squared_hinge_by_hand() -> None:
    scores = tensor(np.array([[0.5, -2.0, 9.0], [3.0, 0.0, 9.0]]))
    positives, there = np.array([[True, False, False], [True, False, False]]), np.array([[True, True, False]] * 2)
    loss = squared_hinge(scores, positives, there)
    assert loss.item() == pytest.approx((0.25 + 1) / 2)
    loss.backward()  # type: ignore[no-untyped-call]
    assert scores.grad is not None
    assert scores.grad.tolist() == [[-0.5, 0, 0], [0, 1, 0]]


def test_padded_places_of_a_shortlist_count_for_nothing() -> None:
    logits = tensor(np.array([[1.0, 2.0, 5.0]]))
    padded = logits.masked_fill(torch.tensor([[False, False, True]]), -torch.inf)
    positives = np.array([[True, False, False]])
    loss = of_positives(padded, positives)
    assert loss.item() == pytest.approx(np.log(1 + np.e))
    loss.backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    assert logits.grad[0, 2].item() == 0
    assert torch.isfinite(logits.grad).all()


def test_decoupled_softmax_pair_by_pair() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(4, 6)) * 5
    truth = rng.random((4, 6)) < 0.4
    truth[2] = False
    negatives = rng.random((4, 6)) < 0.6
    expected = []
    for row, positive in np.argwhere(truth):
        others = [np.exp(scores[row, j]) for j in range(6) if negatives[row, j] and not truth[row, j]]
        own = np.exp(scores[row, positive])
        expected.append(-np.log(own / (own + sum(others))))
    found = decoupled_softmax(torch.from_numpy(scores), truth, negatives)
    assert float(found) == pytest.approx(np.mean(expected))


def test_decoupled_softmax_with_nothing_to_compare_is_0_and_has_a_gradient() -> None:
    for truth in (np.ones((2, 1), bool), np.zeros((2, 1), bool)):
        scores = torch.ones((2, 1), requires_grad=True)
        loss = decoupled_softmax(scores, truth, np.ones((2, 1), bool))
        loss.backward()  # type: ignore[no-untyped-call]
        assert float(loss.detach()) == 0
        assert scores.grad is not None
        assert torch.isfinite(scores.grad).all()
