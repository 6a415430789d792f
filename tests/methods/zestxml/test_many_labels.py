"""ZestXML with many labels: a shortlist ranks as all labels do, and what is learned and looked at is bounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

import everylabel
from everylabel.data import sample
from everylabel.data.dataset import Dataset, Label, pairs_from_lists
from everylabel.methods.facts import Facts
from everylabel.methods.zestxml import bounds, ranking, zest
from everylabel.methods.zestxml.bounds import AS_GOOD_AS_ALL, affordable_entries, sampled_documents
from everylabel.methods.zestxml.ranking import RankingTables
from everylabel.methods.zestxml.table import Table, associated, by_document_words, with_bounded_columns
from everylabel.methods.zestxml.zest import ZestXml, mean_of_texts
from everylabel.types import Ranking


def random_csr(rng: np.random.Generator, n: int, m: int, share: float = 0.4) -> Any:
    return csr_matrix(np.where(rng.random((n, m)) < share, rng.normal(size=(n, m)), 0).astype(np.float32))


def assert_same_bits(one: Ranking, other: Ranking) -> None:
    np.testing.assert_array_equal(one.ids, other.ids)
    np.testing.assert_array_equal(one.scores, other.scores)


# --- ranking


@settings(deadline=None)  # the first example compiles
@given(st.integers(0, 9999), st.integers(1, 60), st.sampled_from([1.0, 30.0, 1e4]), st.sampled_from([1, 5, 1000]))
def test_a_shortlist_ranks_as_all_labels_do(seed: int, k: int, scale: float, shortlist: int) -> None:
    """To the last bit, also where scores tie at 0 or 1, and documents one at a time."""
    rng = np.random.default_rng(seed)
    X, W, Z = random_csr(rng, 9, 12), random_csr(rng, 30, 12) * np.float32(scale), random_csr(rng, 50, 30)
    table = by_document_words(Table(W, 0.0))
    expected = RankingTables.of(table, Z, many=False).ranked(X, -0.5, k)
    tables = RankingTables.of(table, Z, many=True)
    limits = AS_GOOD_AS_ALL._replace(shortlist=shortlist)
    assert_same_bits(tables.ranked(X, -0.5, k, limits), expected)
    for row in range(9):
        one = tables.ranked(X[row], -0.5, k, limits)
        assert_same_bits(one, Ranking(expected.ids[row : row + 1], expected.scores[row : row + 1]))


def test_what_is_found_within_the_bounds_has_its_whole_score() -> None:
    """Two label features of five are walked, and the three labels of each that have most of it."""
    rng = np.random.default_rng(0)
    X, W, Z = (abs(random_csr(rng, *shape, 0.9)) for shape in ((4, 6), (5, 6), (40, 5)))
    table = by_document_words(Table(W, 0.0))
    limits = AS_GOOD_AS_ALL._replace(walked=2)
    exact = RankingTables.of(table, Z, many=False).ranked(X, -9.0, 40)
    found = RankingTables.of(table, Z, many=True, most=3).ranked(X, -9.0, 40, limits)
    for row in range(4):
        ids = found.ids[row][found.ids[row] >= 0]
        assert 3 <= len(ids) <= 6
        scores = dict(zip(exact.ids[row].tolist(), exact.scores[row].tolist(), strict=True))
        assert [scores[label] for label in ids.tolist()] == found.scores[row][: len(ids)].tolist()
    limits = limits._replace(visits=4)  # entries: the first list, and no part of a second
    found = RankingTables.of(table, Z, many=True, most=3).ranked(X, -9.0, 40, limits)
    assert ((found.ids >= 0).sum(axis=1) == 3).all()


def test_scratch_is_left_clean() -> None:
    rng = np.random.default_rng(1)
    tables = RankingTables.of(random_csr(rng, 12, 30), random_csr(rng, 50, 30), many=True)
    tables.ranked(random_csr(rng, 20, 12), 0.0, 5)
    assert tables._scratch
    for sums, there, _, totals, touched, _ in tables._scratch:
        assert not any(part.any() for part in (sums, there, totals, touched))


# --- the bounds of what is learned


@given(st.lists(st.integers(0, 50), min_size=1), st.integers(1, 60), st.integers(0, 500))
def test_entries_that_can_be_afforded(longest: list[int], wanted: int, most: int) -> None:
    lengths = np.array(longest)
    n = affordable_entries(lengths, wanted, most)
    assert 1 <= n <= wanted
    assert n == 1 or np.minimum(lengths, n).sum() <= most
    assert n == wanted or np.minimum(lengths, n + 1).sum() > most


def test_a_table_that_would_be_too_large_has_shorter_rows() -> None:
    rng = np.random.default_rng(0)
    X, Z = abs(random_csr(rng, 30, 20)), abs(random_csr(rng, 5, 150))
    pairs = pairs_from_lists([[i % 5] for i in range(30)], 5)
    nothing = csr_matrix((150, 20), dtype=np.float32)
    assert associated(X, pairs, Z, nothing, 150, 10).weights.nnz > 600
    bounded = associated(X, pairs, Z, nothing, 150, 10, most=600).weights
    assert 300 < bounded.nnz <= 600
    shorter = associated(X, pairs, Z, nothing, 150, int(np.diff(bounded.indptr).max())).weights
    np.testing.assert_array_equal(bounded.toarray(), shorter.toarray())


def test_a_document_word_keeps_the_label_features_that_it_says_most_about() -> None:
    weights = np.array([[1, 5, 0], [2, 4, 3], [3, 3, 0], [4, 0, 0]], np.float32)
    bounded = with_bounded_columns(Table(csr_matrix(weights), -3.0), 2)
    assert bounded.weights.toarray().tolist() == [[0, 5, 0], [0, 4, 3], [3, 0, 0], [4, 0, 0]]
    assert bounded.bias == -3


@given(st.integers(0, 999), st.integers(1, 40))
def test_a_sample_of_documents_leaves_rare_labels_theirs(seed: int, most: int) -> None:
    """Label 0 is in all documents that have one, the others in two each; five documents have none."""
    lists = [[0, 1 + i % 10] for i in range(20)] + [[0]] * 15 + [[]] * 5
    pairs = pairs_from_lists(lists, 11)
    rows = sampled_documents(pairs, most, np.random.default_rng(seed))
    assert len(rows) == most
    assert (np.diff(rows) > 0).all()
    n_of_rare = np.bincount(pairs[rows].indices, minlength=11)[1:]
    assert n_of_rare.min() >= (1 if most >= 11 else 0) + (most >= 36)
    assert (rows >= 35).sum() == max(0, most - 35)


def test_a_long_label_text_is_read_by_its_rarest_words() -> None:
    rng = np.random.default_rng(0)
    vectors = abs(random_csr(rng, 4, 300, 0.5))
    owners = np.array([0, 0, 1, 2], np.int32)
    mean, bounded = (mean_of_texts(vectors, owners, many) for many in (False, True))
    assert np.diff(mean.indptr).min() > bounds.MOST_WORDS_OF_A_LABEL
    assert np.diff(bounded.indptr).tolist() == [bounds.MOST_WORDS_OF_A_LABEL] * 3
    np.testing.assert_allclose(np.asarray(bounded.multiply(bounded).sum(axis=1)).ravel(), 1, rtol=1e-5)
    for row in range(3):
        assert set(bounded[row].indices) == set(np.argsort(-mean[row].toarray().ravel())[:32])


def test_a_vocabulary_that_is_too_large_loses_pairs_then_rare_words(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["red bee", "red cow", "red dog", "bee"]
    words = ZestXml(language="none")._vocabulary(2).fit(texts)
    assert words.n_terms == 7
    for most, left in ((7, 7), (4, 4), (2, 2), (1, 0)):
        monkeypatch.setattr(zest, "MOST_LABEL_WORDS", most)
        assert ZestXml(language="none")._bounded(words, texts).n_terms == left


# --- the method, with bounds that a small vocabulary meets


@pytest.fixture
def train_and_test(tmp_path: Path) -> tuple[Dataset, Dataset]:
    sample(tmp_path / "sample")
    train, test = (everylabel.load_dataset(tmp_path / "sample", split) for split in ("train", "test"))
    return train, test


def test_few_labels_count_as_many_and_are_ranked_the_same(
    train_and_test: tuple[Dataset, Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no bound is met, the way of many labels gives the same model and the same rankings, to the last bit."""
    train, test = train_and_test
    few = ZestXml().fit(train)
    for module in (zest, ranking):
        monkeypatch.setattr(module, "MANY_LABELS", 1)
    monkeypatch.setattr(zest, "MOST_WORDS_OF_A_LABEL", 10_000)
    monkeypatch.setattr(zest, "FEATURES_TO_LEARN_FROM", 10_000)
    monkeypatch.setattr(zest, "TO_LEARN_FROM", AS_GOOD_AS_ALL)
    monkeypatch.setattr(zest, "_DOCUMENTS_AT_A_TIME", 100)
    many = ZestXml().fit(train)
    assert many.model_.tables_.words_by_label is not None
    assert few.model_.tables_.words_by_label is None
    for method in (few, many):
        method.add_labels([Label("new", "colonies of penguins"), Label("newer", "quuxology of fish")])
    assert_same_bits(many.rank(test.documents, 40), few.rank(test.documents, 40))
    assert_same_bits(many.rank(test.documents.texts[:1], 200), few.rank(test.documents.texts[:1], 200))


