"""A dual encoder (the paper: depl.py) as a torch module, and its losses.

phi_doc = W_doc x pooled + b_doc, phi_label likewise with weights of its own (eq. 1), on one shared encoder. Pooled
vectors have length sqrt(dim), so that a value in them is about 1 whatever the encoder; documents are centred.
Retrieval: phi_doc . phi_label / (temperature x dim) + constant. Plain, as in the paper: pooled vectors as they are, and
phi_doc . phi_label. Classifier: phi_doc . w + b.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from everylabel.encoders.base import Encoder, Tokens
from everylabel.encoders.fingerprint import evaluating
from everylabel.encoders.placed import Placed, budget
from everylabel.encoders.static_module import StaticModule
from everylabel.encoders.transformer import batches
from everylabel.methods.depl.settings import Shape
from everylabel.types import FloatArray


class Dual(nn.Module):
    """Both towers start as the encoder itself: the linear layers are the identity."""

    def __init__(self, encoder: nn.Module, mean: FloatArray, shape: Shape) -> None:
        super().__init__()
        self.encoder, self.shape = encoder, shape
        self.dim: int = encoder.dim  # type: ignore[assignment]
        self.scale = shape.scale(self.dim)
        self.document, self.label = linear(self.dim, self.dim), linear(self.dim, self.dim)
        nn.init.eye_(self.document.weight)
        nn.init.eye_(self.label.weight)
        self.constant = nn.Parameter(torch.zeros(()), requires_grad=not shape.plain)
        self.mean: Tensor
        self.register_buffer("mean", torch.from_numpy(mean * np.float32(self.dim**0.5)))

    def documents(self, tokens: Tokens) -> Tensor:
        return self._document_vectors(self._pooled(tokens, self.shape.documents))

    def labels(self, tokens: Tokens) -> Tensor:
        vectors: Tensor = self.label(self._pooled_labels(tokens))
        return vectors

    def scored(self, documents: Tokens, labels: Tokens) -> tuple[Tensor, Tensor]:
        """The documents' vectors, and retrieval's logits.

        The labels' layer works on the documents, which are fewer: d . (W x) is (d W) . x. Static embeddings read both
        in one pass, so that there is one sparse gradient and not the sum of two.
        """
        if isinstance(self.encoder, StaticModule):
            read = self.encoder(Tokens.join([documents, labels]))
            vectors = self._document_vectors(read[: documents.n_rows])
            pooled = self._spread(read[documents.n_rows :])
        else:
            vectors, pooled = self.documents(documents), self._pooled_labels(labels)
        products = (vectors @ self.label.weight) @ pooled.T + (vectors @ self.label.bias)[:, None]
        return vectors, products * self.scale + self.constant

    def _document_vectors(self, pooled: Tensor) -> Tensor:
        vectors: Tensor = self.document(self._spread(pooled) - self.mean)
        return vectors

    def _pooled_labels(self, tokens: Tokens) -> Tensor:
        return self._spread(self._pooled(tokens, self.shape.labels))

    def _pooled(self, tokens: Tokens, pooling: str) -> Tensor:
        """The mean is eq. 2; the special tokens are among them, so a text is never empty."""
        if pooling == "own":
            own: Tensor = self.encoder(tokens)
            return own
        states, mask = self.encoder.states(tokens)  # type: ignore[operator]
        if pooling == "cls":
            first: Tensor = states[:, 0]
            return first
        mask = mask[..., None]
        mean: Tensor = (states * mask).sum(dim=1) / mask.sum(dim=1)
        return mean

    def _spread(self, vectors: Tensor) -> Tensor:
        if self.shape.plain:
            return vectors
        spread: Tensor = functional.normalize(vectors, dim=1) * self.dim**0.5
        return spread


def linear(n_in: int, n_out: int) -> nn.Linear:
    """A layer of zeros; torch's own start would draw from the global random numbers."""
    layer: nn.Linear = nn.utils.skip_init(nn.Linear, n_in, n_out)  # type: ignore[no-untyped-call]
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def bce(logits: Tensor, truth: Tensor) -> Tensor:
    """Binary cross-entropy: the sum over labels, the mean over documents."""
    return functional.binary_cross_entropy_with_logits(logits, truth, reduction="sum") / len(logits)


def joint_bce(one: Tensor, other: Tensor, truth: Tensor) -> Tensor:
    """That of the probability (sigmoid(one) + sigmoid(other)) / 2 (eq. 4), from logarithms."""
    positive = torch.logaddexp(functional.logsigmoid(one), functional.logsigmoid(other))
    negative = torch.logaddexp(functional.logsigmoid(-one), functional.logsigmoid(-other))
    return (math.log(2) - truth * positive - (1 - truth) * negative).sum() / len(one)


class ModuleTowers:
    """See `Towers` of dual.py: both by the module, for encoders that need torch."""

    def __init__(self, dual: Dual, device: str) -> None:
        self.dual, self.scale, self._placed = dual, dual.scale, Placed(dual, device)

    @classmethod
    def restored(cls, encoder: Encoder, layers: dict[str, FloatArray], shape: Shape) -> ModuleTowers:
        dual = Dual(encoder.module, np.zeros(encoder.dim, np.float32), shape)
        tensors = {name: torch.from_numpy(np.array(value)) for name, value in layers.items()}
        dual.load_state_dict(tensors, strict=False)  # the encoder has its own
        return cls(dual.eval(), encoder.config.device)

    @property
    def constant(self) -> float:
        return float(self.dual.constant.detach())

    def documents(self, tokens: Tokens) -> FloatArray:
        return self._vectors("documents", tokens)

    def labels(self, tokens: Tokens) -> FloatArray:
        return self._vectors("labels", tokens)

    def _vectors(self, tower: Literal["documents", "labels"], tokens: Tokens) -> FloatArray:
        found, dual = np.empty((tokens.n_rows, self.dual.dim), np.float32), self._placed()
        read = dual.documents if tower == "documents" else dual.labels
        with evaluating(dual), torch.inference_mode():
            for rows in batches(tokens.lengths, budget(dual)):
                found[rows] = read(tokens.take(rows)).cpu().numpy()
        return found

    def state(self) -> dict[str, FloatArray]:
        tensors = self.dual.state_dict().items()
        return {name: tensor.cpu().numpy() for name, tensor in tensors if not name.startswith("encoder.")}
