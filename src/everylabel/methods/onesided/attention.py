"""Label-wise attention over the tokens of documents of different lengths.

"Preserving Zero-shot Capability in Supervised Fine-tuning for Multi-label Text Classification", section 4.3.1:
a document as a label sees it is the sum of its tokens' vectors x, weighted by softmax over the tokens of q . x /
sqrt(dim), q the label's query. A token that occurs c times is one token whose logit has ln c added: exactly attention
over all tokens.

Only asked-for (document, label) pairs are computed. Cost: documents x labels of a document x distinct tokens x dim
operations; documents of like length are padded together, and no array has more than TOGETHER numbers (or those of one
document): neither documents x labels x tokens nor documents x labels x dim ever exists, on the way back neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from everylabel.methods.onesided.documents import SHORT
from everylabel.types import FloatArray, LongArray

TOGETHER = 1_000_000  # numbers of one padded array, 4 MB
ON_A_GPU = 64  # times as many: small products would leave it idle


class TokenRows(NamedTuple):
    """Document i has the rows ids[offsets[i] : offsets[i + 1]] of `table`, with `bias` added to their logits."""

    table: Tensor
    ids: Tensor
    bias: Tensor
    offsets: LongArray
    numbers: LongArray | None = None  # the ids in numpy: the table is large, its gradient has only the rows that occur

    @property
    def n_rows(self) -> int:
        return len(self.offsets) - 1


def attended_cosines(rows: TokenRows, queries: Tensor, outputs: Tensor, mean: Tensor, sets: Tensor) -> Tensor:
    """(documents, labels of a document): of the document as the label sees it, and the label's output vector.

    `sets` says which labels a document is asked for. What a label sees is made 1 long, `mean` is taken away, and it is
    made 1 long again; output vectors are 1 long. A document without tokens is 0 before, and teaches nothing.
    """
    found: Tensor = Scores.apply(rows.table, queries, outputs, mean, sets, rows)  # type: ignore[no-untyped-call]
    return found


def attended_products(rows: TokenRows, queries: Tensor, outputs: Tensor, sets: Tensor) -> Tensor:
    """As `attended_cosines`: the product of what the label sees and its output vector, both as long as they are."""
    found: Tensor = Scores.apply(rows.table, queries, outputs, None, sets, rows)  # type: ignore[no-untyped-call]
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


def groups(rows: TokenRows, n_labels: int) -> Iterator[Group]:
    """Documents that have tokens, shortest first, as many together as fit into memory."""
    lengths = np.diff(rows.offsets)
    order = np.argsort(lengths, kind="stable")
    order = order[lengths[order] > 0]
    dim, together = rows.table.shape[1], TOGETHER * (1 if rows.table.device.type == "cpu" else ON_A_GPU)
    while len(order):
        numbers = np.maximum(lengths[order] * max(n_labels, dim), n_labels * dim)
        own = order[: max(1, int((np.arange(1, len(order) + 1) * numbers <= together).sum()))]
        order = order[len(own) :]
        columns = np.arange(lengths[own[-1]])
        inside = columns < lengths[own, None]
        at = torch.from_numpy(np.where(inside, rows.offsets[own, None] + columns, 0)).to(rows.ids.device)
        bias = rows.bias[at].masked_fill(torch.from_numpy(~inside).to(at.device), -torch.inf)
        yield Group(torch.from_numpy(own).to(at.device), at, bias)


def _weights(tokens: Tensor, bias: Tensor, queries: Tensor) -> Tensor:
    """Documents x queries x tokens, from tokens (documents x tokens x dim) and queries (documents x queries x dim)."""
    logits = torch.bmm(queries, tokens.transpose(1, 2)).mul_(tokens.shape[-1] ** -0.5)
    return logits.add_(bias[:, None]).softmax(dim=2)


def _scores(tokens: Tensor, bias: Tensor, queries: Tensor, outputs: Tensor, mean: Tensor | None) -> Tensor:
    """Documents x labels, from arrays as in `_weights`: cosines, or, `mean` is None, products."""
    seen = torch.bmm(_weights(tokens, bias, queries), tokens)
    if mean is None:
        return (seen * outputs).sum(dim=2)
    # Of vectors made 1 long, centred, and made 1 long again only products are needed: no more arrays of their size.
    length = seen.norm(dim=2).clamp(min=SHORT)
    product = (seen * outputs).sum(dim=2) / length - outputs @ mean
    common = seen @ mean / length
    square = seen.square().sum(dim=2) / length.square() - 2 * common + mean.square().sum()
    cosines: Tensor = product / square.clamp(min=SHORT**2).sqrt()
    return cosines


def _used(ids: LongArray, n_rows: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """The different ids in order, and each id's place among them; in numpy, so that no GPU has to be waited for."""
    there = np.zeros(n_rows, np.bool_)
    there[ids] = True
    places = np.cumsum(there) - 1
    return torch.from_numpy(np.flatnonzero(there)).to(device), torch.from_numpy(places[ids]).to(device)


class Scores(torch.autograd.Function):
    """Nothing is kept for the way back: each group is computed again there."""

    @staticmethod
    def forward(
        ctx: Any, table: Tensor, queries: Tensor, outputs: Tensor, mean: Tensor | None, sets: Tensor, rows: TokenRows
    ) -> Tensor:
        ctx.save_for_backward(table, queries, outputs, mean, sets)
        ctx.rows = rows
        found: Tensor  # begins as what documents without tokens have
        if mean is None:
            found = outputs.new_zeros(sets.shape)
        else:
            found = -(outputs @ mean / mean.norm().clamp(min=SHORT))[sets]
        for own, at, bias in groups(rows, sets.shape[1]):
            asked = sets[own]
            found[own] = _scores(table[rows.ids[at]], bias, queries[asked], outputs[asked], mean)
        return found

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        table, queries, outputs, mean, sets = ctx.saved_tensors
        rows, (given,) = ctx.rows, gradients
        used, places = None, rows.ids
        if rows.numbers is not None:
            used, places = _used(rows.numbers, len(table), table.device)
        of_table = table.new_zeros((len(table) if used is None else len(used), table.shape[1]))
        of_queries, of_outputs = torch.zeros_like(queries), torch.zeros_like(outputs)
        for own, at, bias in groups(rows, sets.shape[1]):
            asked = sets[own]
            inputs = [part.requires_grad_() for part in (table[rows.ids[at]], queries[asked], outputs[asked])]
            with torch.enable_grad():
                value = _scores(inputs[0], bias, inputs[1], inputs[2], mean)
            of_tokens, *of_labels = torch.autograd.grad(value, inputs, given[own])
            of_table.index_add_(0, places[at].ravel(), of_tokens.flatten(0, 1))
            for whole, part in zip((of_queries, of_outputs), of_labels, strict=True):
                whole.index_add_(0, asked.ravel(), part.flatten(0, 1))
        if used is not None:
            of_table = torch.sparse_coo_tensor(
                used[None], of_table, table.shape, is_coalesced=True, check_invariants=False
            )
        return of_table, of_queries, of_outputs, None, None, None
