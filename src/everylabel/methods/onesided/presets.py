"""The paper's settings for the one-sided family (the paper: onesided.py), from its section 5.4 and appendix C."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from everylabel.config import merge

ALL: dict[str, Any] = {
    "encoder": {"kind": "distilbert-base-uncased", "max_tokens": 512},
    "center": False,
    "document_layer": False,
    "pair_sums": True,
    "unseen_negatives": True,  # table 2; without them: table 5
    "labels_per_batch": 1_000_000,  # all
    "learn": {"epochs": 50.0, "batch_size": 256, "lr": 5e-5, "layer_lr": 5e-5},  # 32 on each of eight GPUs
    "weight_decay": 0.01,
    "frequency_weight": 0.0,
    "rare_weight": 0.0,
}
FROZEN: dict[str, Any] = {"label_encoder": "Salesforce/SFR-Embedding-2_R", "auxiliary": 1.0}
FREE: dict[str, Any] = {"output": "linear", "temperature": 1.0}
ATTENTION: dict[str, Any] = {"shortlist": 0, "pooled_share": 0.0}
AMAZON_STEPS = 111_210  # 30 x 948,992 / 256: more than epochs alone would make of so many documents


def presets_of(*parts: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Of a member: what all of them have, and what its parts have of their own."""
    return {
        "paper": merge(ALL, *parts),
        "paper:eurlex57k": {},
        "paper:mimic-iii": {},
        "paper:amazoncat-13k": {"learn": {"epochs": 30.0, "steps": AMAZON_STEPS}},
    }
