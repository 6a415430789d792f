"""MatchXML's settings in its paper: tables II to IV, and section IV-B.

What the paper does not say is as in the authors' code: sizes of trees, numbers of negatives, weights, and the linear
ranker's costs. Ensembles (table VI) are `members=3` with `member_encoders` BERT, RoBERTa and XLNet for the three
smaller data sets, and with one encoder and three trees for the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from everylabel import config

BERT, ROBERTA, XLNET = "bert-base-uncased", "roberta-base", "xlnet-base-cased"

_PAPER: dict[str, Any] = {
    "tree": "label2vec",
    "label2vec": {"dim": 100, "negatives": 20, "rate": 0.025},
    "encoder": {"kind": BERT, "max_tokens": 128, "pooling": "pooler"},
    "fine_tuning": {
        "batch_size": 128,
        "negatives": 500,
        "arity": 16,
        "first_nodes": 128,
        "most_nodes": 32_768,
        "beam": 5,
        "weighted": True,
        "matcher_start": True,
        "matching": True,
        "temperature": 0.05,
        "head_lr": 1e-3,
    },
    "tuned_weight": 1.0,
    "sentence": {"kind": "sentence-transformers/sentence-t5-base", "max_tokens": 256, "onnx": False},
    "sentence_weight": 1.0,
    "ranker_tree": "paper",
    "solver": {"shares": True, "max_epochs": 100},
    "members": 1,
    "rare_weight": 0.0,
}

_EURLEX_4K: dict[str, Any] = {
    "tree": "pifa",
    "label2vec": {"exponent": 0.5, "epochs": 20},
    "fine_tuning": {
        "negatives": 1_000,
        "leaf_size": 16,
        "first_nodes": 16,
        "balance": 1.0,
        "stage_lr": [5e-5, 5e-5, 5e-5],
        "stage_steps": [480, 620, 600],
    },
    "leaf_size": 16,
    "arity": 8,
    "beam": 75,
    "solver": {"cost_positive": 2.0, "cost_negative": 1.0},
}
_WIKI10_31K: dict[str, Any] = {
    "label2vec": {"exponent": 1.0, "epochs": 20},
    "encoder": {"kind": ROBERTA, "max_tokens": 256},
    "fine_tuning": {
        "negatives": 1_000,
        "leaf_size": 16,
        "beam": 20,
        "balance": 0.0,
        "stage_lr": [5e-5, 5e-5, 5e-5],
        "stage_steps": [500, 520, 350],
    },
    "leaf_size": 16,
    "arity": 16,
    "beam": 100,
    "solver": {"cost_positive": 4.0, "cost_negative": 1.0},
}
_AMAZONCAT_13K: dict[str, Any] = {
    "label2vec": {"exponent": 0.5, "epochs": 20},
    "encoder": {"max_tokens": 256},
    "fine_tuning": {
        "negatives": 10_000,
        "leaf_size": 16,
        "arity": 8,
        "beam": 50,
        "balance": 1.0,
        "stage_lr": [1e-4, 1e-4, 1e-4],
        "stage_steps": [10_000, 10_000, 20_000],
    },
    "leaf_size": 16,
    "arity": 8,
    "beam": 100,
    "solver": {"cost_positive": 0.5, "cost_negative": 0.5, "tolerance": 0.01},
}
_WIKI_500K: dict[str, Any] = {
    "label2vec": {"exponent": -1.0, "epochs": 50},
    "fine_tuning": {
        "leaf_size": 16,
        "arity": 8,
        "first_nodes": 64,
        "balance": 0.67,
        "stage_lr": [1e-4, 1e-4, 1e-4, 1e-4],
        "stage_steps": [10_000, 10_000, 20_000, 20_000],
    },
    "leaf_size": 100,
    "arity": 32,
    "beam": 50,
    "solver": {"cost_positive": 4.0, "cost_negative": 1.0},
}
_AMAZON_670K: dict[str, Any] = {
    "label2vec": {"exponent": 0.5, "epochs": 50},
    "encoder": {"kind": ROBERTA},
    "fine_tuning": {
        "batch_size": 256,
        "leaf_size": 32,
        "balance": 0.5,
        "stage_lr": [5e-5, 5e-5, 2e-4],
        "stage_steps": [4_000, 4_000, 12_000],
    },
    "leaf_size": 100,
    "arity": 32,
    "beam": 75,
    "solver": {"cost_positive": 1.0, "cost_negative": 1.0, "shares": False},
}
_AMAZON_3M: dict[str, Any] = {
    "label2vec": {"exponent": -0.5, "epochs": 20},
    "fine_tuning": {
        "batch_size": 256,
        "leaf_size": 100,
        "beam": 20,
        "balance": 0.9,
        "head_lr": 5e-3,
        "stage_lr": [1.5e-4, 1.5e-4, 1.5e-4],
        "stage_steps": [10_000, 10_000, 10_000],
    },
    "leaf_size": 100,
    "arity": 32,
    "beam": 50,
    "solver": {"cost_positive": 10.0, "cost_negative": 1.0},
}

MATCHXML: Final[dict[str, Mapping[str, Any]]] = {
    "paper": _PAPER,
    "paper:eurlex-4k": _EURLEX_4K,
    "paper:wiki10-31k": _WIKI10_31K,
    "paper:amazoncat-13k": _AMAZONCAT_13K,
    "paper:wiki-500k": _WIKI_500K,
    "paper:amazon-670k": _AMAZON_670K,
    "paper:amazon-3m": _AMAZON_3M,
}
_WITHOUT: dict[str, Any] = {"tree": "pifa", "fine_tuning": {"matching": False}, "sentence_weight": 0.0}
XR_TRANSFORMER: Final[dict[str, Mapping[str, Any]]] = MATCHXML | {"paper": config.merge(_PAPER, _WITHOUT)}
