"""MatchXML: its switches, its ensemble, and the rows of the paper's table XII."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.encoders import conftest as encoders

import everylabel
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.encoders.base import EncoderConfig
from everylabel.errors import ConfigError, DataError
from everylabel.methods.matchxml.matchxml import FineTuning, MatchXml, XrTransformer
from everylabel.methods.words.linear import XrLinear
from everylabel.text.tfidf import TfidfConfig

tiny_folder = encoders.made_folder
WORDS = ["wine", "law", "fish", "customs", "ship", "tax", "milk", "sea"]
LABELS = LabelSet.of(Label(word, word) for word in [*WORDS, "unused"])
TEXTS = [f"{WORDS[i]} the {WORDS[j]}" for i in range(8) for j in range(8) if i != j]
PAIRS = pairs_from_lists([[i, j] for i in range(8) for j in range(8) if i != j], 9)
DATA = Dataset(Documents([f"{i:02}" for i in range(len(TEXTS))], TEXTS, [""] * len(TEXTS)), LABELS, PAIRS)


@pytest.fixture
def settings(tiny_folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("EVERYLABEL_CACHE", str(cache))
    return {
        "tfidf": TfidfConfig(min_df=1),
        "encoder": EncoderConfig(teacher=str(tiny_folder)),
        "sentence": EncoderConfig(kind=str(tiny_folder), trainable=False, cache=False),
        "fine_tuning": FineTuning(batch_size=16, epochs=1, leaf_size=2, arity=2),
        "leaf_size": 4,
        "arity": 2,
    }


def hits(method: Any) -> float:
    found = method.rank(DATA.documents, 2).ids
    truth = DATA.required_pairs.toarray()
    return float(np.take_along_axis(truth, found.astype(np.int64), 1).mean())


@pytest.mark.parametrize(
    "switches",
    [
        {},
        {"tree": "pifa"},
        {"fine_tuning": FineTuning(batch_size=16, epochs=1, leaf_size=2, arity=2, matching=False)},
        {"fine_tuning": FineTuning(epochs=0)},
        {"sentence_weight": 0.0},
        {"tuned_weight": 0.0},
        {"members": 3},
    ],
)
def test_every_switch_fits_saves_and_loads(settings: dict[str, Any], switches: dict[str, Any], tmp_path: Path) -> None:
    method = MatchXml(**{**settings, **switches}).fit(DATA)
    assert hits(method) > 0.9
    method.save(tmp_path / "model")
    again = everylabel.load(tmp_path / "model")
    ranked = method.rank(TEXTS, 5)
    np.testing.assert_array_equal(again.rank(TEXTS, 5).ids, ranked.ids)
    np.testing.assert_array_equal(again.rank(TEXTS, 5).scores, ranked.scores)


def test_without_dense_features_it_is_the_linear_ranker(settings: dict[str, Any]) -> None:
    given = {"tuned_weight": 0.0, "sentence_weight": 0.0, "leaf_size": 400, "rare_weight": 0.0}
    plain = MatchXml(**{**settings, **given}).fit(DATA)
    linear = XrLinear(tfidf=TfidfConfig(min_df=1), matcher_negatives=True).fit(DATA)
    np.testing.assert_allclose(plain.rank(TEXTS, 5).scores, linear.rank(TEXTS, 5).scores, atol=1e-5)


def test_xr_transformer_has_none_of_the_three_parts() -> None:
    method = XrTransformer()
    assert (method.tree, method.fine_tuning.matching, method.sentence_weight) == ("pifa", False, 0)


def test_an_ensemble_is_the_mean_of_the_models_of_as_many_seeds(settings: dict[str, Any]) -> None:
    text = Documents.of(["wine the sea law"])
    settings["rare_weight"] = 0.0
    parts = [MatchXml(**settings, random_state=seed).fit(DATA).rank(text, 9) for seed in (4, 5)]
    assert np.abs(parts[0].scores[:, :5] - parts[1].scores[:, :5]).max() > 1e-4
    scores = [dict(zip(part.ids[0].tolist(), part.scores[0].tolist(), strict=True)) for part in parts]
    found = MatchXml(**settings, random_state=4, members=2).fit(DATA).rank(text, 3)
    expected = [sum(own.get(label, 0) for own in scores) / 2 for label in found.ids[0].tolist()]
    assert found.scores[0] == pytest.approx(expected, abs=1e-6)


def test_without_two_labels_together_the_tree_is_made_from_documents(settings: dict[str, Any]) -> None:
    single = Dataset(
        Documents.of([f"{word} the" for word in WORDS]), LABELS, pairs_from_lists([[i] for i in range(8)], 9)
    )
    found = MatchXml(**settings).fit(single).rank(WORDS, 1)
    assert found.ids[:, 0].tolist() == list(range(8))


def test_a_bag_of_words_has_no_texts_to_encode(settings: dict[str, Any]) -> None:
    bag = Documents(["1"], [""], [""], pairs_from_lists([[0]], 3))
    with pytest.raises(DataError, match="bag of words"):
        MatchXml(**settings).fit(Dataset(bag, LABELS, pairs_from_lists([[0]], 9)))


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"members": 0}, "members at least 1"),
        ({"tuned_weight": -1.0}, "must not be negative"),
        ({"fine_tuning": FineTuning(balance=2)}, "balance must be from 0 to 1; got 2"),
        ({"fine_tuning": FineTuning(epochs=-1)}, "epochs must not be negative"),
        ({"leaf_size": 0}, "leaf_size and arity must be at least 2"),
        ({"fine_tuning": FineTuning(leaf_size=1)}, "leaf_size and arity must be at least 2; got 1"),
        ({"fine_tuning": FineTuning(temperature=0)}, "must be above 0"),
    ],
)
def test_settings_that_cannot_work_are_refused(bad: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        MatchXml(**bad).fit(DATA)
