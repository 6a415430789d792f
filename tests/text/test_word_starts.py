"""Texts found by the beginnings of their words: as one would find them by looking at each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everylabel.text import word_starts
from everylabel.text.word_starts import BEGINNING, EXACT, WORD, WORDS, Fit, WordStarts, spelled

letters = st.text("aAäbßĀ .-1łé", max_size=12)
texts = st.lists(letters | st.sampled_from(["a" * 70 + " b", "a" * 70 + " c", "ab ab", "a\nb"]), max_size=8)


def expected(texts: list[str], query: str) -> list[Fit]:
    """By looking at each text; its place is its rank."""
    asked, found = spelled(query).split(), []
    phrase = " ".join(asked)
    for i, text in enumerate(texts):
        words = spelled(text.replace("\n", " ")).split()
        ends = [" ".join(words[at:]) for at in range(len(words))]
        fits = {
            EXACT: ends[:1] == [phrase],
            BEGINNING: bool(ends) and ends[0].startswith(phrase),
            WORD: any(end.startswith(phrase) for end in ends),
            WORDS: len(asked) > 1 and all(any(word.startswith(one) for word in words) for one in asked),
        }
        quality = next((quality for quality, fit in fits.items() if fit), None)
        if asked and quality is not None:
            found.append(Fit(i, quality))
    return sorted(found, key=lambda fit: (fit.quality, fit.text))


def built(texts: list[str], owners: list[int] | None = None) -> WordStarts:
    own = np.array(range(len(texts)) if owners is None else owners, np.int32)
    return WordStarts.of(texts, own, own)


@given(texts, letters | st.sampled_from(["a" * 70, "a" * 70 + " c", "b a", "ab ab"]), st.integers(1, 4))
def test_as_one_finds_them_by_looking_at_each(texts: list[str], query: str, limit: int) -> None:
    assert built(texts).best(query, limit) == expected(texts, query)[:limit]


@given(texts)
def test_texts_in_parts_change_nothing(texts: list[str]) -> None:
    whole = built(texts)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(word_starts, "AT_ONCE", 2)
        parts = built(texts)
    assert parts.data == whole.data
    assert np.array_equal(parts.places, whole.places)


def test_an_owner_is_found_once_by_its_best_text() -> None:
    starts = built(["a ship", "ship", "ships of the line", "shipping"], owners=[0, 0, 1, 0])
    assert starts.best("ship", 5) == [Fit(1, EXACT), Fit(2, BEGINNING)]
    many = built([f"ship {i}" for i in range(100)] + ["shipyard"], owners=[0] * 100 + [1])
    assert [fit.text for fit in many.best("ship", 2)][1:] == [100]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Élan vital", "elan v"),
        ("Łódź", "lodz"),
        ("İstanbul", "istanbul"),
        ("STRASSE", "straße"),
        ("Ελλάδα", "ελλαδα"),
        ("данные", "ДАН"),
        ("日本の歴史", "歴史"),
        ("ประวัติศาสตร์", "ศาสตร์"),
        ("한국어", "한국"),
        ("הַשָּׁלוֹם", "השלום"),
        ("naïve Bayes", "NAIVE bayes"),
        ("machine-learning (AI)", "ai"),
        ("C++", "c++"),
        ("ﬁsh", "fish"),
    ],
)
def test_any_script_with_and_without_accents(text: str, query: str) -> None:
    assert [fit.text for fit in built(["other", text]).best(query, 3)] == [1]


def test_nothing_is_found_by_nothing() -> None:
    assert built([]).best("a", 3) == []
    for query in ("", " ", "...", "\n"):
        assert built(["a", ""]).best(query, 3) == []
    assert built(["a"]).best("a", 0) == []
