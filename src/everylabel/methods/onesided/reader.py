"""Labels that come after training, read as training read the others (the paper: onesided.py).

A frozen label side is the encoder as it was before training; it is loaded again when labels come, not kept with the
model. Cost: the encoder's on the new texts, and labels x dim^2 for the trained layers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch

from everylabel.encoders.base import Encoder, EncoderConfig
from everylabel.encoders.build import load_encoder
from everylabel.errors import ModelError
from everylabel.states import add_prefix, strip_prefix
from everylabel.types import FloatArray
from everylabel.vectors import unit_rows

if TYPE_CHECKING:
    from everylabel.methods.onesided.module import LabelModule
    from everylabel.methods.onesided.ranker import OneSidedRanker


@dataclass(frozen=True)
class LabelReader:
    """How labels are read after training: by the encoder as it was before, or, `encoder` is None, by the trained one.

    `layers` are the trained ones of the label side; `factors` are those of static embeddings in the corpus.
    """

    encoder: EncoderConfig | None
    layers: dict[str, FloatArray]
    factors: FloatArray | None = None
    fingerprint: str = ""

    @classmethod
    def of(cls, encoder: Encoder | None) -> Self:
        """Before training, for `encoder` is to be as it is now; `trained` comes after it."""
        if encoder is None:
            return cls(None, {})
        return cls(encoder.config, {}, getattr(encoder, "factors", None), encoder.fingerprint)

    def trained(self, labels: LabelModule) -> LabelReader:
        weights = {name: value for name, value in labels.state_dict().items() if name.startswith(("output.", "query."))}
        return replace(self, layers={name: value.cpu().numpy() for name, value in weights.items()})

    def read(self, texts: list[str], size: int, ranker: OneSidedRanker) -> tuple[FloatArray, FloatArray | None]:
        """Unit output vectors, and queries if there is attention."""
        encoder = ranker.encoder if self.encoder is None else self._as_it_was(self.encoder)
        own = encoder.encode_tokens(encoder.tokenize(texts, size))
        if self.encoder is not None:
            outputs = self._layer("output", own)
        else:
            layer = ranker.documents.layer
            with torch.inference_mode():
                outputs = own if layer is None else own + layer(torch.from_numpy(own)).numpy()
        return unit_rows(outputs), self._layer("query", own) if "query.weight" in self.layers else None

    def _as_it_was(self, config: EncoderConfig) -> Encoder:
        encoder = load_encoder(config)
        if self.factors is not None:
            encoder.scale(self.factors)  # type: ignore[attr-defined]
        if encoder.fingerprint != self.fingerprint:
            raise ModelError(
                f"labels of this model were read by another {config.kind!r} encoder ({self.fingerprint[:12]}) than the "
                f"one found now ({encoder.fingerprint[:12]}): put the old weights back in its place, or fit again"
            )
        return encoder

    def _layer(self, name: str, vectors: FloatArray) -> FloatArray:
        return np.asarray(vectors @ self.layers[f"{name}.weight"].T + self.layers[f"{name}.bias"], np.float32)

    def state(self) -> dict[str, Any]:
        factors = {} if self.factors is None else {"factors": self.factors}
        return {"fingerprint": self.fingerprint, **factors, **add_prefix("layers", self.layers)}

    @classmethod
    def restored(cls, encoder: EncoderConfig | None, state: dict[str, Any]) -> Self:
        return cls(encoder, strip_prefix(state, "layers"), state.get("factors"), state["fingerprint"])
