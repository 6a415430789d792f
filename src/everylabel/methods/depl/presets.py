"""DEPL's settings in its paper: section 3.3, and appendix A.1.3.

Learning rates there are three for the classifier (encoder, pooling layer, classifier) and two for retrieval (encoder;
pooling layers and label embeddings): a fifth and a twentieth of the classifier's, on Wiki10-31K the same and a tenth.
"Batches of 500 instances" are labels. Epochs are not in the paper: 8 in each part, and 4 on the two large data sets, as
often as MatchXML reads these (its table III: 4.3 times).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from everylabel import config

_CLASSIFIER: dict[str, Any] = {
    "encoder": {"kind": "bert-base-uncased", "max_tokens": 512, "lexical": 0},
    "pooling": "cls",
    "normalise": False,
    "classify": {"epochs": 8.0, "batch_size": 16, "lr": 5e-5, "layer_lr": 1e-4, "head_lr": 2e-3},
    "rare_weight": 0.0,
}
_WIKI10_CLASSIFIER: dict[str, Any] = {"classify": {"lr": 1e-5, "layer_lr": 1e-4, "head_lr": 1e-3}}
_LONG_CLASSIFIER: dict[str, Any] = {"classify": {"epochs": 4.0}}  # of more than a million documents

CLASSIFIER: Final[dict[str, Mapping[str, Any]]] = {
    "paper": _CLASSIFIER,
    "paper:eurlex-4k": {},
    "paper:amazoncat-13k": _LONG_CLASSIFIER,
    "paper:wiki10-31k": _WIKI10_CLASSIFIER,
    "paper:wiki-500k": _LONG_CLASSIFIER,
}

_DEPL: dict[str, Any] = {
    "label_pooling": "mean",
    "keywords": {"per_label": 20, "min_df": 2, "max_df": 0.7},
    "description_tokens": 16,
    "hard_negatives": 10,
    "labels_per_batch": 500,
    "plain_share": 0.0,
    "initialise": True,
    "retrieve": {"epochs": 8.0, "batch_size": 16, "lr": 1e-5, "layer_lr": 1e-4, "head_lr": 1e-4},
}
_LONG: dict[str, Any] = _LONG_CLASSIFIER | {"retrieve": {"epochs": 4.0}}

DEPL: Final[dict[str, Mapping[str, Any]]] = {
    "paper": config.merge(_CLASSIFIER, _DEPL),
    "paper:eurlex-4k": {"labels_per_batch": 300},
    "paper:amazoncat-13k": _LONG | {"labels_per_batch": 300},
    "paper:wiki10-31k": config.merge(_WIKI10_CLASSIFIER, {"labels_per_batch": 500}),
    "paper:wiki-500k": _LONG | {"labels_per_batch": 500, "keywords": {"leaf_size": 64}, "clusters": 20},
}
DE_RET: Final[dict[str, Mapping[str, Any]]] = DEPL | {
    "paper": config.merge(DEPL["paper"], {"keywords": {"per_label": 0}})
}
