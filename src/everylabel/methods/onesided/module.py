"""The torch modules of the one-sided family (the paper: onesided.py): a document side, and four label sides.

A label side gives each label an output vector, which documents are compared with by the cosine, and for attention a
query. With `linear` (free weights only) it is the product, and a constant a label is added. Labels are numbered as in
training (learning.py).
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from everylabel.encoders.base import Tokens
from everylabel.encoders.static_module import StaticModule
from everylabel.methods.depl.module import linear
from everylabel.methods.onesided.attention import TokenRows, attended_cosines, attended_products
from everylabel.methods.onesided.documents import SHORT
from everylabel.methods.onesided.label_bags import LabelBags
from everylabel.types import FloatArray, IntArray


class Read(NamedTuple):
    """Documents as they are read once: vectors (1 long, or as they come), and for attention their tokens."""

    vectors: Tensor
    tokens: TokenRows | None


class DocumentSide(nn.Module):
    """An encoder, centred, with one residual layer; or its tokens for attention, where labels have layers enough."""

    def __init__(
        self, encoder: nn.Module, mean: FloatArray, *, layer: bool, attention: bool, linear_output: bool = False
    ) -> None:
        super().__init__()
        self.encoder, self.attention, self.linear_output = encoder, attention, linear_output
        dim: int = encoder.dim  # type: ignore[assignment]
        self.layer = linear(dim, dim) if layer and not attention else None
        self.mean: Tensor
        self.register_buffer("mean", torch.tensor(mean))  # a copy, aligned: else sums differ in their last digit

    def forward(self, tokens: Tokens) -> Tensor:
        return self.read(tokens).vectors

    def read(self, tokens: Tokens) -> Read:
        """A transformer's states are computed once for both."""
        if not self.attention:
            return Read(self._scaled(self.encoder(tokens)), None)
        if isinstance(self.encoder, StaticModule):
            return Read(self._scaled(self.encoder(tokens)), self._distinct(self.encoder, tokens))
        states, mask = self._states(tokens)
        device, places = states.device, torch.from_numpy(np.flatnonzero(mask))
        table = states.flatten(0, 1)[places.to(device)]
        ids, bias = torch.arange(len(places), device=device), torch.zeros(len(places), device=device)
        rows = TokenRows(table, ids, bias, np.concatenate([[0], np.cumsum(mask.sum(axis=1))]).astype(np.int64))
        inside = torch.from_numpy(mask).to(device)
        mean = (states * inside[..., None]).sum(dim=1) / inside.sum(dim=1, keepdim=True).clamp(min=1)
        return Read(self._scaled(mean), rows)

    def attended(self, tokens: TokenRows, labels: Seen, sets: Tensor) -> Tensor:
        """(documents, labels of a document): cosines of the tokens as each label sees them and its output vector; or
        products, and the label's constant."""
        assert labels.queries is not None
        if labels.constants is None:
            return attended_cosines(tokens, labels.queries, labels.outputs, self.mean, sets)
        return attended_products(tokens, labels.queries, labels.outputs, sets) + labels.constants[sets]

    def _scaled(self, pooled: Tensor) -> Tensor:
        vectors = pooled if self.linear_output else unit(pooled) - self.mean
        if self.layer is not None:
            vectors = vectors + self.layer(vectors)
        return vectors if self.linear_output else unit(vectors)

    def _distinct(self, encoder: StaticModule, tokens: Tokens) -> TokenRows:
        """Each distinct token once. While training some are left out, as they are of the sum; never all of a text."""
        ids, counts, offsets = encoder.distinct(tokens)
        table = encoder.embedding.weight
        bias = torch.from_numpy(np.log(counts, dtype=np.float32))
        if self.training and encoder.dropout > 0:
            dropped = encoder.chances(len(ids)) < encoder.dropout
            lengths = np.diff(offsets)
            lost = np.bincount(np.repeat(np.arange(len(lengths)), lengths), dropped, minlength=len(lengths))
            dropped &= np.repeat(lost < lengths, lengths)
            bias[torch.from_numpy(dropped)] = -torch.inf
        at = torch.from_numpy(ids.astype(np.int64))
        return TokenRows(table, at.to(table.device), bias.to(table.device), offsets, ids.astype(np.int64))

    def _states(self, tokens: Tokens) -> tuple[Tensor, NDArray[np.bool_]]:
        """A transformer's states, and which of them are the text's own: special tokens explain nothing."""
        encoder: Any = self.encoder
        states, _ = encoder.states(tokens)
        columns, before = np.arange(states.shape[1]), len(encoder.pad.prefix)
        lengths = np.minimum(tokens.lengths, encoder.pad.room)[:, None]
        return states, (columns >= before) & (columns < before + lengths)


