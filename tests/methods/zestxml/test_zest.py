"""ZestXML: the table's arithmetic against a slow version, and what it learns about words that labels share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.special import expit

import everylabel
from everylabel.data import sample
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.errors import ConfigError
from everylabel.linear.bilinear import learn_pairs
from everylabel.methods.words.lexical import TfidfMatch
from everylabel.methods.zestxml.ranking import RankingTables
from everylabel.methods.zestxml.table import Table, associated, by_document_words, in_matrix, parts
from everylabel.methods.zestxml.zest import ZestXml
from everylabel.metrics.ranking import evaluate, restrict

# every label is a kind of animal and what is done with it; documents use other words than the labels do
ANIMALS = {"bees": ["hive", "honey", "swarm"], "cows": ["milk", "barn", "udder"], "dogs": ["bark", "leash", "puppy"]}
DEEDS = {
    "breeding": ["pedigree", "litter", "queen"],
    "illness": ["fever", "vet", "cure"],
    "law": ["court", "act", "fine"],
}
NAMES = [f"{animal} {deed}" for animal in ANIMALS for deed in DEEDS]
UNSEEN = NAMES.index("cows illness")
LABELS = LabelSet.of(Label(f"q{(5 * i) % 9}", name) for i, name in enumerate(NAMES))


def text_of(label: int, rng: np.random.Generator) -> str:
    animal, deed = NAMES[label].split()
    return " ".join(
        rng.permutation([*rng.permutation(ANIMALS[animal])[:2], *rng.permutation(DEEDS[deed])[:2], "often"])
    )


def made(n: int, labels: list[int], seed: int = 0) -> tuple[list[str], list[list[int]]]:
    rng = np.random.default_rng(seed)
    return [text_of(label, rng) for label in labels for _ in range(n)], [[label] for label in labels for _ in range(n)]


SEEN = [label for label in range(len(NAMES)) if label != UNSEEN]
TEXTS, LISTS = made(6, SEEN)
DATA = Dataset(Documents.of(TEXTS), LABELS, pairs_from_lists(LISTS, len(LABELS)), name="toy")


def random_csr(rng: np.random.Generator, n: int, m: int, share: float = 0.4) -> Any:
    return csr_matrix(np.where(rng.random((n, m)) < share, rng.normal(size=(n, m)), 0).astype(np.float32))


# --- the arithmetic


@settings(deadline=None)  # the first example compiles
@given(st.integers(0, 9999), st.integers(1, 6), st.integers(1, 9))
def test_ranking_is_the_product_of_three_matrices(seed: int, n_docs: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    X, W, Z = random_csr(rng, n_docs, 7), random_csr(rng, 5, 7), random_csr(rng, 6, 5)
    found = RankingTables(by_document_words(Table(W, 0.0)), csr_matrix(Z.T)).ranked(X, -0.5, k)
    expected = expit((X @ W.T @ Z.T).toarray() - 0.5)
    leads = (abs(X) @ abs(W).T @ abs(Z).T).toarray() > 0
    for row in range(n_docs):
        there = found.ids[row] >= 0
        assert there.sum() == min(k, leads[row].sum())
        best = sorted(np.flatnonzero(leads[row]), key=lambda label: -expected[row, label])[:k]
        np.testing.assert_allclose(found.scores[row][there], expected[row, best], atol=1e-5)
        np.testing.assert_allclose(found.scores[row][there], expected[row, found.ids[row][there]], atol=1e-5)


def test_a_step_goes_down_the_gradient_of_the_logistic_loss() -> None:
    """One document, one pair: the weight moves by the learning rate times the sign of what Adagrad scales."""
    rng = np.random.default_rng(0)
    X, W, Z = random_csr(rng, 1, 6, 0.7), random_csr(rng, 4, 6, 0.7), random_csr(rng, 2, 4, 0.9)
    before, squares, bias = W.toarray(), np.zeros(W.nnz, np.float32), np.array([0.25, 0.0])
    margin = float((X @ W.T @ Z.T).toarray()[0, 1]) + 0.25
    pairs = (np.array([0, 1]), np.array([1], np.int32), np.array([True]))
    nothing = np.zeros(1, bool)
    loss = learn_pairs(
        np.array([0]), parts(X), pairs, nothing, 99, parts(Z), parts(W), squares, bias, np.float32(0.1), 6, 3.0
    )
    assert loss == pytest.approx(3 * np.log1p(np.exp(-margin)), rel=1e-5)
    gradient = -3 * expit(-margin) * Z.toarray()[1][:, None] * X.toarray()[0][None, :] * (before != 0)
    np.testing.assert_allclose(W.toarray(), before - 0.1 * np.sign(gradient), atol=1e-5)
    np.testing.assert_allclose(squares, (gradient**2)[before != 0], rtol=1e-4)
    assert bias[0] == pytest.approx(0.35)


def test_a_plain_pair_leaves_the_labels_own_feature_alone() -> None:
    X, W = csr_matrix(np.ones((1, 2), np.float32)), csr_matrix(np.ones((2, 2), np.float32))
    Z, bias = csr_matrix(np.ones((1, 2), np.float32)), np.zeros(2)
    pairs = (np.array([0, 1]), np.array([0], np.int32), np.array([True]))
    learn_pairs(
        np.array([0]), parts(X), pairs, np.ones(1, bool), 1, parts(Z), parts(W), np.zeros(4, np.float32), bias,
        np.float32(0.5), 2, 1.0,
    )  # fmt: skip
    assert W.toarray().tolist() == [[1.5, 1.5], [1, 1]]


def test_associations_are_beyond_chance_and_have_the_word_itself() -> None:
    """Column 0 is in every document, column 1 goes with the label, column 3 is its name and in no labelled document."""
    X = csr_matrix([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 1, 0]], dtype=np.float32)
    pairs, Z = pairs_from_lists([[0], [0], [], []], 1), csr_matrix(np.ones((1, 1), np.float32))
    same = csr_matrix(([0.5], ([0], [3])), shape=(1, 4), dtype=np.float32)
    assert associated(X, pairs, Z, same, 1, 10).weights.toarray().tolist() == [[0, 5, 0, 2.5]]
    assert associated(X, pairs, Z, same, 0, 10).weights.toarray().tolist() == [[0, 1, 0, 0.5]]  # a label's own feature


def test_the_number_of_entries_is_limited() -> None:
    rng = np.random.default_rng(0)
    X, Z = abs(random_csr(rng, 30, 20)), abs(random_csr(rng, 5, 150))
    pairs = pairs_from_lists([[i % 5] for i in range(30)], 5)
    found = associated(X, pairs, Z, csr_matrix((150, 20), dtype=np.float32), 150, 4)
    assert found.weights.shape == (150, 20)
    assert np.diff(found.weights.indptr).max() == 4


@given(st.integers(0, 9999))
def test_entries_in_another_matrix(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = random_csr(rng, 4, 5), random_csr(rng, 4, 5)
    expected = (other.toarray() != 0)[one.toarray() != 0]
    np.testing.assert_array_equal(in_matrix(one, other), expected)


# --- the method


def test_seen_labels_by_words_that_they_do_not_have() -> None:
    texts, lists = made(4, SEEN, seed=1)
    found = ZestXml(language="none").fit(DATA).rank(texts, 1)
    assert np.mean(found.ids[:, 0] == np.array(lists)[:, 0]) > 0.95


def test_an_unseen_label_by_words_that_it_shares_with_seen_ones() -> None:
    """The text has not a word of the label: 'cows' was learned from one label, 'illness' from two others."""
    texts, _ = made(10, [UNSEEN], seed=2)
    method = ZestXml(language="none").fit(DATA)
    assert method.rank(texts, 1).ids.ravel().tolist() == [UNSEEN] * 10
    assert TfidfMatch().fit(DATA).rank(texts, 9).ids.max() < 0


def test_a_word_that_no_seen_label_has_counts_by_itself() -> None:
    labels = LabelSet.of([*LABELS.labels, Label("r", "zebras")])
    data = Dataset(Documents.of([*TEXTS, "zebras often"]), labels, pairs_from_lists([*LISTS, []], len(labels)))
    found = ZestXml(language="none").fit(data).rank(["a text about zebras"], 1)
    assert found.ids.tolist() == [[len(labels) - 1]]


def test_words_are_read_in_their_base_forms() -> None:
    labels = LabelSet.of([*LABELS.labels, Label("r", "zebras")])
    data = Dataset(Documents.of([*TEXTS, "a zebra"]), labels, pairs_from_lists([*LISTS, []], len(labels)))
    assert ZestXml().fit(data).rank(["a zebra"], 1).ids.tolist() == [[len(labels) - 1]]
    assert ZestXml(language="none").fit(data).rank(["a zebra"], 1).ids.tolist() == [[-1]]


def test_better_than_words_alone_on_the_sample(tmp_path: Path) -> None:
    sample(tmp_path / "sample")
    train, test = (everylabel.load_dataset(tmp_path / "sample", split) for split in ("train", "test"))
    seen = train.counts > 0
    truth = csr_matrix(test.required_pairs.multiply(seen.astype(np.float32)[None, :]))
    values = {}
    for method in (ZestXml().fit(train), TfidfMatch().fit(train)):
        ranking = method.rank(test.documents, len(train.labels))
        values[method.name] = evaluate(restrict(ranking, seen), truth, train.counts, len(train))["nDCG@5"]
        unseen = restrict(ranking, ~seen)
        assert (unseen.ids[:, 0] >= 0).mean() > 0.9  # unseen labels are ranked, too
    assert values["zestxml"] > values["tfidf"] + 0.05


def test_unchanged_by_the_order_of_documents_and_labels() -> None:
    rng = np.random.default_rng(3)
    rows, columns = rng.permutation(len(DATA)), rng.permutation(len(LABELS))
    other = Dataset(DATA.documents.subset(rows), LABELS.subset(columns), DATA.required_pairs[rows][:, columns])
    one, two = (ZestXml().fit(data).rank(TEXTS[::5], 9) for data in (DATA, other))
    np.testing.assert_array_equal(columns[two.ids[:, :2]], one.ids[:, :2])
    np.testing.assert_allclose(two.scores, one.scores, rtol=1e-4)


def test_identical_after_save_and_load(tmp_path: Path) -> None:
    method = ZestXml().fit(DATA)
    method.save(tmp_path / "model")
    found, again = method.rank(TEXTS, 9), everylabel.load(tmp_path / "model").rank(TEXTS, 9)
    np.testing.assert_array_equal(found.ids, again.ids)
    np.testing.assert_array_equal(found.scores, again.scores)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"entries": 0}, "entries and epochs must be at least 1; got 0"),
        ({"epochs": 0}, "entries and epochs"),
        ({"language": "xx"}, "language must be"),
    ],
)
def test_settings_that_cannot_work(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ZestXml(**settings).fit(DATA)


def test_a_label_whose_words_no_training_document_has_is_found_by_them() -> None:
    labels = LabelSet.of([*LABELS.labels, Label("far", "penguin colony")])
    data = Dataset(DATA.documents, labels, pairs_from_lists(LISTS, len(labels)))
    found = ZestXml().fit(data).rank(["hive honey and a colony of penguins", "milk barn fever vet"], 3)
    assert len(LABELS) in found.ids[0]
    assert len(LABELS) not in found.ids[1]


# --- labels that come later


def test_a_label_that_comes_later_is_ranked_as_if_it_had_been_there() -> None:
    """One that nobody has used, of words that others have: the same score as its twin of the fit."""
    method = ZestXml().fit(DATA)
    method.add_labels([Label("twin", NAMES[UNSEEN])])
    found = method.rank(made(3, [UNSEEN], seed=9)[0], len(LABELS) + 1)
    for ids, scores in zip(found.ids.tolist(), found.scores, strict=True):
        assert scores[ids.index(len(LABELS))] == pytest.approx(scores[ids.index(UNSEEN)], abs=1e-6)


def test_a_new_word_of_a_label_that_comes_later_counts_by_itself(tmp_path: Path) -> None:
    method = ZestXml().fit(DATA)
    before = method.rank(TEXTS, len(LABELS))
    method.add_labels([Label("new", "penguins"), Label("empty", "..")]).add_labels([Label("newer", "cows quuxology")])
    method.save(tmp_path / "model")
    for one in (method, everylabel.load(tmp_path / "model")):
        assert one.rank(["a colony of penguins"], 1).ids[0, 0] == len(LABELS)
        assert one.rank(["quuxology of cows, and milk"], 1).ids[0, 0] == len(LABELS) + 2
        after = one.rank(TEXTS, len(LABELS) + 3)
        for row in range(len(TEXTS)):  # what was there stays as it was
            others = np.flatnonzero((after.ids[row] >= 0) & (after.ids[row] < len(LABELS)))
            there = before.ids[row] >= 0
            assert after.ids[row][others].tolist() == before.ids[row][there].tolist()
            np.testing.assert_allclose(after.scores[row][others], before.scores[row][there], atol=1e-6)


def test_a_word_of_a_label_that_came_later_is_that_of_the_next_one_too() -> None:
    method = ZestXml().fit(DATA)
    method.add_labels([Label("new", "colonies of penguins")]).add_labels([Label("newer", "penguin quuxology")])
    assert method.rank(["quuxology of the penguin"], 2).ids.tolist() == [[len(LABELS) + 1, len(LABELS)]]
    assert method.rank(["colony of penguins"], 2).ids.tolist() == [[len(LABELS), len(LABELS) + 1]]
