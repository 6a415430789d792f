"""The paper's settings for the one-sided family (the paper: onesided.py), from its section 5.4 and appendix C.

And what of-de is by the size of data, so that a fit costs neither what the labels are nor what the documents are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from everylabel.config import merge
from everylabel.methods.facts import VERY_MANY_LABELS, Facts

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


EPOCHS, LABELS = 5.0, 5_000  # of-de's, passes over the documents and labels of a step
LABELS_OF_MANY = 2_000  # of a step, of very many
MOST_TRAINED = 1_000_000  # documents that are read in all passes


def labels_of_step(facts: Facts) -> int:
    return LABELS_OF_MANY if facts.n_labels >= VERY_MANY_LABELS else LABELS


def per_document(facts: Facts) -> float:
    """Seconds of training."""
    return 2.2e-4 + 8e-7 * min(facts.words, 1_000) + 1e-7 * min(facts.n_seen, labels_of_step(facts))


def epochs(facts: Facts) -> float:
    return min(EPOCHS, MOST_TRAINED / max(facts.n_labelled, 1))


def by_size(facts: Facts) -> dict[str, Any]:
    """What differs from the defaults."""
    some: dict[str, Any] = {"labels_per_batch": LABELS_OF_MANY} if facts.n_labels >= VERY_MANY_LABELS else {}
    return some if epochs(facts) == EPOCHS else {**some, "learn": {"epochs": epochs(facts)}}


def presets_of(*parts: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Of a member: what all of them have, and what its parts have of their own."""
    return {
        "paper": merge(ALL, *parts),
        "paper:eurlex57k": {},
        "paper:mimic-iii": {},
        "paper:amazoncat-13k": {"learn": {"epochs": 30.0, "steps": AMAZON_STEPS}},
    }
