"""MACLR's settings in its paper, section 5.1, and those of the competitors that its tables 2, 3 and 5 have beside it.

The paper has one set of settings for its four data sets; only few-shot fine-tuning differs, 2,000 steps with 1 % of the
labels and 10,000 with 5 %. Of its competitors it says that they have "their default setups", and no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from everylabel import config

DATA_SETS = ("lf-amazon-131k", "lf-wikiseealso-320k", "lf-wikipedia-500k", "lf-amazon-1m")

_TOWER: dict[str, Any] = {
    "encoder": {"kind": "bert-base-uncased", "max_tokens": 288, "lexical": 0},
    "similarity": "dot",
    "head": 512,
    "center": False,
    "label_tokens": 64,
}
_FEW_SHOT: dict[str, Any] = {"fine_tune_steps": 2_000, "fine_tune_alone": True, "other_labels": 0}
_ICT: dict[str, Any] = _TOWER | {
    "learn": {"steps": 100_000, "batch_size": 256, "lr": 1e-5, "temperature": 1.0, **_FEW_SHOT}
}
_MACLR: dict[str, Any] = {
    "match": {"language": "none", "title_weight": 0.0},
    "learn": {
        "label_temperature": 1.0,
        "first_clusters": 2048,
        "label_negatives": 32,
        "pseudo_labels": 3,
        "pseudo_by_rank": False,
        "pseudo_least": None,
    },
}
_COSINE: dict[str, Any] = {"similarity": "cosine", "learn": {"temperature": 0.05}}
_SENTENCE_ENCODER: dict[str, Any] = {
    "encoder": {"kind": "sentence-transformers/paraphrase-mpnet-base-v2"},
    "head": 0,
}


def _presets(paper: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    few = {"paper:few-shot-1": {}, "paper:few-shot-5": {"learn": {"fine_tune_steps": 10_000}}}
    return {"paper": paper, **{f"paper:{name}": {} for name in DATA_SETS}, **few}


MACLR: Final = _presets(config.merge(_ICT, _MACLR))
ICT: Final = _presets(_ICT)
COSINE: Final = _presets(config.merge(_ICT, _COSINE))  # SimCSE and RTS
FINE_TUNED: Final = _presets(config.merge(_ICT, _SENTENCE_ENCODER))
