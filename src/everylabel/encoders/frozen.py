"""An untrained transformer with int8 weights that this machine has exported before: it encodes without torch.

Loading torch and sentence-transformers is most of the time in which a server starts. Graph, tokeniser and limit are in
this machine's cache, under the fingerprint of the encoder that they were made from (onnx.py). A model folder has none
of them, so that nobody else's graph is ever run. Who wants more than int8 vectors, say the module to train it, gets the
whole encoder, which is loaded then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from everylabel.encoders.base import EncoderConfig, Tokens
from everylabel.encoders.encoding import Encoding
from everylabel.encoders.onnx import Around, OnnxTransformer, mean_of
from everylabel.encoders.padding import Padding
from everylabel.encoders.pretrained import needed
from everylabel.encoders.tokenizer import shared_tokenizer
from everylabel.run import Run
from everylabel.types import FloatArray

if TYPE_CHECKING:
    from everylabel.encoders.transformer import TransformerEncoder, TransformerModule


class FrozenEncoder(Encoding):
    """See `Encoder`: the same vectors as the whole encoder's, to the last bit."""

    def __init__(self, config: EncoderConfig, fingerprint: str, around: Around) -> None:
        tokenizer = shared_tokenizer(around.tokenizer)
        pad = Padding(tokenizer.prefix, tokenizer.suffix, around.limit, around.pad_id)
        super().__init__(config, around.dim, tokenizer, pad)
        self._fingerprint = fingerprint
        self._whole: TransformerEncoder | None = None

    @classmethod
    def kept(cls, config: EncoderConfig, fingerprint: str) -> FrozenEncoder | None:
        around = Around.kept(fingerprint, config.max_tokens) if config.onnx else None
        return None if around is None else cls(config, fingerprint, around)

    @property
    def fingerprint(self) -> str:
        return self._fingerprint if self._whole is None else self._whole.fingerprint

    @property
    def module(self) -> TransformerModule:
        return self._loaded().module

    def state(self) -> dict[str, Any]:
        return {"fingerprint": self._fingerprint} if self._whole is None else self._whole.state()

    @property
    def _frozen(self) -> bool:
        return self._whole is None or self._whole._frozen

    def _loaded(self) -> TransformerEncoder:
        with self._lock:
            if self._whole is None:
                needed("torch")
                from everylabel.encoders.transformer import TransformerEncoder

                self._whole = TransformerEncoder.found(self.config, self._fingerprint)
            return self._whole

    def _vectors(self, tokens: Tokens, advance: Callable[[int], None], run: Run, *, unit: bool = True) -> FloatArray:
        if unit and self._frozen:
            return self._vectors_int8(tokens, advance, run)
        return self._loaded()._vectors(tokens, advance, run, unit=unit)

    def _made_int8(self, run: Run) -> OnnxTransformer:
        return OnnxTransformer(self._fingerprint, self._exported, run)

    def _exported(self) -> bytes:
        """Again, where the graph that was there is damaged."""
        from everylabel.encoders.onnx_export import export

        return export(self.module.transformer)

    def _head(self, states: FloatArray) -> FloatArray:
        return mean_of(states)