def test_saved_with_labels_that_came_later(
    train_and_test: tuple[Dataset, Dataset], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    train, test = train_and_test
    for module in (zest, ranking):
        monkeypatch.setattr(module, "MANY_LABELS", 1)
    monkeypatch.setattr(zest, "MOST_DOCUMENTS", 100)
    monkeypatch.setattr(zest, "MOST_ENTRIES", 10_000)
    monkeypatch.setattr(zest, "MOST_FEATURES_OF_A_WORD", 20)
    method = ZestXml().fit(train).add_labels([Label("new", "colonies of penguins")])
    assert np.diff(method.model_.tables_.table.indptr).max() <= 20
    assert method.rank(["a colony of penguins"], 1).ids[0, 0] == len(train.labels)
    method.save(tmp_path / "model")
    again = everylabel.load(tmp_path / "model")
    assert_same_bits(again.rank(test.documents, 40), method.rank(test.documents, 40))
    for one in (method, again):
        one.add_labels([Label("newer", "penguin quuxology")])
    assert_same_bits(again.rank(test.documents, 40), method.rank(test.documents, 40))
    assert again.rank(["quuxology of the penguin"], 1).ids[0, 0] == len(train.labels) + 1


def test_a_vocabulary_that_grows_to_many_labels_keeps_its_rankings(
    train_and_test: tuple[Dataset, Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    train, test = train_and_test
    monkeypatch.setattr(ranking, "MANY_LABELS", len(train.labels))
    method = ZestXml().fit(train)
    before = method.rank(test.documents, 20)
    method.add_labels([Label("new", "quuxology")])
    assert method.model_.tables_.words_by_label is not None
    assert_same_bits(method.rank(test.documents, 20), before)


def test_a_million_labels_and_documents_take_less_than_an_hour() -> None:
    counts: dict[str, Any] = {"n_docs": 10**6, "n_labelled": 10**6, "n_seen": 5 * 10**5, "n_dev": 0, "words": 20.0}
    facts = [Facts(n_labels=n, n_pairs=3 * 10**6, **counts) for n in (10**4, 10**5, 10**6)]
    costs = [ZestXml.cost(one) for one in facts]
    assert costs[2].solving < 3_600
    assert costs[2].reading < 600
