"""What a language is told by."""

from __future__ import annotations

import pytest

from everylabel.data.dataset import Dataset, Documents, Label, LabelSet
from everylabel.text.language import FUNCTION_WORDS, language_of

LABELS = LabelSet.of([Label("f", "fish"), Label("t", "tax"), Label("m", "milk")])
LANGUAGES = [
    ("en", "The council of the union has agreed that the price of milk is to be raised for all farmers."),
    ("de", "Der Rat der Union hat beschlossen, dass die Preise für Milch und Käse im nächsten Jahr steigen."),
    ("fr", "Le conseil a décidé que les prix du lait et des fromages vont augmenter dans une année pour tous."),
    ("fi", "Neuvosto on päättänyt, että maidon hinta ei nouse ja se on hyvä, mutta myös juusto on kallista."),
    ("es", "El consejo ha decidido que los precios de la leche y del queso van a subir para los agricultores."),
    ("en", "fisheries taxation agriculture milk butter cheese"),  # words alone: of a dictionary
    ("none", "zxqv wrtp kljh bnmq"),
    ("none", "12 34 __ 56"),
    ("none", "中文字 中文字"),
    ("none", ""),
]


@pytest.mark.parametrize(("language", "text"), LANGUAGES)
def test_languages(language: str, text: str) -> None:
    assert language_of(Dataset(Documents.of([text]), LABELS)) == language
    assert language_of(Dataset(Documents.of(["", ""], [text, text.upper()]), LABELS)) == language


def test_without_documents_the_labels_tell_the_language() -> None:
    names = LabelSet.of([Label("a", "Das Recht der See"), Label("b", "Handel mit der Schweiz und mit den Nachbarn")])
    assert language_of(Dataset(Documents.of([]), names)) == "de"
    assert language_of(Dataset(Documents.of([]), LABELS)) == "en"


def test_each_language_is_one_whose_base_forms_are_known() -> None:
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

    assert FUNCTION_WORDS.keys() <= set(SUPPORTED_LANGUAGES)  # `check_language` would load them all
