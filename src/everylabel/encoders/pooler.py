"""A transformer's pooler output as heads of an encoder: its first token through a linear layer and tanh.

That is what plain BERT was pretrained with, and what classifiers on it read. BERT's layer comes with its weights. Where
there are none (RoBERTa's folder has none; XLNet has no such layer, and its last token stands for the text) it begins
with random ones, the same each time.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from everylabel.encoders.pretrained import needed
from everylabel.errors import ConfigError

LAST_TOKEN = ("xlnet",)


def pooler_heads(transformer: Any) -> list[nn.Module]:
    """Pooling, and a dense layer with tanh."""
    modules = needed("sentence_transformers.sentence_transformer.modules")
    config = transformer.config
    dim, kind = int(config.hidden_size), config.model_type
    own = getattr(getattr(transformer, "pooler", None), "dense", None)
    if own is None and kind not in LAST_TOKEN:
        raise ConfigError(f"encoder.pooling='pooler': a {kind!r} has no pooler; set encoder.pooling=own")
    pooling: nn.Module = modules.Pooling(dim, pooling_mode="lasttoken" if kind in LAST_TOKEN else "cls")
    with torch.random.fork_rng(devices=[]):
        dense: nn.Module = modules.Dense(dim, dim, bias=True, activation_function=nn.Tanh())
        if own is None:
            torch.manual_seed(0)
            nn.init.normal_(dense.linear.weight, std=float(config.initializer_range))  # type: ignore[union-attr, arg-type]
            nn.init.zeros_(dense.linear.bias)  # type: ignore[union-attr, arg-type]
    if own is not None:
        dense.linear.load_state_dict(own.state_dict())  # type: ignore[union-attr]
    return [pooling, dense]
