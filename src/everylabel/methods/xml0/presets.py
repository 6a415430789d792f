"""XML0's settings in its paper, section IV; its fine-tuning is on two million pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

PAPER: Final[Mapping[str, Mapping[str, Any]]] = {
    "paper": {
        "base": "attentionxml",
        "encoder": {"kind": "minilm", "lexical": 0},
        "label_encoder": "",
        "fine_tune_steps": 2_000_000 // 256,
        "center": False,
        "threshold": None,
        "candidates": "unseen",
    }
}
