"""Texts that are not English: what a tagger plans for them, says of them, and finds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.encoders.conftest import WORDS, make_folder

import everylabel
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.methods.facts import Facts
from everylabel.registry import method_class
from everylabel.tagger.plan import choose_plan
from everylabel.tagger.tagger import Tagger

FACTS = Facts(n_docs=9_000, n_labelled=9_000, n_pairs=30_000, n_labels=900, n_seen=600, n_dev=900, words=100)
NAMES = ["Windkraft", "Fischerei", "Eisenbahn", "Weinbau"]
TEXTS = [f"Die {name}anlagen der Stadt {i} und die Straßen" for i in range(6) for name in NAMES]


def german() -> Dataset:
    labels = LabelSet.of(Label(str(i), name) for i, name in enumerate(NAMES))
    return Dataset(Documents.of(TEXTS), labels, pairs_from_lists([[i % 4] for i in range(len(TEXTS))], 4))


def settings_of(facts: Facts) -> dict[str, Any]:
    return {choice.name: choice.settings for choice in choose_plan(facts, 36_000.0).experts}


def test_in_english_all_is_as_it_was() -> None:
    found = settings_of(FACTS)
    assert found["knn"] == found["svm"] == {}
    assert "teacher" not in found["semantic"]["encoder"]


def test_in_german_words_have_pieces_and_vectors_are_learned() -> None:
    found = settings_of(replace(FACTS, language="de+en"))
    assert found["knn"] == found["svm"] == {"language": "de+en"}
    assert found["tfidf"]["match"]["language"] == "de+en"
    for name in ("semantic", "of-de", "xml0"):
        assert found[name]["encoder"]["teacher"] == "documents"
    assert found["xml0"]["label_encoder"] == ""
    few = settings_of(replace(FACTS, language="de", n_docs=500, n_labelled=500))
    assert "teacher" not in few["semantic"]["encoder"]  # too few to learn from


def test_pieces_take_their_time() -> None:
    svm = method_class("svm")
    assert svm.cost(replace(FACTS, language="fi")).solving >= 2 * svm.cost(FACTS).solving


def test_an_unknown_language_is_a_warning() -> None:
    unknown = replace(german(), documents=Documents.of(["zxqv kjhg wrtp"] * len(TEXTS)))
    assert any("is not known" in line for line in Tagger(experts=("tfidf", "knn")).plan(unknown).lines())
    assert not any("is not known" in line for line in Tagger(experts=("tfidf", "knn")).plan(german()).lines())


def test_german_labels_are_found_in_compounds() -> None:
    tagger = Tagger(experts=("tfidf", "knn")).fit(german())
    assert [tags[0].name for tags in tagger.tag(["Windkraftwerke", "Weinbaugebiete"], 1)] == ["Windkraft", "Weinbau"]
    shown = tagger.tag(["Windkraftwerke im Meer"], 1)[0][0].evidence
    assert "Windkraftwerke" in [found.text for found in shown if found.kind == "words"]


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["\u732b", "\u5929\u6c14", "\u7ecf\u6d4e\u5b66"], "\u4e2d\u56fd\u7ecf\u6d4e\u5b66\u7814\u7a76"),
        (
            ["\u0e41\u0e21\u0e27", "\u0e2a\u0e38\u0e19\u0e31\u0e02", "\u0e1b\u0e25\u0e32"],
            "\u0e09\u0e31\u0e19\u0e21\u0e35\u0e1b\u0e25\u0e32",
        ),
        (["\U0001f431", "\U0001f436", "\U0001f41f"], "look \U0001f41f\U0001f41f"),
        (["\u30cd\u30b3", "\u30a4\u30cc", "\u3055\u304b\u306a"], "\u3055\u304b\u306a\u304c\u3044\u308b"),
    ],
)
def test_scripts_without_spaces_are_not_ranked_by_id(names: list[str], text: str) -> None:
    labels = LabelSet.of(Label(str(i), name) for i, name in enumerate(names))
    tagger = Tagger(experts=("tfidf",)).fit(Dataset(Documents.of([]), labels))
    tags = tagger.tag([text], 3)[0]
    assert [tag.name for tag in tags] == names[2:]
    assert [found.text for found in tags[0].evidence if found.kind == "words"] == names[2:]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("multilingual"), WORDS)


def test_an_encoder_is_used_throughout(folder: Path, tmp_path: Path) -> None:
    tagger = Tagger(encoder=str(folder), experts=("tfidf", "knn", "semantic", "xml0")).fit(german())
    for name in ("semantic", "xml0"):
        assert tagger.experts_[name].encoder.kind == str(folder)
    assert tagger.experts_["semantic"].tower_.encoder.config.kind == str(folder)
    tagger.save(tmp_path / "model")
    again = everylabel.load(tmp_path / "model")
    assert again.rank(TEXTS[:4], 2).ids.tolist() == tagger.rank(TEXTS[:4], 2).ids.tolist()


def test_every_expert_with_an_encoder_is_given_it() -> None:
    found = settings_of(replace(FACTS, encoder="FOLDER"))
    for name in ("semantic", "of-de", "xml0"):
        assert found[name]["encoder"]["kind"] == "FOLDER"
    assert "encoder" not in found["knn"]
