"""Offsets are those of the text as it was given, in whatever spelling a word was found."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everylabel.text.places import find_all, words_at
from everylabel.text.scripts import find_words, normal


@settings(deadline=None)
@given(st.text())
def test_words_stand_where_it_is_said(text: str) -> None:
    found = words_at(text)
    assert sorted(found) == sorted(set(find_words(text.replace("_", " "))))
    for word, spans in found.items():
        assert all(text[start:end].replace("_", " ") == word for start, end in spans)


@settings(deadline=None)
@given(st.text(), st.text(min_size=1), st.text())
def test_what_is_there_is_found(before: str, wanted: str, after: str) -> None:
    text = before + wanted + after
    spans = list(find_all(text, wanted))
    assert spans
    assert all(text[start:end] == wanted for start, end in spans)


@pytest.mark.parametrize(
    ("text", "wanted", "place"),
    [
        ("x Cafe\u0301 y", "Caf\u00e9", "Cafe\u0301"),
        ("soft\u00adhyphen here", "softhyphen", "soft\u00adhyphen"),
        ("\uff8a\uff9f\uff9d and more", "\u30d1\u30f3", "\uff8a\uff9f\uff9d"),
        ("die Stra\u00dfe dort", "Strasse", "Stra\u00dfe"),
        (unicodedata.normalize("NFD", "\ud55c\uad6d\uc758 \uc5ed\uc0ac"), "\uc5ed\uc0ac", None),
    ],
)
def test_other_spellings_are_led_back(text: str, wanted: str, place: str | None) -> None:
    ((start, end),) = find_all(text, wanted)
    assert normal(text[start:end]) == normal(wanted)
    assert place is None or text[start:end] == place


def test_nothing_is_nowhere() -> None:
    assert list(find_all("some text", "")) == []
    assert list(find_all("", "some")) == []
    assert list(find_all("some text", "other")) == []
    assert list(find_all("some text", "\u00ad")) == []
