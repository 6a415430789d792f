# ruff: noqa: RUF001 (letters of other alphabets are what this is about)
"""What a language is told by."""

from __future__ import annotations

import pytest

from everylabel.data.dataset import Dataset, Documents, Label, LabelSet
from everylabel.text.language import (
    FUNCTION_WORDS,
    language_of,
    language_of_documents,
    language_of_sentence,
    language_or_any,
    readings,
    told_languages,
    unread,
)

LABELS = LabelSet.of([Label("f", "fish"), Label("t", "tax"), Label("m", "milk")])
LANGUAGES = [
    ("en", "The council of the union has agreed that the price of milk is to be raised for all farmers."),
    ("de", "Der Rat der Union hat beschlossen, dass die Preise für Milch und Käse im nächsten Jahr steigen."),
    ("fr", "Le conseil a décidé que les prix du lait et des fromages vont augmenter dans une année pour tous."),
    ("fi", "Neuvosto on päättänyt, että maidon hinta ei nouse ja se on hyvä, mutta myös juusto on kallista."),
    ("es", "El consejo ha decidido que los precios de la leche y del queso van a subir para los agricultores."),
    ("en", "fisheries taxation agriculture milk butter cheese"),  # words alone
    ("sv", "Rådet har beslutat att priset på mjölk ska höjas för alla bönder som inte är med i unionen."),
    ("fi", "Kestävää kehitystä levitetään oppimisympäristöhankkeella Ympäristöopetus toi energiansäästöä koteihin"),
    ("el", "Το συμβούλιο της ένωσης αποφάσισε ότι η τιμή του γάλακτος θα αυξηθεί"),
    ("he", "מועצת האיחוד החליטה להעלות את מחיר החלב"),
    ("ar", "قرر مجلس الاتحاد رفع سعر الحليب لجميع المزارعين"),
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


def test_the_languages_of_a_mixed_corpus() -> None:
    """The commonest of the documents first, then others of documents and labels; a few of them do not count."""
    english, german, _, finnish = (text for _, text in LANGUAGES[:4])
    assert language_of(Dataset(Documents.of([german] * 40 + [english] * 10), LABELS)) == "de+en"
    assert language_of(Dataset(Documents.of([german] * 200 + [english] * 4), LABELS)) == "de"
    swedish = [Label(str(i), f"skatten på mjölk och ost {i}", alternatives=(f"the tax of milk {i}",)) for i in range(9)]
    found = language_of(Dataset(Documents.of([finnish] * 20), LabelSet.of(swedish)))
    assert found.split("+")[0] == "fi"
    assert set(found.split("+")) == {"fi", "sv", "en"}


def test_the_languages_of_documents_alone() -> None:
    english, german, _, finnish = (text for _, text in LANGUAGES[:4])
    swedish = LabelSet.of([Label(str(i), f"skatten på mjölk och ost {i}") for i in range(9)])
    assert language_of_documents(Dataset(Documents.of([finnish] * 20), swedish)) == "fi"
    assert language_of_documents(Dataset(Documents.of([german] * 40 + [english] * 10), swedish)) == "de+en"
    assert language_of_documents(Dataset(Documents.of([]), swedish)) == "sv"  # nothing else can tell


def test_an_unknown_language_is_read_by_pieces_and_said_so() -> None:
    unknown = Dataset(Documents.of(["zxqv wrtp kljh bnmq"]), LABELS)
    assert language_or_any(unknown) == "any"
    assert "not known" in unread("any")
    assert unread("de+en") == unread("none") == ""
    chinese = Dataset(Documents.of(["\u4e2d\u6587\u5b57 \u4e2d\u6587\u5b57"]), LABELS)
    assert language_or_any(chinese) == "zh"  # characters need no dictionary
    assert unread("zh") == ""


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("ja", "\u732b\u304c\u597d\u304d\u3067\u3059"),
        ("zh", "\u6211\u7684\u732b\u5f88\u53ef\u7231"),
        ("ko", "\ud559\uad50\uc5d0\uc11c"),
        ("th", "\u0e09\u0e31\u0e19\u0e0a\u0e2d\u0e1a\u0e41\u0e21\u0e27"),
        ("none", "12 34"),
    ],
)
def test_languages_that_are_read_by_characters(language: str, text: str) -> None:
    assert language_or_any(Dataset(Documents.of([text]), LABELS)) == language


def test_every_language_is_said_to_be_read_somehow() -> None:
    ways = dict(readings())
    assert "de" in ways["base forms, pieces of words"].split()
    assert "fr" in ways["base forms"].split()
    assert "Thai" in ways["characters in threes"]


def test_each_language_is_one_whose_base_forms_are_known() -> None:
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

    assert FUNCTION_WORDS.keys() <= set(SUPPORTED_LANGUAGES)  # `check_language` would load them all


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("nb", "Fiskerne solgte en båt til kommunen i fjor."),  # nearly all function words are Danish, too
        ("da", "Fiskerne solgte en båd til kommunen sidste år."),
        ("sv", "Fiskarna sålde en båt till kommunen i fjol."),
        ("sk", "Rybári predali minulý rok svoju loď mestu."),
        ("uk", "Рибалки торік продали свій човен місту."),
        ("lt", "Žvejai pernai pardavė savo valtį miestui."),
        ("el", "Οι ψαράδες πούλησαν τη βάρκα τους πέρυσι."),
        ("none", "zxqv wrtp kljh bnmq"),
        ("none", ""),
    ],
)
def test_the_language_of_one_sentence(language: str, sentence: str) -> None:
    assert language_of_sentence(sentence) == language
    assert language in {*told_languages(), "none"}


def test_latin_names_are_no_language_of_a_corpus() -> None:
    names = ["Saccharomyces cerevisiae", "Escherichia coli", "Quercus robur", "Parus caeruleus", "Corvus corax"]
    assert language_of(Dataset(Documents.of(names), LABELS)) == "none"


def test_a_sentence_loads_no_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take seconds, and servers read texts sentence by sentence."""
    from simplemma.strategies.dictionaries import dictionary_factory

    def loading(code: str) -> None:
        raise AssertionError(f"the dictionary of {code} is loaded")

    monkeypatch.setattr(dictionary_factory, "_load_dictionary_from_disk", loading)
    dictionary_factory.DEFAULT_DICTIONARY_FACTORY._get_dictionary.cache_clear()
    assert [language_of_sentence(text) for _, text in LANGUAGES] == [language for language, _ in LANGUAGES]
