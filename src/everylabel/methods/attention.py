"""Label-wise attention over the tokens of documents of different lengths.

"Preserving Zero-shot Capability in Supervised Fine-tuning for Multi-label Text Classification", section 4.3.1:
a document as a label sees it is the sum of its tokens' vectors x, weighted by softmax over the tokens of q . x /
sqrt(dim), q the label's query. A token that occurs c times is one token whose logit has ln c added: exactly attention
over all tokens.

Only asked-for (document, label) pairs are computed. Cost: documents x labels of a document x distinct tokens x dim
operations; tokens of like documents are padded together, at most TOGETHER numbers; the result is documents x labels
of a document x dim.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from everylabel.types import FloatArray, LongArray

TOGETHER = 4_000_000  # numbers of one padded array, 16 MB


class TokenRows(NamedTuple):
    """Document i has the rows ids[offsets[i] : offsets[i + 1]] of `table`, with `bias` added to their logits."""

    table: Tensor
    ids: Tensor
    bias: Tensor
    offsets: LongArray
    sparse: bool = False  # the table is large, and its gradient has only the rows that occur

    @property
    def n_rows(self) -> int:
        return len(self.offsets) - 1


def attended(rows: TokenRows, queries: Tensor, sets: Tensor) -> Tensor:
    """(documents, labels of a document, dim): `sets` says which queries a document is asked; zeros if it is empty."""
    found: Tensor = Attention.apply(rows.table, queries, sets, rows)  # type: ignore[no-untyped-call]
    return found


def weights_of(rows: TokenRows, document: int, query: Tensor) -> FloatArray:
    """One query's weight of each of the document's tokens; they add up to 1."""
    at = slice(int(rows.offsets[document]), int(rows.offsets[document + 1]))
    with torch.no_grad():
        found = _weights(rows.table[rows.ids[at]][None], rows.bias[at][None], query[None, None])
    return np.asarray(found[0, 0].cpu().numpy(), np.float32)


class Group(NamedTuple):
    """Documents of like length, their tokens padded: what one product works on."""

    documents: Tensor
    at: Tensor  # places in `ids`, documents x longest; padding is anywhere
    bias: Tensor  # minus infinity where there is no token


def groups(rows: TokenRows, n_queries: int) -> Iterator[Group]:
    """Documents that have tokens, shortest first, as many together as fit into memory."""
    lengths = np.diff(rows.offsets)
    order = np.argsort(lengths, kind="stable")
    order = order[lengths[order] > 0]
    width = max(n_queries, rows.table.shape[1])
    while len(order):
        fits = np.arange(1, len(order) + 1) * lengths[order] * width <= TOGETHER
        own, order = order[: max(1, int(fits.sum()))], order[max(1, int(fits.sum())) :]
        columns = np.arange(lengths[own[-1]])
        inside = columns < lengths[own, None]
        at = torch.from_numpy(np.where(inside, rows.offsets[own, None] + columns, 0)).to(rows.ids.device)
        bias = rows.bias[at].masked_fill(torch.from_numpy(~inside).to(at.device), -torch.inf)
        yield Group(torch.from_numpy(own).to(at.device), at, bias)


def _weights(tokens: Tensor, bias: Tensor, queries: Tensor) -> Tensor:
    """Documents x queries x tokens, from tokens (documents x tokens x dim) and queries (documents x queries x dim)."""
    logits = torch.bmm(queries, tokens.transpose(1, 2)).mul_(tokens.shape[-1] ** -0.5)
    return logits.add_(bias[:, None]).softmax(dim=2)


class Attention(torch.autograd.Function):
    """Weights are not kept for the way back but computed again: documents x labels x tokens never exists."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, queries: Tensor, sets: Tensor, rows: TokenRows) -> Tensor:
        ctx.save_for_backward(table, queries, sets)
        ctx.rows = rows
        out = torch.zeros((*sets.shape, table.shape[1]), dtype=table.dtype, device=table.device)
        for own, at, bias in groups(rows, sets.shape[1]):
            tokens = table[rows.ids[at]]
            out[own] = torch.bmm(_weights(tokens, bias, queries[sets[own]]), tokens)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        table, queries, sets = ctx.saved_tensors
        rows, (given,) = ctx.rows, gradients
        used, places = rows.ids.unique(return_inverse=True) if rows.sparse else (rows.ids[:0], rows.ids)
        of_table = table.new_zeros((len(used) if rows.sparse else len(table), table.shape[1]))
        of_queries, scale = torch.zeros_like(queries), table.shape[1] ** -0.5
        for own, at, bias in groups(rows, sets.shape[1]):
            tokens, asked, grad = table[rows.ids[at]], queries[sets[own]], given[own]
            weights = _weights(tokens, bias, asked)
            of_weights = torch.bmm(grad, tokens.transpose(1, 2))
            of_logits = weights * (of_weights - (weights * of_weights).sum(dim=2, keepdim=True)) * scale
            of_tokens = torch.bmm(weights.transpose(1, 2), grad) + torch.bmm(of_logits.transpose(1, 2), asked)
            of_table.index_add_(0, places[at].ravel(), of_tokens.flatten(0, 1))
            of_queries.index_add_(0, sets[own].ravel(), torch.bmm(of_logits, tokens).flatten(0, 1))
        if rows.sparse:
            of_table = torch.sparse_coo_tensor(
                used[None], of_table, table.shape, is_coalesced=True, check_invariants=False
            )
        return of_table, of_queries, None, None
