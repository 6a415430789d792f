"""A trained transformer from what a model says of it: an architecture that is known here, weights that fit it.

Nothing that a model says is followed: settings are those that the architecture has, and numbers alone, or short words.
Sizes are compared with the weights that are there before anything is allocated. No code of a model is run, no name
looked up elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from everylabel import checks
from everylabel.encoders.pretrained import needed
from everylabel.errors import ModelError

KINDS = [
    "albert",
    "bert",
    "camembert",
    "convbert",
    "deberta",
    "deberta-v2",
    "distilbert",
    "electra",
    "ernie",
    "modernbert",
    "mpnet",
    "roberta",
    "roformer",
    "xlm-roberta",
    "xlm-roberta-xl",
    "xlnet",
]
_HEADS = ("Pooling", "Dense")
_LEFT_OUT = ("quantization", "backbone", "attn_implementation", "auto_map", "dtype", "label", "architectures", "_name")
_LARGEST, _LONGEST = 1 << 24, 100  # a number and a word among the settings


def can_be_rebuilt(transformer: nn.Module) -> bool:
    """Would a trained one be found again?"""
    return getattr(transformer.config, "model_type", None) in KINDS


def heads_config(heads: Any) -> list[list[Any]]:
    return [[type(head).__name__, head.get_config_dict()] for head in heads]


def rebuilt(state: Mapping[str, Any], weights: Mapping[str, Any]) -> tuple[nn.Module, list[nn.Module]]:
    """(transformer, heads) with weights of these shapes, as yet random; ModelError or ValueError if there is none."""
    settings = json.loads(state["transformer"])
    checks.require(isinstance(settings, dict) and isinstance(state["heads"], list), "an encoder without settings")
    with torch.device("meta"):  # nothing is allocated
        found = _parts(settings, state["architecture"], state["heads"], len(weights))
    shapes: dict[str, tuple[int, ...]] = {}
    for name, part in (("transformer", found[0]), *((f"heads.{i}", head) for i, head in enumerate(found[1]))):
        shapes |= {f"{name}.{key}": tuple(value.shape) for key, value in part.state_dict().items()}
    given = {key: tuple(np.shape(value)) for key, value in weights.items()}
    for key, value in weights.items():
        checks.within(value, key, -_LARGEST, _LARGEST)
    checks.require(shapes == given, "an encoder with other weights than its architecture has")
    with torch.random.fork_rng(devices=[]):  # the first weights are random, and thrown away
        return _parts(settings, state["architecture"], state["heads"], len(weights))


def _parts(
    settings: dict[str, Any], architecture: Any, heads: Any, n_weights: int
) -> tuple[nn.Module, list[nn.Module]]:
    transformers = needed("transformers")
    kind = settings.get("model_type")
    if kind not in KINDS:
        raise ModelError(
            f"the model's encoder is a {str(kind)[:40]!r}, and none that is known here: upgrade everylabel"
        )
    blank = transformers.AutoConfig.for_model(kind)
    known = {key: value for key, value in settings.items() if key in blank.to_dict() and _is_plain(key, value)}
    for key, value in known.items():
        if "layers" in key and isinstance(value, int):
            checks.whole(value, key, 0, n_weights)
    config = transformers.AutoConfig.for_model(kind, **{k: v for k, v in known.items() if k != "model_type"})
    found = transformers.MODEL_MAPPING[type(config)]
    checks.require(found.__name__ == architecture, f"a {kind} is a {found.__name__}")
    return found(config), [_head(name, own) for name, own in heads]


def _is_plain(key: str, value: Any) -> bool:
    """Numbers and short words; what would be opened, downloaded or chosen by name is left out."""
    if any(part in key for part in _LEFT_OUT):
        return False
    if isinstance(value, (bool, type(None), float)):
        return True
    if isinstance(value, int):
        return abs(value) <= _LARGEST
    if isinstance(value, str):
        return len(value) <= _LONGEST
    return isinstance(value, list) and len(value) <= _LONGEST and all(isinstance(item, (int, str)) for item in value)


def _head(name: Any, settings: dict[str, Any]) -> nn.Module:
    modules = needed("sentence_transformers.sentence_transformer.modules")
    if name not in _HEADS:
        raise ModelError(
            f"the model's encoder has an unknown part {str(name)[:40]!r}; it was written by a newer version: upgrade"
        )
    settings = dict(settings)
    if name == "Dense":
        activation = str(settings["activation_function"]).rpartition(".")[2]
        if activation not in (*nn.modules.activation.__all__, "Identity"):
            raise ModelError(f"the model's encoder has an unknown activation {activation[:40]!r}; upgrade torch")
        settings["activation_function"] = getattr(nn, activation)()
    head: nn.Module = getattr(modules, name)(**settings)
    return head
