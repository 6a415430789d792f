"""RowAdam is torch's SparseAdam, in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from everylabel.train.rows import RowAdam


def gradient(number: int, shape: tuple[int, int], dtype: torch.dtype) -> Tensor:
    """Some rows, one of them twice; as the loop hands it over."""
    rng = np.random.default_rng(number)
    rows = rng.choice(shape[0], 4)
    rows[0] = rows[1]
    values = torch.from_numpy(rng.normal(size=(4, shape[1]))).to(dtype)
    return torch.sparse_coo_tensor(torch.from_numpy(rows)[None], values, shape, check_invariants=True).coalesce()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_parity_with_torch(dtype: torch.dtype) -> None:
    start = torch.from_numpy(np.random.default_rng(0).normal(size=(9, 5))).to(dtype)
    ours, theirs = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    settings: Any = {"lr": 0.1, "betas": (0.8, 0.95), "eps": 1e-6}
    one: Any
    other: Any
    one, other = RowAdam([ours], **settings), torch.optim.SparseAdam([theirs], **settings)
    for number in range(20):
        for parameter, optimiser in ((ours, one), (theirs, other)):
            parameter.grad = gradient(number, (9, 5), dtype)
            optimiser.step()
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)
    for key in ("exp_avg", "exp_avg_sq"):
        torch.testing.assert_close(one.state[ours][key], other.state[theirs][key], rtol=1e-5, atol=1e-6)
    assert one.state_dict()["state"][0]["step"] == 20


def test_rows_that_no_batch_touches_stay() -> None:
    table = nn.Parameter(torch.ones(4, 3))
    table.grad = torch.sparse_coo_tensor(
        torch.tensor([[2]]), torch.ones(1, 3), (4, 3), check_invariants=True
    ).coalesce()
    RowAdam([table], lr=0.5).step()
    np.testing.assert_allclose(table.detach().numpy()[[0, 1, 3]], 1)
    np.testing.assert_allclose(table.detach().numpy()[2], 0.5, rtol=1e-5)


def test_a_group_without_gradients_is_left_alone() -> None:
    table = nn.Parameter(torch.ones(4, 3))
    optimiser = RowAdam([table], lr=0.5)
    optimiser.step()
    assert not optimiser.state
