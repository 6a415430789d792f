"""A configuration, or a saved state, becomes an encoder. torch is loaded here for transformers, on use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from everylabel.encoders.base import Encoder, EncoderConfig
from everylabel.encoders.frozen import FrozenEncoder
from everylabel.encoders.places import place_of
from everylabel.encoders.pretrained import needed
from everylabel.errors import ConfigError
from everylabel.run import QUIET, Run


def load_encoder(config: EncoderConfig, corpus: Sequence[str] | None = None, run: Run = QUIET) -> Encoder:
    """The pretrained encoder. Seconds; the first "static" of a teacher is distilled, in about a minute.

    With a corpus, static token embeddings are weighted by how rare a token is in it; a transformer stays as it is.
    """
    config.check()
    needed("tokenizers")
    if config.kind == "static":
        from everylabel.encoders.static import DOCUMENTS, StaticEncoder

        if config.teacher == DOCUMENTS:
            if corpus is None:
                raise ConfigError("encoder.teacher='documents' learns from documents, and there are none here to read")
            from everylabel.encoders.learned import learned_encoder

            encoder = learned_encoder(config, corpus, 0, run)
        else:
            encoder = StaticEncoder.load(config, run)
        return encoder if corpus is None else encoder.weighed(encoder.tokenize(corpus, run=run))
    needed("torch")
    from everylabel.encoders.transformer import TransformerEncoder

    return TransformerEncoder.load(config)


def restore_encoder(config: EncoderConfig, state: Mapping[str, Any], run: Run = QUIET) -> Encoder:
    """The encoder that gave this `state()`: a trained one from the state alone, else loaded again and compared.

    No name that a model says is followed, nothing is downloaded (places.py).
    """
    config.check()
    needed("tokenizers")
    if config.kind == "static":
        from everylabel.encoders.static import StaticEncoder

        return StaticEncoder.restore(config, dict(state), run)
    if "tokenizer" in state:
        needed("torch")
        from everylabel.encoders.transformer import TransformerEncoder

        return TransformerEncoder.restore(config, dict(state))
    fingerprint = str(state.get("fingerprint"))
    place_of(config.kind, fingerprint)  # an error where the model may not have it
    if (frozen := FrozenEncoder.kept(config, fingerprint)) is not None:
        return frozen
    needed("torch")
    from everylabel.encoders.transformer import TransformerEncoder

    return TransformerEncoder.found(config, fingerprint)
