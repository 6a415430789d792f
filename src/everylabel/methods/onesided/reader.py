"""Labels that come after training, read as training read the others (the paper: onesided.py).

A frozen label side is the encoder as it was before training; it is loaded again when labels come, and then stays.
Cost: the encoder's on the new texts, and labels x dim^2 for the trained layers. Without torch, where the encoder is.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from everylabel import checks
from everylabel.encoders.base import Encoder, EncoderConfig
from everylabel.encoders.build import restore_encoder
from everylabel.methods.onesided.documents import LARGEST_WEIGHT
from everylabel.states import add_prefix, strip_prefix
from everylabel.types import FloatArray
from everylabel.vectors import unit_rows

if TYPE_CHECKING:
    from everylabel.methods.onesided.module import LabelModule
    from everylabel.methods.onesided.ranker import OneSidedRanker


@dataclass(frozen=True)
class LabelReader:
    """How labels are read after training: by the encoder as it was before, or, `encoder` is None, by the trained one.

    `layers` are the trained ones of the label side; `before` is the encoder's state before training, which is small.
    """

    encoder: EncoderConfig | None
    layers: dict[str, FloatArray]
    before: dict[str, Any] = field(default_factory=dict)
    loaded: list[Encoder] = field(default_factory=list, compare=False)  # once labels came

    @classmethod
    def of(cls, encoder: Encoder | None) -> Self:
        """Before training, for `encoder` is to be as it is now; `trained` comes after it."""
        return cls(None, {}) if encoder is None else cls(encoder.config, {}, encoder.state())

    def trained(self, labels: LabelModule) -> LabelReader:
        weights = {name: value for name, value in labels.state_dict().items() if name.startswith(("output.", "query."))}
        return replace(self, layers={name: value.cpu().numpy() for name, value in weights.items()})

    def read(self, texts: list[str], size: int, ranker: OneSidedRanker) -> tuple[FloatArray, FloatArray | None]:
        """Unit output vectors, and queries if there is attention."""
        encoder = ranker.encoder if self.encoder is None else self._as_it_was(self.encoder)
        own = encoder.encode_tokens(encoder.tokenize(texts, size))
        outputs = ranker.documents.through_layer(own) if self.encoder is None else self._layer("output", own)
        return unit_rows(outputs), self._layer("query", own) if "query.weight" in self.layers else None

    def _as_it_was(self, config: EncoderConfig) -> Encoder:
        if not self.loaded:
            self.loaded.append(restore_encoder(config, self.before))
        return self.loaded[0]

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
    def restored(cls, encoder: EncoderConfig | None, state: dict[str, Any]) -> Self:
        return cls(encoder, strip_prefix(state, "layers"), strip_prefix(state, "before"))