class Seen(NamedTuple):
    """Labels as a step needs them: output vectors, and queries where there is attention.

    Output vectors are 1 long, unless there are constants: then labels are linear classifiers.
    """

    outputs: Tensor
    queries: Tensor | None
    constants: Tensor | None = None

    def scores(self, vectors: Tensor) -> Tensor:
        """Documents x labels: cosines, or products and constants."""
        products = vectors @ self.outputs.T
        return products if self.constants is None else products + self.constants


class FreeLabels(nn.Module):
    """Weights of their own for each label that has documents; its query starts at 0: all tokens count alike."""

    def __init__(self, start: FloatArray, *, attention: bool, linear_output: bool = False) -> None:
        super().__init__()
        self.output = nn.Parameter(torch.from_numpy(start.copy()))
        self.query = nn.Parameter(torch.zeros_like(self.output)) if attention else None
        self.constant = nn.Parameter(torch.zeros(len(start))) if linear_output else None

    def forward(self, labels: IntArray) -> Seen:
        at = torch.from_numpy(labels.astype(np.int64)).to(self.output.device)
        own, queries = self.output[at], None if self.query is None else self.query[at]
        if self.constant is None:
            return Seen(unit(own), queries)
        return Seen(own, queries, self.constant[at])


class FrozenLabels(nn.Module):
    """Vectors that were computed once, or are whenever they are asked for, and one trained projection (two with
    attention), shared by all labels."""

    def __init__(self, vectors: FloatArray | LabelBags, projection: FloatArray, *, attention: bool) -> None:
        super().__init__()
        self.bags = vectors if isinstance(vectors, LabelBags) else None
        self.vectors: Tensor | None
        self.register_buffer("vectors", None if isinstance(vectors, LabelBags) else torch.from_numpy(vectors))
        self.output = started(projection)
        self.query = started(projection) if attention else None

    def forward(self, labels: IntArray) -> Seen:
        if self.vectors is not None:
            own = self.vectors[torch.from_numpy(labels.astype(np.int64)).to(self.vectors.device)]
        else:
            assert self.bags is not None
            own = torch.from_numpy(self.bags.vectors(labels)).to(self.output.weight.device)
        return Seen(unit(self.output(own)), None if self.query is None else self.query(own))


class ReadLabels(nn.Module):
    """An encoder that is trained reads the labels' texts in each step: the documents' own, or a second one."""

    def __init__(self, documents: DocumentSide, texts: Tokens, *, second: bool, attention: bool) -> None:
        super().__init__()
        self.texts = texts
        self.encoder = deepcopy(documents.encoder) if second else documents.encoder
        self.layer = deepcopy(documents.layer) if second else documents.layer
        dim: int = documents.encoder.dim  # type: ignore[assignment]
        self.query = started(np.eye(dim, dtype=np.float32)) if attention else None

    def forward(self, labels: IntArray) -> Seen:
        own = unit(self.encoder(self.texts.take(labels)))
        outputs = own if self.layer is None else unit(own + self.layer(own))
        return Seen(outputs, None if self.query is None else self.query(own))


LabelModule = FreeLabels | FrozenLabels | ReadLabels


def unit(vectors: Tensor) -> Tensor:
    """Vectors of length 1 along the last dimension."""
    return functional.normalize(vectors, dim=-1, eps=SHORT)


def started(projection: FloatArray) -> nn.Linear:
    """A linear layer that starts as this matrix (out x in)."""
    layer = linear(projection.shape[1], projection.shape[0])
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(projection))
    return layer


def aligned(labels: FloatArray, targets: FloatArray) -> FloatArray:
    """The projection (out x in) from vectors of one encoder to those of another, by ridge regression."""
    own = labels.astype(np.float64)
    square = own.T @ own
    square += np.eye(len(square)) * max(1e-3 * float(np.trace(square)) / len(square), 1e-9)
    return np.asarray(np.linalg.solve(square, own.T @ targets.astype(np.float64)).T, np.float32)
