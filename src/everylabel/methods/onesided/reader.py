"""Labels that come after training, read as training read the others (the paper: onesided.py).

A frozen label side is the documents' encoder as it was before training, another one, or several whose vectors stand
side by side; they are loaded again when labels come, and then stay.
Cost: the encoder's on the new texts, and labels x dim^2 for the trained layers. Without torch, where the encoder is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from everylabel import checks
from everylabel.encoders.base import Encoder, EncoderConfig
from everylabel.encoders.build import restore_encoder
from everylabel.encoders.static import StaticEncoder
from everylabel.encoders.table import TokenTable
from everylabel.index.tokens import Layer
from everylabel.methods.onesided.documents import LARGEST_WEIGHT
from everylabel.run import QUIET, Run
from everylabel.states import add_prefix, strip_prefix
from everylabel.types import FloatArray
from everylabel.vectors import unit_rows

if TYPE_CHECKING:
    from everylabel.methods.onesided.module import LabelModule
    from everylabel.methods.onesided.ranker import OneSidedRanker


@dataclass(frozen=True)
class LabelReader:
    """How labels are read after training: by encoders as they were before, or, there are none, by the trained one.

    `layers` are the trained ones of the label side; `before` is the encoder's state before training, which is small; of
    several encoders the states stand under their numbers.
    """

    encoders: tuple[EncoderConfig, ...]
    layers: dict[str, FloatArray]
    before: dict[str, Any] = field(default_factory=dict)
    loaded: list[Encoder] = field(default_factory=list, compare=False)  # once labels came

    @classmethod
    def of(cls, encoders: Sequence[Encoder]) -> Self:
        """Before training, for they are to be as they are now; `trained` comes after it."""
        configs = tuple(encoder.config for encoder in encoders)
        if len(encoders) == 1:
            return cls(configs, {}, encoders[0].state())
        states = [add_prefix(str(i), encoder.state()) for i, encoder in enumerate(encoders)]
        return cls(configs, {}, {name: value for state in states for name, value in state.items()})

    def trained(self, labels: LabelModule) -> LabelReader:
        weights = {name: value for name, value in labels.state_dict().items() if name.startswith(("output.", "query."))}
        return replace(self, layers={name: value.cpu().numpy() for name, value in weights.items()})

    def read(self, texts: list[str], size: int, ranker: OneSidedRanker) -> dict[str, FloatArray]:
        """`outputs`, which are 1 long, and `queries` if there is attention."""
        own = side_by_side(self._as_they_were() if self.encoders else [ranker.encoder], texts, size)
        outputs = self._layer("output", own) if self.encoders else ranker.documents.through_layer(own)
        queries = {"queries": self._layer("query", own)} if "query.weight" in self.layers else {}
        return {"outputs": unit_rows(outputs), **queries}

    def of_tokens(self) -> tuple[TokenTable, Layer]:
        """What an index of the labels' tokens is restored with."""
        encoder = self._as_they_were()[0] if self.encoders else None
        checks.require(isinstance(encoder, StaticEncoder) and "output.bias" in self.layers, "labels have no tokens")
        return encoder.table, Layer(self.layers["output.weight"], self.layers["output.bias"])  # type: ignore[union-attr]

    def _as_they_were(self) -> list[Encoder]:
        if not self.loaded:
            several = [strip_prefix(self.before, str(i)) for i in range(len(self.encoders))]
            self.loaded.extend(map(restore_encoder, self.encoders, several if len(several) > 1 else [self.before]))
        return self.loaded

    def _layer(self, name: str, vectors: FloatArray) -> FloatArray:
        return np.asarray(vectors @ self.layers[f"{name}.weight"].T + self.layers[f"{name}.bias"], np.float32)

    def check(self, dim: int) -> None:
        """Of one that was restored: layers from what the encoder gives to so many dimensions."""
        known = {f"{layer}.{part}" for layer in ("output", "query") for part in ("weight", "bias")}
        checks.require(set(self.layers) <= known, "labels have other layers")
        for name, values in self.layers.items():
            checks.numbers(values, name, *((dim, None) if name.endswith("weight") else (dim,)), most=LARGEST_WEIGHT)

    def state(self) -> dict[str, Any]:
        return add_prefix("before", self.before) | add_prefix("layers", self.layers)

    @classmethod
    def restored(cls, encoders: tuple[EncoderConfig, ...], state: dict[str, Any]) -> Self:
        return cls(encoders, strip_prefix(state, "layers"), strip_prefix(state, "before"))


def side_by_side(encoders: Sequence[Encoder], texts: Sequence[str], size: int, run: Run = QUIET) -> FloatArray:
    """Unit vectors of texts, cut to so many tokens: of several encoders one beside the other, each with the same share.

    Dimensions add up. A text that no encoder knows is 0.
    """
    parts = [encoder.encode_tokens(encoder.tokenize(texts, size), run=run) for encoder in encoders]
    if len(parts) == 1:
        return parts[0]
    return np.asarray(np.hstack(parts) / np.sqrt(len(parts)), np.float32)
