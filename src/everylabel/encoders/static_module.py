"""The trainable side of static token embeddings: sums of token vectors with dropout, and their sparse gradients.

On the CPU sums and gradients are compiled loops; elsewhere torch's own embedding_bag. Both give gradients of the rows
that occur only, which is what makes a step cheap: a batch has a few thousand of the 30,000 tokens.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from everylabel.encoders.base import Tokens
from everylabel.encoders.kernels import by_token, distinct_tokens, sum_bags, token_weights
from everylabel.parallel import for_each_part
from everylabel.types import FloatArray, IntArray, LongArray


class BagSums(torch.autograd.Function):
    """Weighted sums of token vectors, compiled; the gradient is sparse: only the rows of tokens that occur."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, ids: IntArray, weights: FloatArray, offsets: LongArray) -> Tensor:
        ctx.bags, ctx.shape = (ids, weights, offsets), table.shape
        n_rows = len(offsets) - 1
        out = np.zeros((n_rows, table.shape[1]), np.float32)
        values = table.detach().numpy()
        for_each_part(n_rows, lambda first, last: sum_bags(ids, weights, offsets, first, last, values, out))
        return torch.from_numpy(out)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        gradient = np.ascontiguousarray(gradients[0].numpy())
        tokens, rows, weights, offsets = by_token(*ctx.bags, ctx.shape[0])
        out = np.zeros((len(tokens), ctx.shape[1]), np.float32)

        def work(first: int, last: int) -> None:  # places among the occurrences, since some tokens are everywhere
            part = np.searchsorted(offsets[:-1], (first, last))
            sum_bags(rows, weights, offsets, part[0], part[1], gradient, out)

        for_each_part(len(rows), work)
        at, values = torch.from_numpy(tokens)[None], torch.from_numpy(out)
        return (
            torch.sparse_coo_tensor(at, values, ctx.shape, is_coalesced=True, check_invariants=False),
            None,
            None,
            None,
        )


class StaticModule(nn.Module):
    """While training, each distinct token of a text is left out with probability `dropout`; never all of them.

    `generator` gives the random numbers of dropout; None: torch's own, which all threads share. The training loop sets
    it for a step (training.py), so that two trainings can run at the same time.
    """

    def __init__(self, weight: Tensor, *, dropout: float = 0.1) -> None:
        super().__init__()
        n_ids, self.dim = weight.shape
        self.embedding = nn.Embedding(n_ids, self.dim, _weight=weight)
        self.dropout = dropout
        self.generator: torch.Generator | None = None

    @classmethod
    def of(cls, table: FloatArray) -> StaticModule:
        """On this array itself: training writes into it."""
        return cls(torch.from_numpy(table))

    def forward(self, tokens: Tokens) -> Tensor:
        ids, counts, offsets = self.distinct(tokens)
        chances = self.chances(len(ids)) if self.training and self.dropout > 0 else np.empty(0, np.float32)
        weights = token_weights(counts, offsets, chances, self.dropout)
        table = self.embedding.weight
        if table.device.type == "cpu":
            summed: Tensor = BagSums.apply(table, ids, weights, offsets)  # type: ignore[no-untyped-call]
            return summed
        parts = (torch.from_numpy(part).to(table.device) for part in (ids.astype(np.int64), offsets, weights))
        at, begins, scales = parts
        return nn.functional.embedding_bag(
            at, table, begins, mode="sum", per_sample_weights=scales, include_last_offset=True, sparse=True
        )

    def chances(self, n: int) -> FloatArray:
        """Random numbers from 0 to 1, always the CPU's: the same on every device."""
        return torch.rand(n, generator=self.generator).numpy()

    def states(self, tokens: Tokens) -> tuple[Tensor, Tensor]:
        """The embeddings of the distinct tokens, in the order they first come; without dropout and counts."""
        ids, _, offsets = self.distinct(tokens)
        lengths = np.diff(offsets)
        mask = np.arange(max(1, int(lengths.max(initial=0)))) < lengths[:, None]
        padded = np.zeros(mask.shape, np.int64)
        padded[mask] = ids
        table = self.embedding.weight
        inside = torch.from_numpy(mask).to(table.device)
        states = nn.functional.embedding(torch.from_numpy(padded).to(table.device), table)
        return states * inside[..., None], inside

    def distinct(self, tokens: Tokens) -> tuple[IntArray, IntArray, LongArray]:
        """(ids, counts, offsets) of each row's distinct tokens. O(tokens)."""
        ids, counts, offsets = distinct_tokens(tokens.ids, tokens.offsets, self.embedding.num_embeddings)
        return ids, counts, offsets
