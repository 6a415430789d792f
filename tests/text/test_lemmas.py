"""Base forms: which words become one, and which are left out."""

from __future__ import annotations

import re

import pytest
import simplemma

from everylabel.errors import ConfigError
from everylabel.text import lemmas
from everylabel.text.lemmas import STOP_WORDS, check_language, lemmatised, pieces_of, stop_words
from everylabel.text.matching import MatchConfig


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "The Fisheries of European vessels", "the fishery of european vessel"),
        ("en", "MICE were running, x2!", "mouse be run x2"),
        ("en", "a b (c) - unknownword", "unknownword"),  # words of one letter are none, as in text.tfidf
        ("en", "", ""),
        ("de", "Häuser und Fischereien", "haus und fischerei"),
        ("none", "The Fisheries, of  European vessels", "The Fisheries, of  European vessels"),
    ],
)
def test_base_forms(language: str, text: str, expected: str) -> None:
    assert lemmatised([text, text], language) == [expected, expected]


def test_stop_words_are_found_as_they_are_and_in_their_base_forms() -> None:
    stop = set(stop_words("en"))
    assert {"the", "of", "were", "be", "this"} <= stop
    assert set(lemmatised(STOP_WORDS["en"], "en")) - {""} <= stop
    assert not stop & set(lemmatised(["fishery law mouse running european"], "en")[0].split())


def test_stop_words_by_language() -> None:
    assert {"und", "der"} <= set(stop_words("de"))
    assert {"ja", "olla"} <= set(stop_words("fi"))
    assert set(stop_words("sv")) | set(stop_words("en")) <= set(stop_words("sv+en"))
    assert "\u7684" in stop_words("zh")
    assert all(len(word) == 1 for word in stop_words("zh"))  # longer ones are no words of this reading
    assert stop_words("none") == stop_words("any") == stop_words("la") == ()  # no list of Latin ones


def test_several_languages_in_one_corpus() -> None:
    """Each word in the first language that knows it: the same in a document and in a label."""
    assert lemmatised(["Häuser and fisheries"], "de+en") == ["haus and fishery"]
    assert lemmatised(["hankkeella häuser fisheries"], "fi+de+en") == ["hanke haus fishery"]


def test_base_forms_are_looked_for_as_dictionaries_spell_them() -> None:
    assert lemmatised(["Straßen", "Stra\u00adße"], "de") == ["strasse"] * 2
    assert lemmatised(["\u0643\u0650\u062a\u064e\u0627\u0628"], "none") == ["\u0643\u062a\u0627\u0628"]


def test_scripts_without_spaces_stay_together() -> None:
    assert lemmatised(["\u6211\u7684\u732b Häuser"], "de") == ["\u6211\u7684\u732b haus"]


@pytest.mark.parametrize(
    ("language", "pieces"), [("en", 0), ("none", 0), ("fr", 0), ("de", 5), ("en+sv", 5), ("any", 5), ("fi", 5)]
)
def test_which_languages_have_pieces_of_words(language: str, pieces: int) -> None:
    assert pieces_of(language) == pieces


@pytest.mark.parametrize("language", ["xx", "english", "", "de+xx"])
def test_an_unknown_language(language: str) -> None:
    with pytest.raises(ConfigError, match="language must be 'none' .* such as en, de.*; got '" + re.escape(language)):
        check_language(language)
    with pytest.raises(ConfigError, match="language must be"):
        MatchConfig(language=language).check()


def test_known_languages_and_none() -> None:
    for language in ("en", "de", "fr", "none", "any", "de+en", "zh", "ja+en"):
        check_language(language)


def test_no_more_base_forms_are_kept_than_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [f"word{i}" for i in range(50)]
    before = lemmatised(words, "en")
    monkeypatch.setattr(lemmas, "_MOST_WORDS", 10)
    assert lemmatised(["vessels"], "en") == ["vessel"]
    assert len(lemmas._lemmas(("en",))) == 1
    assert lemmatised(words, "en") == before


def test_dictionaries_are_all_loaded_by_the_first_text_and_kept_whatever_else_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So that a server that has ranked one text never loads one again: neither for a word that only the last language
    knows, nor because somebody asked for the languages of texts."""
    from simplemma.strategies.dictionaries import dictionary_factory

    loaded: list[str] = []
    load = dictionary_factory._load_dictionary_from_disk

    def loading(code: str) -> object:
        loaded.append(code)
        return load(code)

    monkeypatch.setattr(dictionary_factory, "_load_dictionary_from_disk", loading)
    monkeypatch.setattr(lemmas, "_dictionaries", lemmas._Dictionaries())
    lemmas._lemmas.cache_clear()
    assert lemmatised(["fish"], "ga+cy") == ["fish"]
    assert loaded == ["ga", "cy"]
    dictionary_factory.DEFAULT_DICTIONARY_FACTORY._get_dictionary.cache_clear()
    lemmatised(["a word that nobody knows: qwrtz", "llyfrau"], "ga+cy")
    assert loaded == ["ga", "cy"]
    lemmas._lemmas.cache_clear()
    assert lemmatised(["llyfrau"], "cy") == [str(simplemma.lemmatize("llyfrau", lang="cy")).lower()]
    assert loaded.count("ga") == 1
