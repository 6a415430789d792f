"""The trained parts of AttentionXML (attentionxml.py) for one level of the tree, as torch modules."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from everylabel.encoders.base import Tokens
from everylabel.encoders.static_module import StaticModule
from everylabel.types import LongArray

NOWHERE = -1e4  # a logit of attention that counts for nothing; minus infinity has no softmax where there is no token
WIDTH = 5  # tokens that the convolution looks at


class Shape(NamedTuple):
    """What a level's weights look like."""

    width: int  # of the encoder's token vectors
    n_nodes: int
    dim: int
    hidden: tuple[int, ...]  # layers that all labels share; none: each label has an output vector of its own
    reader: str  # "convolution" or "lstm"


class Read(NamedTuple):
    states: Tensor  # documents x longest x dim, 0 where there is no token
    mask: Tensor


class Reader(nn.Module):
    """A token's state from its vector and those around it."""

    def __init__(self, shape: Shape, dropouts: tuple[float, float] = (0.0, 0.0)) -> None:
        super().__init__()
        self.scale: Tensor
        self.register_buffer("scale", torch.ones(()))  # vectors of any encoder are about 1 long
        self.before, self.after = nn.Dropout(dropouts[0]), nn.Dropout(dropouts[1])
        self.lstm = self.into = self.near = None
        if shape.reader == "lstm":
            self.lstm = nn.LSTM(shape.width, shape.dim // 2, bidirectional=True, batch_first=True)
        else:
            self.into = nn.Linear(shape.width, shape.dim, bias=False)
            self.near = nn.Conv1d(shape.dim, shape.dim, WIDTH, padding=WIDTH // 2, groups=shape.dim)

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        inside = mask[..., None]
        vectors = self.before(vectors * self.scale)
        if self.lstm is not None:
            lengths = mask.sum(dim=1).clamp(min=1).cpu()
            packed = nn.utils.rnn.pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
            found, _ = nn.utils.rnn.pad_packed_sequence(
                self.lstm(packed)[0], batch_first=True, total_length=mask.shape[1]
            )
            states: Tensor = self.after(found) * inside
            return states
        assert self.into is not None
        assert self.near is not None
        found = self.into(vectors) * inside  # so that what stands beside a text is 0, however it is padded
        around = self.near(found.transpose(1, 2)).transpose(1, 2)
        mixed: Tensor = self.after(found + functional.gelu(around)) * inside
        return mixed


class Level(nn.Module):
    """Token states, attention of each node of a level, and its score."""

    def __init__(self, encoder: nn.Module, shape: Shape, dropouts: tuple[float, float] = (0.0, 0.0)) -> None:
        super().__init__()
        self.encoder, self.shape = encoder, shape
        self.reader = Reader(shape, dropouts)
        self.queries = nn.Embedding(shape.n_nodes, shape.dim, sparse=True)
        self.outputs = self.biases = self.layers = None
        if shape.hidden:
            linear = [nn.Linear(one, next_) for one, next_ in pairwise((shape.dim, *shape.hidden, 1))]
            self.layers = nn.Sequential(*(part for layer in linear[:-1] for part in (layer, nn.ReLU())), linear[-1])
            for weight in (self.queries.weight, *(layer.weight for layer in linear)):  # as the authors' code
                nn.init.xavier_uniform_(weight)
        else:
            self.outputs = nn.Embedding(shape.n_nodes, shape.dim, sparse=True)
            self.biases = nn.Embedding(shape.n_nodes, 1, sparse=True)

    def read(self, tokens: Tokens) -> Read:
        vectors, mask = token_vectors(self.encoder, tokens)
        return Read(self.reader(vectors, mask), mask)

    def forward(self, read: Read, nodes: LongArray) -> Tensor:
        """(documents, nodes): logits. `nodes` has a row a document, or is one row for all of them."""
        device = read.states.device
        asked, places = np.unique(nodes, return_inverse=True)
        own, at = torch.from_numpy(asked).to(device), torch.from_numpy(places.reshape(nodes.shape)).to(device)
        weights = torch.matmul(self.queries(own)[at], read.states.transpose(1, 2))
        weights = weights.masked_fill(~read.mask[:, None], NOWHERE).softmax(dim=2)
        seen = torch.matmul(weights, read.states)  # documents x nodes x dim
        if self.layers is not None:
            found: Tensor = self.layers(seen)[..., 0]
            return found
        assert self.outputs is not None
        assert self.biases is not None
        products: Tensor = (seen * self.outputs(own)[at]).sum(dim=2) + self.biases(own)[at][..., 0]
        return products

    def own_state(self) -> dict[str, Tensor]:
        """Without the encoder, which all levels share."""
        return {name: value for name, value in self.state_dict().items() if not name.startswith("encoder.")}


def token_vectors(encoder: nn.Module, tokens: Tokens) -> tuple[Tensor, Tensor]:
    """(rows, longest row, width) in the order of the text, and the mask of those that are there."""
    if not isinstance(encoder, StaticModule):
        found: tuple[Tensor, Tensor] = encoder.states(tokens)  # type: ignore[operator]
        return found
    lengths = tokens.lengths
    mask = np.arange(max(1, int(lengths.max(initial=0)))) < lengths[:, None]
    padded = np.zeros(mask.shape, np.int64)
    padded[mask] = tokens.ids
    table = encoder.embedding.weight
    inside = torch.from_numpy(mask).to(table.device)
    return functional.embedding(torch.from_numpy(padded).to(table.device), table, sparse=True), inside
