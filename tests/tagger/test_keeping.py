"""A fit that was interrupted goes on with the experts that it had; those of other data or settings are not used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from everylabel import Tagger
from everylabel.data import load_dataset, sample
from everylabel.data.dataset import Dataset
from everylabel.methods.base import Method
from everylabel.tagger import tagger as module
from everylabel.tagger.experts import fit_expert
from everylabel.train.checkpoint import checkpointing

EXPERTS = ("tfidf", "knn", "svm")


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("keeping") / "sample"
    sample(folder)
    return load_dataset(folder, "train").subset(range(120))


def test_an_interrupted_fit_goes_on(train: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[str] = []

    def watched(expert: Method, dataset: Dataset) -> Method:
        fitted.append(expert.name)
        if expert.name == "svm" and "stopped" not in fitted:
            fitted.append("stopped")
            raise KeyboardInterrupt
        return fit_expert(expert, dataset)

    monkeypatch.setattr(module, "fit_expert", watched)
    with pytest.raises(KeyboardInterrupt), checkpointing(tmp_path, "data"):
        Tagger(experts=EXPERTS).fit(train)
    assert "knn" in fitted
    fitted[:] = ["stopped"]
    with checkpointing(tmp_path, "data"):
        again = Tagger(experts=EXPERTS).fit(train)
    assert set(fitted) == {"stopped", "svm"}
    assert list(again.experts_) == list(again.costs_)[:3] == list(EXPERTS)
    monkeypatch.undo()
    whole = Tagger(experts=EXPERTS).fit(train)
    texts = train.documents.texts[:20]
    for one, other in zip(again.rank(texts, 10), whole.rank(texts, 10), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("change", ["key", "setting", "damage"])
def test_what_is_kept_of_something_else_is_not_used(train: Dataset, tmp_path: Path, change: str) -> None:
    said: list[str] = []

    class Listener:
        def start(self, name: str, total: int | None) -> object:
            return (name, total)

        def advance(self, key: object, amount: int) -> None: ...

        def finish(self, key: object) -> None: ...

        def say(self, message: str) -> None:
            said.append(message)

    from everylabel.progress import reporting

    with checkpointing(tmp_path, "data"):
        Tagger(experts=("tfidf", "knn")).fit(train)
    settings: dict[str, Any] = {"knn": {"neighbours": 3}} if change == "setting" else {}
    if change == "damage":
        for file in tmp_path.glob("expert-*/said.npz"):
            file.write_bytes(b"nothing")
    with reporting(Listener()), checkpointing(tmp_path, "other" if change == "key" else "data"):
        Tagger(experts=("tfidf", "knn"), settings=settings).fit(train)
    assert not any(line.startswith("knn: fitted before") for line in said)
    assert any("is damaged" in line for line in said) == (change == "damage")
