"""Adam for the rows of a table that a batch touches: torch's SparseAdam with its arithmetic in one compiled pass.

torch's own makes several arrays as large as the gradient each step. Cost of a step: one pass over the touched rows of
the table and of its two moments.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import torch

from everylabel.parallel import for_each_part
from everylabel.train.kernels import update_rows


class RowAdam(torch.optim.SparseAdam):
    """Gradients are sparse; rows may come twice, as a GPU gives them, and count with their sum.

    What is not float32 in this machine's memory goes torch's way.
    """

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        if closure is not None:
            raise ValueError("RowAdam takes no closure")
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, group)

    def _update(self, parameter: Any, group: dict[str, Any]) -> None:
        state, gradient = self.state[parameter], parameter.grad
        if not gradient.is_sparse:
            raise ValueError("RowAdam updates the rows of sparse gradients; this is dense: give AdamW its parameter")
        gradient = gradient.coalesce()
        if not state:
            state["step"] = 0
            state["exp_avg"] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
            state["exp_avg_sq"] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
        state["step"] += 1
        first, second = group["betas"]
        lr = group["lr"] * sqrt(1 - second ** state["step"]) / (1 - first ** state["step"])
        tables = [parameter, state["exp_avg"], state["exp_avg_sq"]]
        rows, values = gradient.indices()[0], gradient.values()
        if any(part.device.type != "cpu" or part.dtype != torch.float32 for part in tables):
            _with_torch(rows, values, tables, lr, (first, second), group["eps"])
            return
        at, given = rows.numpy(), np.ascontiguousarray(values.numpy())
        arrays = [table.detach().numpy().reshape(len(table), -1) for table in tables]
        settings = [np.float32(value) for value in (lr, 1 - first, 1 - second, group["eps"])]
        flat = given.reshape(len(at), -1)
        for_each_part(len(at), lambda begin, end: update_rows(at, flat, begin, end, *arrays, *settings))


def _with_torch(rows: Any, values: Any, tables: Any, lr: float, betas: tuple[float, float], eps: float) -> None:
    table, mean, square = tables
    m = torch.lerp(mean[rows], values, 1 - betas[0])
    v = torch.lerp(square[rows], values * values, 1 - betas[1])
    mean[rows], square[rows] = m, v
    table[rows] -= lr * m / (v.sqrt() + eps)
