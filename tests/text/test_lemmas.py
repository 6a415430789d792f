"""Base forms: which words become one, and which are left out."""

from __future__ import annotations

import pytest

from everylabel.errors import ConfigError
from everylabel.text import lemmas
from everylabel.text.lemmas import STOP_WORDS, check_language, lemmatised, stop_words
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


def test_a_language_without_a_list_has_no_stop_words() -> None:
    assert stop_words("de") == stop_words("none") == ()


@pytest.mark.parametrize("language", ["xx", "english", ""])
def test_an_unknown_language(language: str) -> None:
    with pytest.raises(ConfigError, match=f"language must be 'none' .* such as en, de.*; got '{language}'"):
        check_language(language)
    with pytest.raises(ConfigError, match="language must be"):
        MatchConfig(language=language).check()


def test_known_languages_and_none() -> None:
    for language in ("en", "de", "fr", "none"):
        check_language(language)


def test_no_more_base_forms_are_kept_than_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [f"word{i}" for i in range(50)]
    before = lemmatised(words, "en")
    monkeypatch.setattr(lemmas, "_MOST_WORDS", 10)
    assert lemmatised(["vessels"], "en") == ["vessel"]
    assert len(lemmas._lemmas("en")) == 1
    assert lemmatised(words, "en") == before
