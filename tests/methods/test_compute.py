"""Every method that trains a transformer, with the settings for large machines: it learns the same, part by part."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.methods.clues import data, labels, scores

import everylabel

DATA = data(labels())
SHORT: dict[str, Any] = {"batch_size": 8}
METHODS: dict[str, dict[str, Any]] = {
    "maclr": {"learn": {"steps": 3, **SHORT}},
    "depl+cls": {
        "classify": {"steps": 3, **SHORT},
        "retrieve": {"steps": 3, **SHORT},
        "pooling": "cls",
        "label_pooling": "mean",
    },
    "of-de": {"learn": {"steps": 3, **SHORT}},
    "of-lan": {"learn": {"steps": 3, **SHORT}},
    "dexml": {"learn": {"steps": 3, **SHORT}},
    "attentionxml": {"learn": {"steps": 3, **SHORT}, "dim": 16},
    "xr-transformer": {"fine_tuning": {"epochs": 1.0, **SHORT}},
}


@pytest.fixture(scope="module")
def encoder(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Without dropout, whose draws are others for parts of a batch."""
    folder = Path(shutil.copytree(tiny_folder, tmp_path_factory.mktemp("still") / "model"))
    settings = next(file for file in folder.rglob("config.json") if "hidden_dropout_prob" in file.read_text("utf-8"))
    known = json.loads(settings.read_text("utf-8"))
    still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    settings.write_text(json.dumps(known | still), "utf-8")
    return {"kind": str(folder)}


def fitted(name: str, encoder: dict[str, Any], compute: dict[str, Any]) -> Any:
    settings: dict[str, Any] = {
        key: {**part, **compute} if isinstance(part, dict) else part for key, part in METHODS[name].items()
    }
    return scores(everylabel.method(name, encoder=encoder, **settings).fit(DATA))


@pytest.mark.parametrize("name", METHODS)
def test_parts_of_batches_teach_the_same(
    name: str, encoder: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVERYLABEL_CACHE", str(tmp_path))
    monkeypatch.setenv("EVERYLABEL_THREADS", "1")
    usual = fitted(name, encoder, {})
    cached = {"tokens_at_once": 24, "recompute": True, "batches_ahead": 2}
    np.testing.assert_allclose(fitted(name, encoder, cached), usual, atol=2e-3)
    rough = fitted(name, encoder, {"precision": "bf16", "accumulate": 2, "length_buckets": 2})
    assert np.isfinite(rough).all()
    assert not np.array_equal(rough, usual)
