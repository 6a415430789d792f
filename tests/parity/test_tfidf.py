"""TF-IDF against scikit-learn's `TfidfVectorizer`: the same columns in the same order with the same values."""

from __future__ import annotations

import random
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from everylabel.text import tfidf
from everylabel.text.scripts import LETTER, SEPARATOR, kinds
from everylabel.text.tfidf import Tfidf, TfidfConfig

WORDS = ["ship", "boat", "sea", "harbour", "rail", "train", "sky", "plane", "of", "the", "and", "a", "i"]
WORDS += ["x2", "2024", "snake_case", "Straße", "ΣΑΣ"]
# what lower-casing, \w and \b may trip over: a letter that becomes two, combining marks, final sigma, joiners,
# digits of other scripts, an astral letter, lone surrogates. Scripts without spaces, emoji and marks of other scripts
# are read otherwise on purpose (tests/text/test_scripts.py).
HOSTILE = [
    *"aAbBzZ019_ \t\n.-'",
    *"İıſßẞΣσςéÅДжªº²½①٣๓אبकა",
    *"\u0301\u0307\u0345\u200d\u200c\ufe0f\u00ad\u00a0\u2028\x00\x85",
    *"𝔘𝟘𐐀",
    "\ud800",
    "\udc00",
]
hostile_texts = st.lists(st.text(st.sampled_from(HOSTILE), max_size=40), min_size=1, max_size=8)


def spaced(character: str) -> bool:
    """Is it read as scikit-learn does, as large and as small?"""
    return all(kinds()[ord(one)] in (SEPARATOR, LETTER) for one in character + character.lower())


any_texts = st.lists(st.text(st.characters().filter(spaced), max_size=30), min_size=1, max_size=6)


def theirs(fit: Sequence[str], then: Sequence[str], config: TfidfConfig) -> tuple[list[str], Any]:
    vectoriser = TfidfVectorizer(
        ngram_range=(1, config.ngrams),
        min_df=config.min_df,
        max_df=config.max_df,
        sublinear_tf=config.sublinear,
        stop_words=list(config.stop_words) or None,
    )
    try:
        vectoriser.fit(fit)
    except ValueError as error:  # scikit-learn refuses to learn nothing
        if any(reason in str(error) for reason in ("empty vocabulary", "no terms remain", "max_df corresponds")):
            return [], np.zeros((len(then), 0))
        raise
    return list(vectoriser.get_feature_names_out()), vectoriser.transform(then).toarray()


def assert_same(fit: Sequence[str], then: Sequence[str], config: TfidfConfig) -> None:
    names, values = theirs(fit, then, config)
    ours = Tfidf(config=config).fit(fit)
    found = ours.transform(then)
    assert ours.names_ == names
    assert found.dtype == np.float32
    assert found.shape == values.shape
    assert found.has_sorted_indices
    np.testing.assert_allclose(found.toarray(), values, rtol=0, atol=1e-6)


def corpus(n_docs: int, seed: int = 0) -> list[str]:
    rng = random.Random(seed)
    return ["", *(" ".join(rng.choices(WORDS, k=rng.randint(0, 30))) for _ in range(n_docs - 1))]


@pytest.mark.parametrize("ngrams", [1, 2, 3])
@pytest.mark.parametrize("min_df", [1, 2, 7])
@pytest.mark.parametrize("max_df", [1.0, 0.5, 0.31])
@pytest.mark.parametrize("sublinear", [True, False])
@pytest.mark.parametrize("stop_words", [(), ("of", "the", "and", "unused")])
def test_every_setting(ngrams: int, min_df: int, max_df: float, sublinear: bool, stop_words: tuple[str, ...]) -> None:
    config = TfidfConfig(ngrams=ngrams, min_df=min_df, max_df=max_df, sublinear=sublinear, stop_words=stop_words)
    texts = corpus(60)
    assert_same(texts, texts + ["the unseen ship", "wholly unknown words", "THE Ship of the SEA"], config)


