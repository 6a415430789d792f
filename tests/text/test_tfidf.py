"""What TF-IDF promises beside its values (those: parity/test_tfidf.py): state, settings, fields, features given."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from everylabel.data.dataset import Documents
from everylabel.errors import ConfigError, DataError
from everylabel.text import tfidf
from everylabel.text.features import DocumentFeatures
from everylabel.text.tfidf import Tfidf, TfidfConfig, limits

EVERYTHING = TfidfConfig(ngrams=2, min_df=1, max_df=1.0)
TEXTS = ["a red ship", "a red train", "grüne Äpfel, Straße", "", "red red red ship"]
TITLES = ["ship", "", "Äpfel", "red", "one more"]
TOGETHER = [f"{title}\n{text}" if title else text for title, text in zip(TITLES, TEXTS, strict=True)]


def given(matrix: list[list[float]]) -> Documents:
    n = len(matrix)
    return Documents([str(i) for i in range(n)], [""] * n, [""] * n, csr_matrix(matrix, dtype=np.float32))


def test_rows_have_length_one_or_zero() -> None:
    lengths = np.linalg.norm(Tfidf(config=EVERYTHING).fit_transform(TEXTS).toarray(), axis=1)
    np.testing.assert_allclose(lengths, [1, 1, 1, 0, 1], rtol=1e-6)


def test_no_texts_at_all() -> None:
    fitted = Tfidf(config=EVERYTHING).fit(TEXTS)
    assert fitted.transform([]).shape == (0, len(fitted.names_))
    nothing = Tfidf(config=EVERYTHING).fit([])
    assert nothing.names_ == []
    assert nothing.transform(TEXTS).shape == (len(TEXTS), 0)


@pytest.mark.parametrize("texts", [TEXTS, ["", ""], ["\ud800ab", "ab cd"]])
def test_state_round_trip_is_plain_arrays(texts: list[str]) -> None:
    fitted = Tfidf(config=EVERYTHING).fit(texts)
    state = fitted.state()
    arrays = [value for key, value in state.items() if key != "ngrams"]
    assert isinstance(state["ngrams"], int)
    assert all(isinstance(value, np.ndarray) and value.dtype != object for value in arrays)
    restored = Tfidf(config=EVERYTHING).restore(state)
    assert restored.names_ == fitted.names_
    np.testing.assert_array_equal(restored.transform(TEXTS).toarray(), fitted.transform(TEXTS).toarray())


def test_fitting_again_forgets_the_first_texts() -> None:
    again = Tfidf(config=EVERYTHING)
    again.fit_transform(TEXTS)
    fresh = Tfidf(config=EVERYTHING)
    other = ["blue boat", "blue"]
    np.testing.assert_array_equal(again.fit_transform(other).toarray(), fresh.fit_transform(other).toarray())
    assert again.names_ == fresh.names_ == ["blue", "blue boat", "boat"]


def test_stop_words_are_left_out_however_they_are_written() -> None:
    config = TfidfConfig(ngrams=2, min_df=1, max_df=1.0, stop_words=("The", "of"))
    fitted = Tfidf(config=config).fit(["The House of the Rising sun", "the rising"])
    assert fitted.names_ == ["house", "house rising", "rising", "rising sun", "sun"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ngrams": 0}, "ngrams"),
        ({"min_df": 0}, "min_df"),
        ({"max_df": 0.0}, "max_df"),
        ({"max_df": 1.5}, "max_df"),
        ({"title_weight": -1.0}, "title_weight"),
    ],
)
def test_settings_that_cannot_work(settings: dict[str, float], message: str) -> None:
    config = TfidfConfig(**settings)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=message):
        Tfidf(config=config).fit(TEXTS)
    with pytest.raises(ConfigError, match=message):
        DocumentFeatures(config).fit_transform(Documents.of(TEXTS))


def test_one_field_is_title_and_text_together() -> None:
    features = DocumentFeatures(replace(EVERYTHING, title_weight=0.0))
    found = features.fit_transform(Documents.of(TEXTS, TITLES))
    expected = Tfidf(config=EVERYTHING)
    np.testing.assert_array_equal(found.toarray(), expected.fit_transform(TOGETHER).toarray())
    assert features.names == expected.names_


@pytest.mark.parametrize("weight", [0.5, 3.0])
def test_the_title_is_one_more_field_with_its_weight(weight: float) -> None:
    config = TfidfConfig(ngrams=1, min_df=1, max_df=1.0, title_weight=weight)
    features = DocumentFeatures(config)
    documents = Documents.of(TEXTS, TITLES)
    found = features.fit_transform(documents)
    whole, titles = Tfidf(config=config), Tfidf(config=config)
    blocks = [whole.fit_transform(TOGETHER).toarray(), weight * titles.fit_transform(TITLES).toarray()]
    expected = np.hstack(blocks)
    expected /= np.maximum(np.linalg.norm(expected, axis=1, keepdims=True), 1e-9)
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-6)
    assert features.names == whole.names_ + titles.names_
    np.testing.assert_array_equal(features.transform(documents).toarray(), found.toarray())


@pytest.mark.parametrize("weight", [0.0, 2.0])
@pytest.mark.parametrize("titles", [TITLES, [""] * len(TEXTS)])
def test_fields_round_trip(weight: float, titles: list[str]) -> None:
    config = TfidfConfig(ngrams=1, min_df=1, max_df=1.0, title_weight=weight)
    fitted = DocumentFeatures(config)
    documents = Documents.of(TEXTS, titles)
    found = fitted.fit_transform(documents)
    restored = DocumentFeatures(config).restore("x", fitted.state("x"))
    np.testing.assert_array_equal(restored.transform(documents).toarray(), found.toarray())


def test_without_titles_there_is_no_field_of_them() -> None:
    features = DocumentFeatures(EVERYTHING)
    features.fit_transform(Documents.of(TEXTS))
    assert features.names == Tfidf(config=EVERYTHING).fit(TEXTS).names_


def test_large_corpora_get_pairs_of_words_and_lose_rare_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    config = TfidfConfig(max_df=1.0)
    texts = ["more than once", "more than"]
    assert Tfidf(config=config).fit(texts).names_ == ["more", "once", "than"]
    monkeypatch.setattr(tfidf, "_AMPLE", 20)
    large = Tfidf(config=config).fit(texts)
    assert large.names_ == ["more", "more than", "than"]
    restored = Tfidf(config=config).restore(large.state())
    np.testing.assert_array_equal(restored.transform(texts).toarray(), large.transform(texts).toarray())
    assert limits(config, ["x" * 10_000]) == (2, 5)
    assert limits(replace(config, ngrams=3, min_df=4), ["x" * 10_000]) == (3, 4)


def test_texts_without_words_say_what_to_do() -> None:
    with pytest.raises(DataError, match="min_df"):
        DocumentFeatures(EVERYTHING).fit_transform(Documents.of(["", "?!", "a"]))


def test_given_features_are_taken_as_they_are_with_length_one() -> None:
    features = DocumentFeatures(TfidfConfig())
    documents = given([[3, 4, 0], [0, 0, 0], [0, 0, 2]])
    expected = np.array([[0.6, 0.8, 0], [0, 0, 0], [0, 0, 1]])
    np.testing.assert_allclose(features.fit_transform(documents).toarray(), expected, rtol=1e-6)
    assert documents.features is not None
    assert documents.features.toarray().tolist() == [[3, 4, 0], [0, 0, 0], [0, 0, 2]]
    restored = DocumentFeatures(TfidfConfig()).restore("x", features.state("x"))
    np.testing.assert_allclose(restored.transform(documents).toarray(), expected, rtol=1e-6)
    assert restored.names == []


def test_texts_and_given_features_do_not_mix() -> None:
    on_features, on_texts = DocumentFeatures(EVERYTHING), DocumentFeatures(EVERYTHING)
    on_features.fit_transform(given([[1, 2], [2, 1]]))
    on_texts.fit_transform(Documents.of(TEXTS))
    with pytest.raises(DataError, match="bag of words"):
        on_features.transform(Documents.of(TEXTS))
    with pytest.raises(DataError, match="2 features"):
        on_features.transform(given([[1, 2, 3]]))
    with pytest.raises(DataError, match="reads texts"):
        on_texts.transform(given([[1, 2]]))


def test_a_table_of_hashes_that_were_made_alike_is_refused_at_once() -> None:
    """A crafted vocabulary must not take for ever: looking up a million equal hashes is a million squared steps."""
    from everylabel.text import kernels

    assert len(kernels.hash_table(np.arange(1, 1_000_001, dtype=np.uint64))) >= 1_000_000
    for alike in (np.full(1_000_000, 7, np.uint64), np.arange(1_000_000, dtype=np.uint64) << np.uint64(40)):
        with pytest.raises(ValueError, match="all alike"):
            kernels.hash_table(alike)
