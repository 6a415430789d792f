"""Every method that trains, with the settings for large machines: they reach the loop, and parts teach the same."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.methods.clues import data, labels, scores

import everylabel
from everylabel import config
from everylabel.data.dataset import Label
from everylabel.registry import method_classes
from everylabel.train import loop
from everylabel.train.training import Supplied, Training

DATA, WITH_UNSEEN = data(labels()), data(labels(Label("never", "trade law")))
SHORT: dict[str, Any] = {"batch_size": 8}
LEARN: dict[str, Any] = {"learn": {"steps": 3, **SHORT}}
DUAL: dict[str, Any] = {"classify": {"steps": 3, **SHORT}, "retrieve": {"steps": 3, **SHORT}}
LEVELS: dict[str, Any] = {"fine_tuning": {"stage_steps": [3], "leaf_size": 2, "arity": 2, **SHORT}}
METHODS: dict[str, dict[str, Any]] = {
    "maclr": LEARN,
    "ict": LEARN,
    "simcse": LEARN,
    "rts": LEARN,
    "fine-tuned": LEARN,
    "hybrid": LEARN,
    "xml0": {"compute": {}, "fine_tune_steps": 3, "base": "popularity", "label_encoder": ""},
    "classifier": {"classify": {"steps": 3, **SHORT}},
    "depl": DUAL,
    "depl+cls": DUAL | {"pooling": "cls", "label_pooling": "mean"},
    "de-ret": DUAL,
    "of-de": LEARN,
    "of-lan": LEARN,
    "ova-clf": LEARN,
    "lan": LEARN,
    "dpr": LEARN,
    "dexml": LEARN,
    "attentionxml": {"learn": {"steps": 3, **SHORT}, "dim": 16},
    "matchxml": LEVELS | {"sentence_weight": 0.0},
    "xr-transformer": LEVELS,
}
STATIC = {"hybrid"}  # learns static embeddings, beside its transformer: what is said of transformers does nothing


@pytest.fixture(scope="module")
def encoder(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Without dropout, whose draws are others for parts of a batch."""
    folder = Path(shutil.copytree(tiny_folder, tmp_path_factory.mktemp("still") / "model"))
    settings = next(file for file in folder.rglob("config.json") if "hidden_dropout_prob" in file.read_text("utf-8"))
    known = json.loads(settings.read_text("utf-8"))
    still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    settings.write_text(json.dumps(known | still), "utf-8")
    return {"kind": str(folder)}


@pytest.fixture(autouse=True)
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERYLABEL_CACHE", str(tmp_path))
    monkeypatch.setenv("EVERYLABEL_THREADS", "1")


def fitted(name: str, encoder: dict[str, Any], compute: dict[str, Any]) -> Any:
    settings: dict[str, Any] = {
        key: {**part, **compute} if isinstance(part, dict) else part for key, part in METHODS[name].items()
    }
    if name in STATIC:
        settings["learned"] = {"teacher": encoder["kind"]}
    return scores(everylabel.method(name, encoder=encoder, **settings).fit(WITH_UNSEEN if name == "xml0" else DATA))


def test_every_method_that_trains_is_here() -> None:
    parts = {cls.name: config.to_dict(cls()).values() for cls in method_classes()}
    trains = {name for name, own in parts.items() if any(isinstance(it, dict) and "accumulate" in it for it in own)}
    assert set(METHODS) == trains - {"label-fusion", "conse"}  # which are xml0


@pytest.mark.parametrize("name", [name for name in METHODS if name not in STATIC])
def test_parts_of_batches_teach_the_same(name: str, encoder: dict[str, Any]) -> None:
    usual = fitted(name, encoder, {})
    cached = {"tokens_at_once": 24, "recompute": True, "batches_ahead": 2}
    np.testing.assert_allclose(fitted(name, encoder, cached), usual, atol=2e-3)
    rough = fitted(name, encoder, {"precision": "bf16", "length_buckets": 2})
    assert np.isfinite(rough).all()
    assert not np.array_equal(rough, usual)
    np.testing.assert_allclose(rough, usual, atol=0.2)


@pytest.mark.parametrize("name", METHODS)
def test_settings_reach_each_training(name: str, encoder: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them, and an update is made of as many batches as `accumulate` says."""
    seen: list[tuple[Training, list[int]]] = []

    class Counted(Training):
        def __init__(self, supplied: Supplied, *rest: Any, **settings: Any) -> None:
            calls: list[int] = []

            def loss(module: Any, batch: Any) -> Any:
                calls.append(self.number)
                return supplied.loss(module, batch)

            super().__init__(supplied._replace(loss=loss), *rest, **settings)
            seen.append((self, calls))

    monkeypatch.setattr(loop, "Training", Counted)
    asked = {"precision": "bf16", "accumulate": 2, "tokens_at_once": 4096, "length_buckets": 2, "recompute": True}
    asked |= {"batches_ahead": 1, "checkpoint_every": 7.0}
    fitted(name, encoder, asked)
    assert seen
    for training, calls in seen:
        assert {key: getattr(training.config, key) for key in asked} == asked
        assert training.number == training.config.steps > 0
        assert calls == [step for step in range(training.config.steps) for _ in range(2)]


@pytest.mark.parametrize("name", METHODS)
def test_accumulated_batches_change_what_is_learned(name: str, encoder: dict[str, Any]) -> None:
    """By more documents an update, in full precision: nothing else is another one."""
    usual, more = (fitted(name, encoder, {"accumulate": n}) for n in (1, 2))
    assert np.isfinite(more).all()
    assert np.abs(more - usual).max() > 1e-6
