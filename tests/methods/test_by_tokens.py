"""Static encoders with very many labels: these are found by the tokens of their texts, as by their vectors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.methods.clues import DOCUMENTS, data, labels, scores
from tests.store.crafting import craft, put

import everylabel
from everylabel.data.dataset import Dataset, Label
from everylabel.encoders.base import EncoderConfig
from everylabel.errors import ModelError
from everylabel.index.tokens import TokenIndex
from everylabel.methods.depl.settings import Learning
from everylabel.methods.maclr.maclr import Ict, SelfSupervision
from everylabel.methods.maclr.semantic import Semantic
from everylabel.methods.onesided.onesided import OfDe

LATER = [Label("new", "fishery", "1 , 2", ("the sea ; ships",)), Label("other", "3")]
DATA, MORE = data(labels()), data(labels(*LATER))


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> Any:
    """From how many texts on labels are many, which a test sets."""

    def texts(least: int) -> None:
        for module in ("tower", "onesided.label_bags"):
            monkeypatch.setattr(f"everylabel.methods.{module}.TOKENS_FROM", least)

    return texts


@pytest.fixture(params=["distilled", "of documents"])
def encoder(request: pytest.FixtureRequest, static: EncoderConfig) -> EncoderConfig:
    """Saved as all of its rows once it is trained, or as those that are others."""
    return (
        replace(static, lexical=16) if request.param == "distilled" else EncoderConfig(teacher="documents", lexical=8)
    )


def new(cls: type[Any], encoder: EncoderConfig) -> Any:
    if cls is OfDe:
        return OfDe(encoder=encoder, learn=Learning(steps=10, batch_size=8, lr=0.1), unseen_auxiliary=False)
    if cls is Ict:
        return Ict(encoder=encoder, learn=SelfSupervision(batch_size=8, steps=4, fine_tune_steps=4))
    return cls(encoder=encoder)


def index_of(method: Any) -> Any:
    return method.ranker_.index if isinstance(method, OfDe) else method.tower_.index


@pytest.mark.parametrize("cls", [Semantic, Ict, OfDe])
def test_labels_are_found_by_tokens_as_by_vectors(
    cls: type[Any], encoder: EncoderConfig, many: Any, tmp_path: Path
) -> None:
    by_vectors = new(cls, encoder).fit(DATA)
    many(1)
    by_tokens = new(cls, encoder).fit(DATA)
    assert isinstance(index_of(by_tokens), TokenIndex)
    assert not isinstance(index_of(by_vectors), TokenIndex)
    np.testing.assert_allclose(scores(by_tokens), scores(by_vectors), atol=1e-5)
    by_tokens.save(tmp_path / "model")
    restored = everylabel.load(tmp_path / "model", verify=True)
    np.testing.assert_array_equal(scores(restored), scores(by_tokens))
    one_by_one = np.concatenate([scores(restored, DOCUMENTS.subset([i])) for i in range(len(DOCUMENTS))])
    np.testing.assert_array_equal(one_by_one, scores(restored))


@pytest.mark.parametrize("cls", [Semantic, OfDe])
def test_labels_that_come_later(cls: type[Any], static: EncoderConfig, many: Any, tmp_path: Path) -> None:
    """One after the other, saved in between; they are found as if they had been there, and the old model stays."""
    many(1)
    method = new(cls, static).fit(DATA)
    before = scores(method)
    model = method.model_
    for at, label in enumerate(LATER):
        method.add_labels([label]).save(tmp_path / str(at))
        method = everylabel.load(tmp_path / str(at), verify=True)
    assert len(index_of(method)) == len(index_of(model)) + (2 if cls is OfDe else 4)
    found = scores(method)
    np.testing.assert_array_equal(found[:, : before.shape[1]], before)
    many(1_000_000)
    fitted = new(cls, static).fit(Dataset(MORE.documents, MORE.labels, MORE.pairs))
    np.testing.assert_allclose(found, scores(fitted), atol=1e-5)
    np.testing.assert_array_equal(scores(model), before)
    np.testing.assert_array_equal(
        scores(method.remove_labels(["new"]).add_labels([LATER[0]])),
        found,
    )


@pytest.mark.parametrize(
    ("key", "part", "place", "value"),
    [
        ("tokens", 0, 0, 10**6),
        ("tokens", 0, 1, -1),
        ("0/labels", 0, 0, 4),
        ("0/labels", 0, 0, -1),
        ("0/begins", 0, -1, 10**6),
        ("0/begins", 0, 1, 0),
        ("0/texts", 0, 0, np.nan),
        ("0/texts", 1, 0, 10**6),
        ("0/texts", 2, 1, 10**6),
    ],
)
@pytest.mark.parametrize("cls", [Semantic, OfDe])
def test_a_crafted_model_is_refused_before_a_kernel_uses_it(
    cls: type[Any], key: str, part: int, place: int, value: float, static: EncoderConfig, many: Any, tmp_path: Path
) -> None:
    many(1)
    new(cls, static).fit(DATA).save(tmp_path / "model")
    craft(tmp_path / "model", ("ranker" if cls is OfDe else "tower") + f"/index/{key}", put(place, value), part)
    with pytest.raises(ModelError, match="do not fit together"):
        everylabel.load(tmp_path / "model", verify=True)
