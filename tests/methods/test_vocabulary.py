"""What is learned from: translations in the documents' languages, and replacements in place of deprecated labels."""

from __future__ import annotations

import pytest
from tests.listening import Recorder

import everylabel
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, Translation, pairs_from_lists
from everylabel.errors import ConfigError
from everylabel.methods.vocabulary import prepared
from everylabel.run import Run

GERMAN = ["Das Schiff ist auf dem Meer und der Hafen ist weit", "Die Eisenbahn und der Zug sind in der Stadt"] * 4
LABELS = LabelSet.of(
    [
        Label("a", "ships", translations=(Translation("de", "Schiff"), Translation("fi", "laiva")), language="en"),
        Label("b", "railways", translations=(Translation("de", "Eisenbahn"), Translation("fi", "juna")), language="en"),
    ]
)
DATA = Dataset(Documents.of(GERMAN), LABELS)


@pytest.mark.parametrize(
    ("label_languages", "read"),
    [("auto", True), ("none", False), ("all", True), ("de", True), ("fi+de", True), ("fi", False)],
)
@pytest.mark.parametrize("name", ["tfidf", "bm25"])
def test_names_in_the_languages_of_the_documents_are_matched(name: str, label_languages: str, read: bool) -> None:
    method = everylabel.method(name, label_languages=label_languages, match={"language": "de"}).fit(DATA)
    assert method.rank(GERMAN[:2], 1).ids[:, 0].tolist() == ([0, 1] if read else [-1, -1])


def test_other_languages_only_if_that_is_asked_for() -> None:
    by_default, by_all = (everylabel.method("tfidf", label_languages=how).fit(DATA) for how in ("auto", "all"))
    assert (by_default.rank(["laiva"], 1).ids[0, 0], by_all.rank(["laiva"], 1).ids[0, 0]) == (-1, 0)


def test_names_in_the_language_of_names_alone_are_not() -> None:
    """That many names are English does not make the documents so: their English alternatives would be noise."""
    names = [Label(f"{i}", f"the history of {word} and the sea", language="en") for i, word in enumerate("abcdefgh")]
    foreign = Label("x", "Schiff", translations=(Translation("en", "Zug"),), language="de")
    found = prepared(Dataset(Documents.of(GERMAN), LabelSet.of([*names, foreign])), "auto")
    assert found.labels.read_languages == ("de",)


def test_labels_that_are_added_are_read_in_the_same_languages(tmp_path: object) -> None:
    method = everylabel.method("tfidf").fit(DATA)
    method.save(f"{tmp_path}/model")
    loaded = everylabel.load(f"{tmp_path}/model")
    loaded.add_labels([Label("c", "ports", translations=(Translation("de", "Hafen"), Translation("fi", "satama")))])
    assert loaded.rank(["der Hafen", "satama"], 1).ids[:, 0].tolist() == [2, -1]
    assert "Hafen" in loaded.labels_.texts_of(2)


def test_what_is_no_language_is_refused() -> None:
    with pytest.raises(ConfigError, match="label_languages must be 'auto'"):
        everylabel.method("tfidf", label_languages="de, fi").fit(DATA)


def test_data_without_translations_are_learned_from_as_they_are() -> None:
    plain = Dataset(Documents.of(GERMAN), LabelSet.of([Label("a", "ships"), Label("b", "railways")]))
    assert prepared(plain, "auto") is plain


def test_pairs_of_deprecated_labels_are_those_of_their_replacements_and_that_is_said_once() -> None:
    labels = LabelSet.of([Label("old", "hulks", deprecated=True, replaced_by=("new",)), Label("new", "ships")])
    data = Dataset(Documents.of(["a", "b", "c"]), labels, pairs_from_lists([[0], [0, 1], []], 2), name="mine")
    recorder = Recorder()
    method = everylabel.method("popularity").fit(data, run=Run(reporter=recorder))
    assert method.counts_.tolist() == [0, 2]
    said = "mine: 2 labels of documents are deprecated, and read as the labels that replaced them"
    assert recorder.said.count(said) == 1
    assert data.counts.tolist() == [2, 1]  # what was given stays as it was
