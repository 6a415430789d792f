"""Groups of parameters with their own rates; AdamW for dense gradients, RowAdam for sparse ones, behind one step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import increment_version
from torch.nn.utils import get_total_norm

from everylabel.train.rows import RowAdam


@dataclass(frozen=True, eq=False)
class Group:
    """Parameters that are trained in the same way; those that need no gradient (a frozen part) are left out."""

    parameters: Iterable[nn.Parameter]
    lr: float
    weight_decay: float = 0.0
    sparse: bool = False  # gradients of torch.nn.Embedding(sparse=True): only the rows of a batch are updated
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8

    def __post_init__(self) -> None:
        if self.sparse and self.weight_decay:
            raise ValueError("a sparse group has no weight decay: it would change the rows that no batch touches")
        object.__setattr__(self, "parameters", tuple(p for p in self.parameters if p.requires_grad))

    @property
    def members(self) -> tuple[nn.Parameter, ...]:
        return tuple(self.parameters)

    def but_vectors(self) -> list[Group]:
        """Two groups: matrices, which decay, and biases and LayerNorms, which do not, as BERT is trained."""
        matrices = [p for p in self.members if p.ndim > 1]
        vectors = [p for p in self.members if p.ndim <= 1]
        return [replace(self, parameters=matrices), replace(self, parameters=vectors, weight_decay=0.0)]


class Optimiser:
    """One or two torch optimisers as one. Memory: two numbers a parameter."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self.parameters = [p for group in groups for p in group.members]
        if not self.parameters:
            raise ValueError("nothing to train: no group has a parameter that requires a gradient")
        if len({id(p) for p in self.parameters}) < len(self.parameters):
            raise ValueError("a parameter is in two groups, or twice in one; it would be updated twice a step")
        self._optimisers: list[torch.optim.Optimizer] = []
        self._rates: list[list[float]] = []
        for sparse in (False, True):
            chosen = [group for group in groups if group.sparse == sparse and group.members]
            if chosen:
                self._optimisers.append(_sparse(chosen) if sparse else _dense(chosen))
                self._rates.append([group.lr for group in chosen])

    def clip(self, largest: float) -> float:
        """Scale all gradients so that their common norm is at most `largest` (0: as they are); the norm before."""
        gradients = []
        for parameter in self.parameters:
            if parameter.grad is not None and parameter.grad.is_sparse:
                parameter.grad = _each_row_once(parameter.grad)
                gradients.append(parameter.grad.values())
            elif parameter.grad is not None:
                gradients.append(parameter.grad)
        norm = float(get_total_norm(gradients))
        if largest and norm > largest:
            for gradient in gradients:
                gradient.mul_(largest / norm)
        return norm

    def step(self, share: float) -> None:
        """One update with this share of each group's rate; the gradients are gone afterwards."""
        for optimiser, rates in zip(self._optimisers, self._rates, strict=True):
            for group, rate in zip(optimiser.param_groups, rates, strict=True):
                group["lr"] = rate * share
            optimiser.step()
        # The fused kernel does not say that it wrote: who watches a weight's version (an encoder's hash) must see it.
        for parameter in self.parameters:
            increment_version(parameter)
        self.forget_gradients()

    def forget_gradients(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    def state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Plain values and tensors by name: optimiser/parameter/what."""
        plain: dict[str, Any] = {}
        tensors: dict[str, Tensor] = {}
        for o, optimiser in enumerate(self._optimisers):
            for p, values in optimiser.state_dict()["state"].items():
                for what, value in values.items():
                    (tensors if isinstance(value, Tensor) else plain)[f"{o}/{p}/{what}"] = value
        return plain, tensors

    def restore(self, plain: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        for o, optimiser in enumerate(self._optimisers):
            states: dict[int, dict[str, Any]] = {}
            for name, value in {**plain, **tensors}.items():
                at, p, what = name.split("/")
                if int(at) == o:
                    states.setdefault(int(p), {})[what] = value
            optimiser.load_state_dict({**optimiser.state_dict(), "state": states})


def _each_row_once(gradient: Tensor) -> Tensor:
    """A row that occurs twice counts once, with its sum. Rows in order need no sorting: autograd forgets that."""
    rows = gradient._indices()[0]
    if gradient._indices().shape[0] == 1 and bool((rows[1:] > rows[:-1]).all()):
        gradient._coalesced_(True)
    return gradient.coalesce()


def _dense(groups: Sequence[Group]) -> torch.optim.Optimizer:
    # fused: one pass over the numbers instead of ten, three times as fast on a CPU
    return torch.optim.AdamW([{**_options(group), "weight_decay": group.weight_decay} for group in groups], fused=True)


def _sparse(groups: Sequence[Group]) -> torch.optim.Optimizer:
    return RowAdam([_options(group) for group in groups])


def _options(group: Group) -> dict[str, Any]:
    return {"params": group.members, "lr": group.lr, "betas": group.betas, "eps": group.eps}
