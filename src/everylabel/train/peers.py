"""Several processes that train one model together, one a GPU, started by torchrun or by whatever sets its variables.

All make the same batches and compute the same loss; each reads its share of a batch's texts (encoders/reading.py). So
`batch_size` is that of all together, in-batch negatives are those of the joint batch, and loss and weights are, up to
rounding, those of one process. What transformers do is shared; each computes heads and static embeddings. Cost of a
step: the vectors of the batch to all, and the gradients once around.

What batches are made of must be the same to the last label, or each process would read its share of another batch. So
what comes from sums of floating-point numbers (clusters, pseudo labels, hard negatives, keywords, trees), and what
takes long, the first process computes and tells the others: `by_first`. Draws of random numbers, tokens and counts are
the same everywhere; weights are made the same when a training begins; and what comes after the last training is only
written by the first.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed

from everylabel.errors import ConfigError
from everylabel.parallel import n_processes

R = TypeVar("R")
_PATIENCE = timedelta(days=2)  # what one process computes for all may take hours; torch would wait for minutes


class Peers:
    """This process among those that train with it."""

    def __init__(self) -> None:
        self.rank, self.world = distributed.get_rank(), distributed.get_world_size()

    def gathered(self, own: Tensor) -> Tensor:
        found: Tensor = _Gathered.apply(own, self)  # type: ignore[no-untyped-call]
        return found

    def average(self, parameters: Iterable[Tensor]) -> None:
        """Gradients become their mean over all processes, in one message for each type of number.

        The rows of a sparse one are the same everywhere: all have the same batch.
        """
        by_type: dict[torch.dtype, list[Tensor]] = {}
        for parameter in parameters:
            gradient = parameter.grad
            if gradient is not None and gradient.is_sparse:
                parameter.grad = gradient.coalesce()
                gradient = parameter.grad._values()
            if gradient is not None:
                by_type.setdefault(gradient.dtype, []).append(gradient)
        for gradients in by_type.values():
            whole = torch.cat([gradient.reshape(-1) for gradient in gradients])
            distributed.all_reduce(whole)
            whole /= self.world
            for gradient, mean in zip(gradients, torch.split(whole, [g.numel() for g in gradients]), strict=True):
                gradient.copy_(mean.view_as(gradient))

    def same(self, tensors: Iterable[Tensor]) -> None:
        """All have those of the first process."""
        with torch.no_grad():
            for tensor in tensors:
                distributed.broadcast(tensor.data, 0)

    def told(self, value: Any) -> Any:
        """What the first process says."""
        said = [value]
        distributed.broadcast_object_list(said, 0)
        return said[0]


class _Gathered(torch.autograd.Function):
    """Rows of all processes. Each computes the whole loss, so a process takes the gradient of its own rows from there;
    times their number, as gradients are averaged afterwards."""

    @staticmethod
    def forward(ctx: Any, own: Tensor, peers: Peers) -> Tensor:
        ctx.peers, ctx.n_rows = peers, len(own)
        parts = [torch.empty_like(own, memory_format=torch.contiguous_format) for _ in range(peers.world)]
        distributed.all_gather(parts, own.contiguous())
        return torch.cat(parts)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        first = ctx.peers.rank * ctx.n_rows
        return gradients[0][first : first + ctx.n_rows] * ctx.peers.world, None


def joined() -> Peers | None:
    """The group of this process: the one that is there (Ray makes it), or that of torchrun's variables; None: alone."""
    if not distributed.is_available():
        return None
    if not distributed.is_initialized():
        if n_processes() <= 1:
            return None
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        distributed.init_process_group(backend, timeout=_PATIENCE)
    if distributed.get_world_size() == 1:
        return None
    if threading.current_thread() is not threading.main_thread():
        raise ConfigError(
            "several processes train one method at a time; a tagger trains its experts side by side: give a method"
        )
    return Peers()


def by_first(compute: Callable[[], R]) -> R:
    """What the first process computes, in all of them, while the others wait; a process alone just computes it.

    Called by all, in the same order. The value is pickled; an error is everybody's, so that none waits for ever.
    """
    peers = joined()
    if peers is None:
        return compute()
    answer: tuple[R | None, Exception | None] = (None, None)
    if peers.rank == 0:
        try:
            answer = (compute(), None)
        except Exception as failed:
            answer = (None, failed)
    found, error = peers.told(answer)
    if error is not None:
        raise error
    result: R = found
    return result
