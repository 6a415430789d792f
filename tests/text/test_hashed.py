"""Words by their hashes are counted as their strings are, whoever asks and however many ask at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everylabel.data.dataset import Documents
from everylabel.text import hash_table
from everylabel.text.features import DocumentFeatures
from everylabel.text.hash_table import Hashes, HashTable
from everylabel.text.hashed import MOST_TEXTS, hashed_texts
from everylabel.text.lemmas import lemmatised, stop_words
from everylabel.text.scripts import code_points
from everylabel.text.tfidf import Tfidf, TfidfConfig
from everylabel.text.views import Views
from everylabel.types import LongArray

TEXTS = [
    "The fisheries of 25th December",  # "25th" is two words in its base form
    "Häuser, Straßen und Brücken in den Städten",
    "software_name is not one_word",
    "",
    "—",
    "a b c",
    "ΟΔΟΣ οδός ΣΟΦΟΣ",
    "İstanbul'da kitaplar",
    "漁業 and fisheries",
    "ข้าว rice",
    "Naïve cafés\u0301 and co\u00adoperation",
    "fish \U0001f41f fishes 1234 12",
]
WORDS = st.sampled_from([word for text in TEXTS for word in text.split()] + ["Fish", "children", "_", "x_y", "geese"])
LANGUAGES = ["en", "de", "fr+en", "tr", "none", "zh"]


def documents(texts: list[str], titles: list[str] | None = None) -> Documents:
    return Documents.of(texts, titles or [""] * len(texts))


def same(one: Any, other: Any) -> bool:
    return one.shape == other.shape and all(
        np.array_equal(getattr(one, part), getattr(other, part)) for part in ("indptr", "indices", "data")
    )


def in_strings(given: Documents, language: str) -> Views:
    texts, titles = (lemmatised(part, language) for part in (given.texts, given.titles))
    return Views(Documents(given.ids, texts, titles))


@pytest.mark.parametrize("language", LANGUAGES)
@given(
    titles=st.lists(st.lists(WORDS, max_size=3), max_size=5), texts=st.lists(st.lists(WORDS, max_size=8), max_size=5)
)
def test_counted_as_strings_are(language: str, titles: list[list[str]], texts: list[list[str]]) -> None:
    size = min(len(titles), len(texts))
    given = documents([" ".join(one) for one in texts[:size]], [", ".join(one) for one in titles[:size]])
    read, spelled = Views(given).lemmatised(language), in_strings(given, language)
    base = lemmatised(TEXTS, language)
    for config in (
        TfidfConfig(ngrams=2, min_df=1, max_df=1.0),
        TfidfConfig(ngrams=3, min_df=1, max_df=1.0, stop_words=stop_words("en")),
        TfidfConfig(ngrams=1, min_df=1, max_df=1.0, pieces=5),
    ):
        vocabulary = Tfidf(config=config).fit(base)
        assert same(read.words(vocabulary), spelled.words(vocabulary))
        assert same(read.title_words(vocabulary), spelled.title_words(vocabulary))
        assert same(read.titles_only().words(vocabulary), spelled.titles_only().words(vocabulary))
    assert read.has_titles == spelled.has_titles
    assert read.documents.texts == spelled.documents.texts


@pytest.mark.parametrize("language", ["en", "de"])
def test_features_of_title_and_text(language: str) -> None:
    given = documents(TEXTS[:8], TEXTS[4:12])
    features = DocumentFeatures(TfidfConfig(ngrams=2, min_df=1, max_df=1.0))
    features.fit_transform(in_strings(given, language).documents)
    for rows in ([0, 1, 2], list(range(8))):  # with a script without spaces, and without
        part = given.subset(rows)
        assert same(Views(part).lemmatised(language).tfidf(features), in_strings(part, language).tfidf(features))


def test_a_batch_of_plain_texts_is_never_spelled_out(monkeypatch: pytest.MonkeyPatch) -> None:
    vocabulary = Tfidf(config=TfidfConfig(ngrams=1, min_df=1, max_df=1.0)).fit(lemmatised(TEXTS, "en"))
    read = Views(documents(TEXTS[:6], ["Titles"] * 6)).lemmatised("en")
    monkeypatch.setattr("everylabel.text.views.lemmatised", None)
    assert read.words(vocabulary).nnz
    assert read.has_titles
    assert read.titles_only().words(vocabulary).shape[0] == 6
    assert len(read.titles_only()) == len(read) == 6


def test_what_has_to_be_read_as_strings() -> None:
    assert hashed_texts(["漁業"], "en") is None
    assert hashed_texts(["fish"], "none") is None
    assert hashed_texts(["fish"] * (MOST_TEXTS + 1), "en") is None
    assert hashed_texts(["fish"] * MOST_TEXTS, "en") is not None
    assert hashed_texts([], "en") is not None


def sevenfold(hashes: Hashes) -> Callable[[LongArray], Hashes]:
    return lambda places: hashes[places] * np.uint64(7)


def test_a_table_that_grows_while_many_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hash_table, "_LEAST_NEW", 16)
    table, wrong, start = HashTable(most=500), [], threading.Barrier(6)  # and is begun anew now and then

    def work(seed: int) -> None:
        start.wait(20)
        rng = np.random.default_rng(seed)
        for _ in range(300):
            hashes = rng.integers(1, 2_000, 50).astype(np.uint64)
            if not np.array_equal(table.look_up(hashes, sevenfold(hashes)), hashes * 7):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert table._n_words <= 1_000


def test_each_new_word_is_learned_once() -> None:
    table, asked = HashTable(most=100), []

    def learn(places: Any) -> Any:
        asked.append(places.tolist())
        return places.astype(np.uint64) + 1

    hashes = np.array([9, 9, 5, 9, 5], np.uint64)
    assert table.look_up(hashes, learn).tolist() == [1, 1, 3, 1, 3]
    assert table.look_up(hashes[::-1].copy(), learn).tolist() == [3, 1, 3, 1, 1]
    assert [sorted(places) for places in asked] == [[0, 2]]


def test_code_points() -> None:
    codes, offsets = code_points(["aß", "", "\U0001f41f\ud800"])
    assert codes.tolist() == [97, 223, 0x1F41F, 0xD800]
    assert offsets.tolist() == [0, 2, 2, 4]
