"""One small model of each kind that there is, on the toy problem of the tests: what hostile trials begin from."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.contract.cases import SMALL, TINY, with_model
from tests.contract.conftest import make_tiny_folder, make_toy

import everylabel
from everylabel.data.dataset import Label
from everylabel.methods.base import Method

TEXTS = ["bartan balmis often dertan", "", "penguin colony vissel gonkor ziz \ud800"]
_LATER = [Label("new", "penguin colony", alternatives=("steam engine",)), Label("newer", "paddle wheel")]
_SELF = {"steps": 2, "batch_size": 8}


def _changed(method: Method, data: Any) -> Method:
    """With labels that came and went, and probabilities."""
    method.add_labels(_LATER).remove_labels(["q00", "newer"])
    return method.calibrate(data)


def _variants() -> Iterator[tuple[str, str, dict[str, Any], Callable[[Method, Any], Method] | None]]:
    """(name of the model, method, settings, what is done to it after the fit)."""
    seen: dict[str, int] = {}
    for name, settings in SMALL:
        seen[name] = seen.get(name, 0) + 1
        yield name if seen[name] == 1 else f"{name}-{seen[name]}", name, settings, None
    tiny = {"kind": TINY, "onnx": False}
    ann = {"encoder": {"teacher": TINY, "lexical": 64}, "index": "ann"}
    yield "semantic-ann", "semantic", ann, None
    yield "ict-transformer", "ict", {"encoder": tiny, "learn": _SELF}, None
    for name in ("tagger", "xr-linear", "knn", "bm25", "zestxml", "depl+cls", "of-lan", "xml0"):
        yield f"{name}-changed", name, dict(SMALL)[name], _changed
    yield "semantic-ann-changed", "semantic", ann, _changed


def share_of(model: str) -> int:
    """Of the cases: those that load a transformer by its place take a hundred times as long as others."""
    return 1 if model.startswith(("hybrid", "matchxml", "xr-transformer", "ict-transformer")) else 10


def made_models(work: Path, only: str = "") -> list[Path]:
    """A folder each below `work`, of all or of one; those that are there already are not made again. Some minutes."""
    os.environ["EVERYLABEL_CACHE"] = str(work / "cache")
    os.environ.setdefault("EVERYLABEL_THREADS", "1")
    tiny, data, folders = work / "tiny", make_toy().train, []
    if not (tiny / "model").is_dir():
        tiny.mkdir(parents=True)
        make_tiny_folder(tiny, dim=32)
    for model, name, settings, change in _variants():
        folder = work / "models" / model
        if only not in ("", model):
            continue
        if not folder.is_dir():
            print(f"fitting {model}", flush=True)
            method = everylabel.method(name, **with_model(settings, str(tiny / "model"))).fit(data)
            (method if change is None else change(method, data)).save(folder)
        folders.append(folder)
    return folders
