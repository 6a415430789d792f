"""Every registered method, with settings as small as the toy problem; some also take another way through their code.

In the fast tier encoders are of a tiny model that knows the toy's words. The slow one has them as a user gets them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from everylabel import config
from everylabel.methods.base import Method
from everylabel.registry import METHODS, method_class

TINY = "the tiny model"  # its folder stands here when a test runs
Case = tuple[str, dict[str, Any]]
Fit = Callable[[], Method]

# down a tree, ten seconds a fit; tests/methods/attentionxml has its parts
LONG: list[Case] = [
    (
        "attentionxml",
        {
            "flat_below": 3,
            "leaf_size": 3,
            "arity": 3,
            "first_level": 1,
            "beam": 3,
            "label_lr": 0.05,  # a tenth of the steps that more data have
            "learn": {"steps": 300},
            "encoder": {"teacher": TINY},
        },
    ),
]
ALSO: list[Case] = [
    ("xr-linear", {"leaf_size": 3, "arity": 2, "beam": 4}),
    ("xr-linear", {"leaf_size": 4, "arity": 16, "matcher_negatives": True, "tfidf": {"title_weight": 2.0}}),
    ("knn", {"neighbours": 60, "power": 1.0}),
    ("knn", {"language": "any"}),
    ("xr-linear", {"language": "any"}),
    ("semantic", {"encoder": {"teacher": "documents", "lexical": 64}}),
    ("of-de", {"learn": {"steps": 40}, "encoder": {"teacher": "documents", "lexical": 64}}),
    (
        "lan",  # as in its paper: attention over all labels, products and constants
        {
            "learn": {"steps": 40, "layer_lr": 0.05},
            "encoder": {"teacher": TINY, "lexical": 64},
            "output": "linear",
            "center": False,
            "frequency_weight": 0.0,
            "shortlist": 0,
            "pooled_share": 0.0,
        },
    ),
    (
        "tagger",
        {
            "experts": ["tfidf", "knn", "semantic"],
            "settings": {"semantic": {"encoder": {"teacher": TINY, "lexical": 64}}},
        },
    ),
]


def smaller(name: str) -> dict[str, Any]:
    """Without dimensions and steps that a problem this small does not need: all fits would take minutes."""
    found: dict[str, Any] = {}
    for key, value in config.to_dict(method_class(name)()).items():
        if isinstance(value, dict) and "teacher" in value:
            found[key] = {"teacher": TINY}
            if value["kind"] != "static":
                found[key] |= {"kind": TINY, "onnx": False}
            if value["lexical"] > 64:
                found[key]["lexical"] = 64
        if isinstance(value, dict) and "steps" in value:
            found[key] = {"steps": 10 if "task" in value else 40}  # self-supervision begins with what works already
        if key == "label_encoder":  # the documents' own: a transformer is tested with the encoders
            found[key] = ""
        if key == "experts":  # the tagger's: what it plans by itself is tested with the tagger
            found[key] = ["tfidf", "knn", "svm", "zestxml"]
    return found


def pretrained(settings: dict[str, Any]) -> dict[str, Any]:
    """With the encoders that a user gets."""
    found = {key: pretrained(value) if isinstance(value, dict) else value for key, value in settings.items()}
    return {key: value for key, value in found.items() if value not in (TINY, {}) and key != "onnx"}


def with_model(settings: dict[str, Any], folder: str) -> dict[str, Any]:
    """With the tiny model's folder in its place."""
    found = {key: with_model(value, folder) if isinstance(value, dict) else value for key, value in settings.items()}
    return {key: folder if value == TINY else value for key, value in found.items()}


def in_one_worker(case: Case, *marks: Any, suffix: str = "") -> Any:
    """The tests of a case share a fit; those of others may run beside them."""
    name = "-".join([case[0], *case[1]]) + suffix
    return pytest.param(case, id=name, marks=[pytest.mark.xdist_group(f"contract {name}"), *marks])


SMALL: list[Case] = [(name, smaller(name)) for name in METHODS] + ALSO
CASES = [in_one_worker(case) for case in SMALL] + [in_one_worker(case, pytest.mark.slow) for case in LONG]
CASES += [
    in_one_worker((name, pretrained(settings)), pytest.mark.slow, suffix="-pretrained")
    for name, settings in SMALL
    if pretrained(settings) != settings
]
