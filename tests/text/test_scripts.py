# ruff: noqa: RUF001 (letters of other alphabets are what this is about)
"""What a word is in scripts that \\w\\w+ loses, in Python and in the kernels; and texts in one spelling."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everylabel.text.scripts import find_words, joined, n_words_of, normal, says_nothing
from everylabel.text.tfidf import Tfidf, TfidfConfig

ALL: dict[str, Any] = {"min_df": 1, "max_df": 1.0}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("我的猫", ["我", "的", "猫"]),
        ("ネコがいる", ["ネ", "コ", "が", "い", "る"]),
        ("학교에서", ["학", "교", "에", "서"]),
        ("ที่นี่", ["ที่", "นี่"]),  # vowels and tones belong to their consonant
        ("ភាសា ລາວ မြန်", ["ភា", "សា", "ລ", "າ", "ວ", "မြ", "န်"]),
        ("हिन्दी की किताब", ["हिन्दी", "की", "किताब"]),  # \\w\\w+ sees single letters here, and drops them
        ("తెలుగు தமிழ்", ["తెలుగు", "தமிழ்"]),
        ("用 python3 写", ["用", "python3", "写"]),
        ("so \U0001f44d\U0001f3fd ❤\ufe0f a b", ["so", "\U0001f44d", "❤"]),
        ("plain words, a 2 x2 snake_case", ["plain", "words", "x2", "snake_case"]),
        ("größe über ж жук", ["größe", "über", "жук"]),
        ("", []),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert find_words(text) == words
    found = set(Tfidf(config=TfidfConfig(ngrams=1, **ALL)).fit([text]).names_)
    assert set(words) <= found  # characters have n-grams beside them


def test_characters_have_n_grams_within_their_run() -> None:
    names = Tfidf(config=TfidfConfig(ngrams=1, **ALL)).fit(["我的猫 是"]).names_
    assert names == sorted(["我", "的", "猫", "是", "我的", "的猫"])
    thai = Tfidf(config=TfidfConfig(ngrams=1, **ALL)).fit(["แมว"]).names_
    assert thai == sorted(["แ", "ม", "ว", "แม", "มว", "แมว"])
    flags = Tfidf(config=TfidfConfig(ngrams=1, **ALL)).fit(["\U0001f1eb\U0001f1ee"]).names_
    assert "\U0001f1eb\U0001f1ee" in flags
    pairs = Tfidf(config=TfidfConfig(ngrams=2, **ALL)).fit(["猫 cat 是"]).names_
    assert pairs == sorted(["猫", "cat", "是", "猫 cat", "cat 是"])


def test_a_word_of_a_longer_text_is_found() -> None:
    words = Tfidf(config=TfidfConfig(ngrams=1, **ALL)).fit(["经济学", "天气"])
    found = words.counts(["中国经济学研究", "天下", "nothing"])
    names = [[words.names_[i] for i in row.indices] for row in found]
    assert names == [sorted(["学", "济", "济学", "经", "经济"]), ["天"], []]


SCRIPTS = "ab ä你我がアแมวกิ학교हि\u0301\u093f\U0001f44d\U0001f1eb_9."


@given(st.text(st.sampled_from(SCRIPTS), max_size=30), st.integers(0, 4))
@settings(deadline=None, max_examples=200)
def test_the_kernels_find_the_same_words(text: str, pieces: int) -> None:
    """One feature more for each piece; n-grams of one word are the words."""
    pieces = pieces if pieces > 1 else 0
    found = Tfidf(config=TfidfConfig(ngrams=1, pieces=pieces, **ALL)).fit([text])
    words = find_words(text.lower())
    assert set(words) <= set(found.names_)
    assert len(set(found.names_)) == len(found.names_)
    counts = dict(zip(found.names_, found.counts([text]).toarray()[0].tolist(), strict=True))
    assert all(counts[word] == words.count(word) for word in words)


def test_pieces_of_words() -> None:
    config = TfidfConfig(ngrams=2, pieces=5, **ALL)
    names = Tfidf(config=config).fit(["an der Windkraft"]).names_
    pieces = {"wind-", "-windk-", "-indkr-", "-ndkra-", "-dkraf-", "-kraft-", "-raft"}
    assert set(names) == {"an", "der", "windkraft", "an der", "der windkraft", *pieces}
    words = Tfidf(config=config).fit(["Windkraft", "Wind"])
    shared = words.counts(["Windkraftanlagen", "Gegenwind"])
    found = [[words.names_[i] for i in row.indices] for row in shared]
    assert found == [["-dkraf-", "-indkr-", "-kraft-", "-ndkra-", "-windk-", "wind-"], ["-wind"]]


@pytest.mark.parametrize(
    ("text", "spelt"),
    [
        ("Straße STRAẞE", "Strasse STRAssE"),
        ("e\u0301te\u0301", "été"),
        ("İstanbul", "istanbul"),
        ("ΟΔΟΣ οδός", "ΟΔΟΣ οδόσ"),
        ("Ｐｙｔｈｏｎ ﬁn", "Python fin"),
        ("Wind\u00adkraft", "Windkraft"),
        ("كِتَابٌ جميـــل أحمد", "كتاب جميل احمد"),
        ("שָׁלוֹם", "שלומ"),
        ("ｶﾀｶﾅ", "カタカナ"),
        ("plain", "plain"),
        ("übrige Häuser", "übrige Häuser"),
    ],
)
def test_one_spelling(text: str, spelt: str) -> None:
    assert normal(text) == spelt
    assert normal(spelt) == spelt


def test_an_n_gram_as_it_is_written() -> None:
    assert joined(["我", "的"]) == "我的"
    assert joined(["python", "的", "cat"]) == "python 的 cat"


@pytest.mark.parametrize("text", ["", " \n", "...", "__ \u200d", "\ud800"])
def test_texts_that_say_nothing(text: str) -> None:
    assert says_nothing(text)


@pytest.mark.parametrize("text", ["a", "...7", "猫", "\U0001f44d", "й"])
def test_texts_that_say_something(text: str) -> None:
    assert not says_nothing(text)


def test_how_many_words() -> None:
    assert n_words_of("four words are here") == 4
    assert n_words_of("我的猫很可爱") == 6
