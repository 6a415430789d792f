"""The trainable side of a tower (tower.py): one encoder for documents and labels, as a torch module."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from everylabel.encoders.base import Tokens
from everylabel.types import FloatArray


class Towers(nn.Module):
    """Vectors of documents (centred) and of labels, by the same encoder; of length 1, or as it gives them."""

    def __init__(self, encoder: nn.Module, mean: FloatArray, *, unit: bool = True) -> None:
        super().__init__()
        self.encoder, self.unit = encoder, unit
        self.mean: Tensor
        self.register_buffer("mean", torch.from_numpy(mean))

    def labels(self, tokens: Tokens) -> Tensor:
        found: Tensor = self.encoder(tokens)
        return nn.functional.normalize(found, dim=1) if self.unit else found

    def documents(self, tokens: Tokens) -> Tensor:
        found = self.labels(tokens) - self.mean
        return nn.functional.normalize(found, dim=1) if self.unit else found
