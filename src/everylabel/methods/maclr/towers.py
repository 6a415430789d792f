"""The trainable side of a tower (tower.py): one encoder for documents and labels, as a torch module."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from everylabel.encoders.base import Tokens
from everylabel.types import FloatArray


class Towers(nn.Module):
    """Unit vectors of documents (centred) and of labels, by the same encoder."""

    def __init__(self, encoder: nn.Module, mean: FloatArray) -> None:
        super().__init__()
        self.encoder = encoder
        self.mean: Tensor
        self.register_buffer("mean", torch.from_numpy(mean))

    def labels(self, tokens: Tokens) -> Tensor:
        return nn.functional.normalize(self.encoder(tokens), dim=1)

    def documents(self, tokens: Tokens) -> Tensor:
        return nn.functional.normalize(self.labels(tokens) - self.mean, dim=1)