@pytest.mark.parametrize("n_docs", [1, 2, 3, 10])
@pytest.mark.parametrize("max_df", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_cuts_at_shares_that_are_not_exact_in_binary(n_docs: int, max_df: float) -> None:
    texts = [" ".join(f"word{j}" for j in range(n_docs) if j <= i) for i in range(n_docs)]
    assert_same(texts, texts, TfidfConfig(ngrams=1, min_df=1, max_df=max_df))


def test_more_stop_words_than_a_small_table_holds() -> None:
    texts = corpus(40, seed=1)
    stop_words = tuple(word.lower() for word in WORDS[:10]) + tuple(f"extra{i}" for i in range(100))
    assert_same(texts, texts, TfidfConfig(ngrams=2, min_df=1, max_df=1.0, stop_words=stop_words))


@given(texts=hostile_texts, unseen=hostile_texts, ngrams=st.integers(1, 3), sublinear=st.booleans())
@example(texts=["İİ İstanbul", "i̇stanbul"], unseen=["İSTANBUL"], ngrams=2, sublinear=True)
@example(texts=["ΑΣ ΑΣΑ ας", "ΑΣ."], unseen=["ΣΑΣ ΑΣ"], ngrams=2, sublinear=True)
@example(texts=["é" * 3, "e\u0301e\u0301"], unseen=["ee"], ngrams=1, sublinear=False)
@example(texts=["a\ud800b ab", "\ud800", "\udc00"], unseen=["\ud83d\ude42 ab"], ngrams=2, sublinear=True)
@example(texts=["", "", ""], unseen=[""], ngrams=1, sublinear=True)
@example(texts=["_ __ a_ _1 1_ 12 1"], unseen=["__ 12"], ngrams=3, sublinear=False)
@settings(deadline=None, max_examples=150)
def test_hostile_texts(texts: list[str], unseen: list[str], ngrams: int, sublinear: bool) -> None:
    assert_same(texts, unseen, TfidfConfig(ngrams=ngrams, min_df=1, max_df=1.0, sublinear=sublinear))


@given(texts=any_texts, ngrams=st.integers(1, 3), min_df=st.integers(1, 2), max_df=st.sampled_from([0.4, 1.0]))
@settings(deadline=None, max_examples=50)
def test_any_text(texts: list[str], ngrams: int, min_df: int, max_df: float) -> None:
    assert_same(texts, texts, TfidfConfig(ngrams=ngrams, min_df=min_df, max_df=max_df))


@given(texts=hostile_texts, stop=st.lists(st.sampled_from(["ab", "aa", "zz", "__", "01", "a"]), max_size=4))
@settings(deadline=None, max_examples=50)
def test_stop_words_in_hostile_texts(texts: list[str], stop: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn wonders about stop words that are no tokens
        assert_same(texts, texts, TfidfConfig(ngrams=2, min_df=1, max_df=1.0, stop_words=tuple(stop)))


@pytest.mark.parametrize("threads", ["1", "2", "3"])
@pytest.mark.parametrize("chunk", [1, 40, 1000])
def test_chunks_and_threads_change_nothing(threads: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = corpus(50, seed=2) + [" ".join(WORDS * 5)]  # one text alone is longer than a chunk
    config = TfidfConfig(ngrams=2, min_df=2, max_df=0.9)
    whole = Tfidf(config=config)
    expected = whole.fit_transform(texts)
    monkeypatch.setattr(tfidf, "_CHUNK", chunk)
    monkeypatch.setenv("EVERYLABEL_THREADS", threads)
    parts = Tfidf(config=config)
    found = parts.fit_transform(texts)
    assert parts.names_ == whole.names_
    np.testing.assert_array_equal(parts.idf_, whole.idf_)
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))
    assert_same(texts, texts, config)


def test_a_vocabulary_larger_than_the_first_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERYLABEL_THREADS", "2")
    rng = random.Random(3)
    texts = [" ".join(f"w{rng.randrange(60_000)}" for _ in range(3000)) for _ in range(40)]
    assert_same(texts, texts[:2], TfidfConfig(ngrams=1, min_df=2, max_df=1.0))
