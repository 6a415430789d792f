"""Weight decay without biases and LayerNorms, and epsilon: against torch's AdamW with its groups written out."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from everylabel.train.optimiser import Group, Optimiser


def layers() -> nn.Module:
    generator = torch.Generator().manual_seed(1)
    made = nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3), nn.Embedding(5, 3))
    for parameter in made.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator)
    return made


def with_gradients(module: nn.Module, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    for parameter in module.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator)


@pytest.mark.parametrize("eps", [1e-8, 1e-2])
def test_parity_with_groups_by_name(eps: float) -> None:
    ours, theirs = layers(), layers()
    optimiser = Optimiser(Group(ours.parameters(), lr=0.1, weight_decay=0.5, eps=eps).but_vectors())
    spared = [p for name, p in theirs.named_parameters() if name.endswith("bias") or name.startswith("1.")]
    decayed = [p for name, p in theirs.named_parameters() if all(p is not other for other in spared)]
    assert len(spared) == 3
    groups: list[dict[str, Any]] = [{"params": decayed, "weight_decay": 0.5}, {"params": spared, "weight_decay": 0.0}]
    reference = torch.optim.AdamW(groups, lr=0.1, eps=eps)
    for seed in range(3):
        with_gradients(ours, seed)
        with_gradients(theirs, seed)
        optimiser.step(1.0)
        reference.step()
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(one, other)


def test_a_vector_without_gradient_stays() -> None:
    module = layers()
    before = [parameter.detach().clone() for parameter in module.parameters()]
    optimiser = Optimiser(Group(module.parameters(), lr=0.1, weight_decay=0.5).but_vectors())
    for parameter in module.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimiser.step(1.0)
    moved = [not torch.equal(p, old) for p, old in zip(module.parameters(), before, strict=True)]
    assert moved == [p.ndim > 1 for p in module.parameters()]


def first_update(optimiser: Any, table: nn.Parameter) -> Tensor:
    rows, values = torch.tensor([[1]]), torch.full((1, 2), 1e-3)
    table.grad = torch.sparse_coo_tensor(rows, values, (4, 2), check_invariants=True)
    optimiser.step(*[1.0] * isinstance(optimiser, Optimiser))
    return table.detach()[1]


def test_epsilon_of_sparse_groups() -> None:
    sizes = []
    for eps in (1e-8, 1e-3):
        ours, theirs = nn.Parameter(torch.zeros(4, 2)), nn.Parameter(torch.zeros(4, 2))
        found = first_update(Optimiser([Group([ours], lr=1.0, sparse=True, eps=eps)]), ours)
        expected = first_update(torch.optim.SparseAdam([theirs], lr=1.0, eps=eps), theirs)
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=0)
        sizes.append(abs(float(found[0])))
    assert sizes[1] < 0.5 * sizes[0]
