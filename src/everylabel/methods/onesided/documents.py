"""How the one-sided family reads documents after training, without torch: static embeddings, pooled.

The same as `DocumentSide` of module.py without attention, in numpy: u = unit(pooled) - mean, then unit(u + W u + b), or
unit(u) without a layer; with a linear output the pooled vector as it is, and what the layer adds. Attention and
transformers need the torch module, loaded for them (module_documents.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from everylabel import checks
from everylabel.encoders.base import Encoder, Tokens
from everylabel.encoders.static import StaticEncoder
from everylabel.types import FloatArray, LongArray

if TYPE_CHECKING:
    from everylabel.methods.onesided.module import DocumentSide

SHORT = 1e-2  # a vector shorter than that stays shorter than 1: a text of no known word must not have a huge gradient
ROWS = 512  # texts that are read at a time
LARGEST_WEIGHT = 1e4  # of a layer


class DocumentVectors(Protocol):
    """What the ranker asks of both."""

    def parts(self, lengths: LongArray) -> Iterator[LongArray]:
        """Rows that are read together."""

    def vectors(self, tokens: Tokens) -> FloatArray:
        """(n_rows, dim), at most 1 long; with a linear output as long as they come."""

    def through_layer(self, vectors: FloatArray) -> FloatArray:
        """v + W v + b, or v where there is no layer: labels go through it that are read as documents are."""

    def state(self) -> dict[str, FloatArray]:
        """What was trained beside the encoder."""


class PooledDocuments:
    """Static embeddings; `layers` has `mean`, and with a layer `layer.weight` and `layer.bias`."""

    def __init__(self, encoder: StaticEncoder, layers: dict[str, FloatArray], *, linear_output: bool) -> None:
        self.encoder, self.layers, self.linear_output = encoder, layers, linear_output

    def parts(self, lengths: LongArray) -> Iterator[LongArray]:
        return (np.arange(first, min(first + ROWS, len(lengths))) for first in range(0, len(lengths), ROWS))

    def vectors(self, tokens: Tokens) -> FloatArray:
        sums = self.encoder.table.sums(tokens)
        if self.linear_output:
            return self.through_layer(sums)
        return short_unit(self.through_layer(short_unit(sums) - self.layers["mean"]))

    def through_layer(self, vectors: FloatArray) -> FloatArray:
        if "layer.weight" not in self.layers:
            return vectors
        from everylabel.index.kernels import products

        layer: FloatArray = products(vectors, self.layers["layer.weight"]) + self.layers["layer.bias"]
        return vectors + layer

    def state(self) -> dict[str, FloatArray]:
        return self.layers


def documents_of(encoder: Encoder, side: DocumentSide) -> DocumentVectors:
    """As the module reads them now; without it where that can be."""
    from everylabel.methods.onesided.module_documents import ModuleDocuments

    read = ModuleDocuments(side, encoder.config.device)
    if not _pooled(encoder, side.attention):
        return read
    return PooledDocuments(encoder, read.state(), linear_output=side.linear_output)  # type: ignore[arg-type]


def restored_documents(
    encoder: Encoder, layers: dict[str, FloatArray], *, layer: bool, attention: bool, linear_output: bool
) -> DocumentVectors:
    if _pooled(encoder, attention):
        return PooledDocuments(encoder, layers, linear_output=linear_output)  # type: ignore[arg-type]
    from everylabel.methods.onesided.module_documents import ModuleDocuments

    return ModuleDocuments.restored(encoder, layers, layer=layer, attention=attention, linear_output=linear_output)


def _pooled(encoder: Encoder, attention: bool) -> bool:
    return isinstance(encoder, StaticEncoder) and not attention


def check_layers(layers: dict[str, FloatArray], dim: int) -> None:
    """Of those that were restored."""
    shapes = {"mean": (dim,), "layer.weight": (dim, dim), "layer.bias": (dim,)}
    checks.require(set(layers) in ({"mean"}, set(shapes)), "documents have other layers")
    for name, values in layers.items():
        checks.numbers(values, name, *shapes[name], most=LARGEST_WEIGHT)


def short_unit(vectors: Any) -> FloatArray:
    """Rows of length 1; those shorter than SHORT stay shorter than 1."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    found: FloatArray = vectors / np.maximum(lengths, np.float32(SHORT))
    return found
