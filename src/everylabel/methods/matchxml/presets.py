"""MatchXML's settings in its paper: tables II to IV, and section IV-B.

What the paper does not say is as in the authors' code: sizes of trees, numbers of negatives, weights, warm-up, and the
linear ranker's costs. The general preset has the sizes of Wiki10-31K. Ensembles (table VI) are BERT, RoBERTa and XLNet
for the three smaller data sets, and one encoder with three trees for the others.
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
    "leaf_size": 16,  # these three of Wiki10-31K: without a size there would be no tree for up to 10,000 labels
    "arity": 16,
    "beam": 100,
    "ranker_tree": "paper",
    "solver": {"shares": True, "max_epochs": 100},
    "members": 1,
    "rare_weight": 0.0,
}


def _of(
    label2vec: tuple[float, int],
    ranker: tuple[int, int, int],
    costs: tuple[float, float],
    fine_tuning: dict[str, Any],
    **more: Any,
) -> dict[str, Any]:
    """Of one data set: label2vec's exponent and passes; leaf size, arity and beam of the ranker; costs of a true and of
    a wrong label; what the stages have."""
    (exponent, epochs), (leaf_size, arity, beam), (positive, negative) = label2vec, ranker, costs
    found: dict[str, Any] = {
        "label2vec": {"exponent": exponent, "epochs": epochs},
        "fine_tuning": fine_tuning,
        "solver": {"cost_positive": positive, "cost_negative": negative},
    }
    return config.merge(found | {"leaf_size": leaf_size, "arity": arity, "beam": beam}, more)


def _stages(rates: list[float], steps: list[int], warm: list[int], **more: Any) -> dict[str, Any]:
    """Rates, steps and steps of warm-up, a stage each."""
    warmup = [round(few / all_steps, 4) for few, all_steps in zip(warm, steps, strict=True)]
    return {"stage_lr": rates, "stage_steps": steps, "stage_warmup": warmup, **more}


def _ensemble(of_data: dict[str, Any], *encoders: str) -> dict[str, Any]:
    return of_data | {"members": 3} | ({"member_encoders": list(encoders)} if encoders else {})


_EURLEX_4K = _of(
    (0.5, 20),
    (16, 8, 75),
    (2.0, 1.0),
    _stages(
        [5e-5] * 3, [480, 620, 600], [0] * 3, negatives=1_000, leaf_size=16, first_nodes=16, balance=1.0, hinge_too=True
    ),
    tree="pifa",
)
_WIKI10_31K = _of(
    (1.0, 20),
    (16, 16, 100),
    (4.0, 1.0),
    _stages([5e-5] * 3, [500, 520, 350], [50, 50, 30], negatives=1_000, leaf_size=16, beam=20, balance=0.0),
    encoder={"kind": ROBERTA, "max_tokens": 256},
)
_AMAZONCAT_13K = _of(
    (0.5, 20),
    (16, 8, 100),
    (0.5, 0.5),
    _stages(
        [1e-4] * 3, [10_000, 10_000, 20_000], [1_000] * 3, negatives=10_000, leaf_size=16, arity=8, beam=50, balance=1.0
    ),
    encoder={"max_tokens": 256},
    solver={"tolerance": 0.01},
    first_nodes=128,
)
_WIKI_500K = _of(
    (-1.0, 50),
    (100, 32, 50),
    (4.0, 1.0),
    _stages(
        [1e-4] * 4, [10_000, 10_000, 20_000, 20_000], [5_000] * 4, leaf_size=16, arity=8, first_nodes=64, balance=0.67
    ),
)
_AMAZON_670K = _of(
    (0.5, 50),
    (100, 32, 75),
    (1.0, 1.0),
    _stages(
        [5e-5, 5e-5, 2e-4],
        [4_000, 4_000, 12_000],
        [200] * 3,
        batch_size=256,
        weighted_start=False,
        leaf_size=32,
        balance=0.5,
    ),
    encoder={"kind": ROBERTA},
    solver={"shares": False},
)
_AMAZON_3M = _of(
    (-0.5, 20),
    (100, 32, 50),
    (10.0, 1.0),
    _stages(
        [1.5e-4] * 3,
        [10_000] * 3,
        [1_000] * 3,
        batch_size=256,
        weighted_start=False,
        leaf_size=100,
        beam=20,
        balance=0.9,
        head_lr=5e-3,
    ),
)

MATCHXML: Final[dict[str, Mapping[str, Any]]] = {
    "paper": _PAPER,
    "paper:eurlex-4k": _EURLEX_4K,
    "paper:wiki10-31k": _WIKI10_31K,
    "paper:amazoncat-13k": _AMAZONCAT_13K,
    "paper:wiki-500k": _WIKI_500K,
    "paper:amazon-670k": _AMAZON_670K,
    "paper:amazon-3m": _AMAZON_3M,
    "paper:eurlex-4k-ensemble": _ensemble(_EURLEX_4K, BERT, ROBERTA, XLNET),
    "paper:wiki10-31k-ensemble": _ensemble(_WIKI10_31K, BERT, ROBERTA, XLNET),
    "paper:amazoncat-13k-ensemble": _ensemble(_AMAZONCAT_13K, BERT, ROBERTA, XLNET),
    "paper:wiki-500k-ensemble": _ensemble(_WIKI_500K),
    "paper:amazon-670k-ensemble": _ensemble(_AMAZON_670K),
    "paper:amazon-3m-ensemble": _ensemble(_AMAZON_3M),
}
_WITHOUT: dict[str, Any] = {"tree": "pifa", "fine_tuning": {"matching": False}, "sentence_weight": 0.0}
XR_TRANSFORMER: Final[dict[str, Mapping[str, Any]]] = MATCHXML | {"paper": config.merge(_PAPER, _WITHOUT)}
