"""Neighbours that are learned in any parts are those that are learned at once; what was fitted is not rewritten."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, issparse, vstack
from tests.methods.words.test_neighbours import bag, data, learned
from tests.tagger.conftest import on_one_thread

import everylabel
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.methods.words.later import most_later, rows_of_both
from everylabel.methods.words.neighbours import NearestNeighbours
from everylabel.text.tfidf import TfidfConfig, idf_of
from everylabel.text.views import Views
from everylabel.types import Ranking

N_LABELS = 4
QUERIES = ["sea1 harbour storm", "rail3 rail4 sea2", "word of nobody", "storm storm new5", ""]


def texts_of(n: int, seed: int = 0, *, titles: bool = True) -> Documents:
    """Of a vocabulary that changes: later documents have words that the first ones have not."""
    rng = np.random.default_rng(seed)
    words = ["sea", "rail", "harbour", "storm", "new"]
    texts = []
    for i in range(n):
        kind = words[int(rng.integers(0, 2 + 3 * i // max(n, 1)))]
        own = [f"{kind}{rng.integers(0, 6)}" for _ in range(rng.integers(1, 5))]
        texts.append(" ".join([*own, kind, f"once{i}"]))
    named = [f"title{i % 5} {texts[i].split()[0]}" if i % 3 and titles else "" for i in range(n)]
    return Documents.of(texts, named)


def labels_of(n: int, seed: int = 0) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return [[0], *(rng.choice(N_LABELS, rng.integers(0, 3), replace=False).tolist() for _ in range(n - 1))]


def fit(documents: Documents, lists: list[list[int]], **chosen: Any) -> NearestNeighbours:
    names = LabelSet.of(Label(str(i), f"label {i}") for i in range(N_LABELS))
    return NearestNeighbours(**chosen).fit(Dataset(documents, names, pairs_from_lists(lists, N_LABELS)))


def in_parts(method: NearestNeighbours, documents: Documents, lists: list[list[int]], cuts: list[int]) -> Any:
    """The documents after those of the fit, learned in these parts."""
    n_fit = method.n_documents
    ends = sorted({n_fit + cut % max(len(documents) - n_fit, 1) for cut in cuts} | {n_fit, len(documents)})
    for first, last in pairwise(ends):
        part = documents.subset(np.arange(first, last))
        method = learned(method, part, pairs_from_lists(lists[first:last], N_LABELS))
    return method


def same(one: Ranking, other: Ranking) -> None:
    np.testing.assert_array_equal(one.ids, other.ids)
    np.testing.assert_array_equal(one.scores, other.scores)


def same_state(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys()
    for key, value in one.items():
        for part in ("data", "indices", "indptr") if issparse(value) else ("",):
            np.testing.assert_array_equal(getattr(value, part, value), getattr(other[key], part, other[key]), key)


@given(st.integers(0, 2**20), st.integers(2, 60), st.lists(st.integers(0, 80), max_size=6), st.booleans())
@settings(deadline=None, max_examples=40)
def test_texts_learned_in_any_parts_are_as_learned_at_once(
    seed: int, n_fit: int, cuts: list[int], titles: bool
) -> None:
    """To the bit, through merges, and with new words."""
    documents, lists = texts_of(80, seed, titles=titles), labels_of(80, seed)
    method = fit(documents.subset(np.arange(n_fit)), lists[:n_fit], neighbours=7)
    one, parts = (in_parts(method, documents, lists, own) for own in ([], cuts))
    same_state(one.state(), parts.state())
    together = parts.rank(QUERIES, 4)
    same(together, one.rank(QUERIES, 4))
    same(parts.nearest(Views.of(QUERIES)), one.nearest(Views.of(QUERIES)))
    for i, text in enumerate(QUERIES):
        alone = parts.rank([text], 4)
        np.testing.assert_array_equal(alone.ids[0], together.ids[i])
        np.testing.assert_array_equal(alone.scores[0], together.scores[i])


@given(st.integers(0, 2**20), st.integers(0, 50), st.lists(st.integers(0, 60), max_size=6), st.booleans())
@settings(deadline=None, max_examples=40)
def test_features_that_came_ready_are_as_if_all_had_been_fitted(
    seed: int, n_fit: int, cuts: list[int], signed: bool
) -> None:
    """To the bit where lists need not round anew: each feature has its largest weight in the first documents, or lists
    are of floats, as those of features with negative values are."""
    rng = np.random.default_rng(seed)
    rows: Any = rng.random((50, 8)) * (rng.random((50, 8)) < 0.5)
    rows[rng.integers(0, 50)] = -0.5 if signed else 0.5
    rows = np.concatenate([np.diag([1.0] * 7 + [-1.0 if signed else 1.0]), rows]).tolist()
    lists, n_fit = labels_of(58, seed), 8 + n_fit
    whole = NearestNeighbours(neighbours=9).fit(data(rows, lists))
    first = NearestNeighbours(neighbours=9).fit(data(rows[:n_fit], lists[:n_fit]))
    method = in_parts(first, bag(rows), lists, cuts)
    queries = bag(np.abs(rng.standard_normal((9, 8))).tolist())
    same(method.nearest(Views(queries)), whole.nearest(Views(queries)))
    same(method.rank(queries, 4), whole.rank(queries, 4))


@given(st.integers(0, 2**20), st.integers(1, 40), st.lists(st.integers(0, 60), max_size=6))
@settings(deadline=None, max_examples=25)
def test_any_split_has_the_similarities_of_a_fit_on_all_but_for_rounding(
    seed: int, n_fit: int, cuts: list[int]
) -> None:
    rng = np.random.default_rng(seed)
    rows: Any = rng.random((50, 8)) * (rng.random((50, 8)) < 0.5)
    lists = labels_of(50, seed)
    whole = NearestNeighbours(neighbours=50).fit(data(rows.tolist(), lists))
    first = NearestNeighbours(neighbours=50).fit(data(rows[:n_fit].tolist(), lists[:n_fit]))
    method = in_parts(first, bag(rows.tolist()), lists, cuts)
    queries = Views(bag(rng.random((5, 8)).tolist()))
    one, other = method.nearest(queries), whole.nearest(queries)
    np.testing.assert_allclose(one.scores, other.scores, atol=2e-4)
    for i in range(5):
        by_id = dict(zip(other.ids[i].tolist(), other.scores[i].tolist(), strict=True))
        for row, score in zip(one.ids[i].tolist(), one.scores[i].tolist(), strict=True):
            assert row < 0 or score == pytest.approx(by_id[row], abs=2e-4)


def rebuilt(old: NearestNeighbours, documents: Documents) -> tuple[Any, list[str]]:
    """As each `learn` did it before: n-grams of all documents as rare as in all, all lists anew."""
    blocks, names, first = [], list[str](), 0
    for name, tfidf in old.features_.fields_.items():
        texts = documents.titles if name == "title" else documents.full_texts
        n_old, counts, others = old.n_documents, tfidf.counts(texts), tfidf.beyond(texts)
        df = np.bincount(counts.indices, minlength=tfidf.n_terms)
        known = np.rint((1 + n_old) / np.exp(tfidf.idf_ - 1)) - 1
        more = others.counts(texts)
        df_more = np.bincount(more.indices, minlength=others.n_terms)
        new = np.flatnonzero(df_more <= 0.25 * len(texts))
        idf = idf_of(np.concatenate([known + df, df_more[new]]), n_old + len(texts))
        own = old.rows[:, first : first + tfidf.n_terms].toarray() * idf[: tfidf.n_terms] / tfidf.idf_
        own = np.concatenate([own, np.zeros((n_old, len(new)))], axis=1)
        later = np.concatenate([counts.toarray(), more.toarray()[:, new]], axis=1)
        with np.errstate(divide="ignore"):
            later = np.where(later > 0, 1 + np.log(later), 0) * idf
        both = np.concatenate([own, later])
        both /= np.maximum(np.linalg.norm(both, axis=1, keepdims=True), 1e-12)
        blocks.append(both * (0.5 if name == "title" else 1))
        names += [*tfidf.names_, *(others.names_[i] for i in new)]
        first += tfidf.n_terms
    rows: Any = np.concatenate(blocks, axis=1)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12), names


@pytest.mark.parametrize("n_fit", [20, 88])
def test_merged_documents_are_those_of_a_rebuild(n_fit: int) -> None:
    n = n_fit + most_later(n_fit)
    documents, lists = texts_of(n, 1), labels_of(n)
    old = fit(documents.subset(np.arange(n_fit)), lists[:n_fit])
    method = in_parts(old, documents, lists, [3, 5, 6])
    assert method.later_ is None
    rows, names = rebuilt(old, documents.subset(np.arange(n_fit, n)))
    order = np.argsort(names, kind="stable")
    own = np.argsort(method.features_.names, kind="stable")
    assert [names[i] for i in order] == [method.features_.names[i] for i in own]
    np.testing.assert_allclose(method.rows.toarray()[:, own].sum(axis=1), rows[:, order].sum(axis=1), rtol=1e-4)
    np.testing.assert_allclose(np.sort(method.rows.toarray()), np.sort(rows), atol=1e-4)


def arrays_of(method: NearestNeighbours) -> list[Any]:
    lists, pairs = method.lists_, method.pairs_
    features = [getattr(tfidf, part) for tfidf in method.features_.fields_.values() for part in ("hashes_", "idf_")]
    return [lists.starts, lists.rows, lists.weights, lists.scales, pairs.data, pairs.indices, pairs.indptr, *features]


def test_the_arrays_of_the_fit_stay_the_same_objects_until_an_eighth_has_come() -> None:
    documents, lists = texts_of(200), labels_of(200)
    first = fit(documents.subset(np.arange(120)), lists[:120])
    method, n = first, 120
    while n < 134:
        method = learned(method, documents.subset([n]), pairs_from_lists([lists[n]], N_LABELS))
        n += 1
        assert method.features_ is first.features_
        assert all(one is other for one, other in zip(arrays_of(method), arrays_of(first), strict=True))
        assert method.n_documents == n
        assert method.n_pairs == sum(map(len, lists[:n]))
    assert most_later(120) == 15
    method = learned(method, documents.subset([n]), pairs_from_lists([lists[n]], N_LABELS))
    assert method.later_ is None
    assert method.lists_ is not first.lists_
    assert method.pairs_.shape[0] == method.n_documents == 135


def test_what_is_allocated_is_as_large_as_what_is_appended() -> None:
    """The same twenty documents, learned after a fit of ten times as many."""

    def peak(n: int) -> tuple[int, int]:
        documents, lists = texts_of(n), labels_of(n)
        method = fit(documents, lists)
        more, pairs = texts_of(20, 7), pairs_from_lists(labels_of(20), N_LABELS)
        method = learned(method, more, pairs)  # tables that are made once
        tracemalloc.start()
        try:
            learned(method, more, pairs)
            return tracemalloc.get_traced_memory()[1], sum(part.nbytes for part in arrays_of(method))
        finally:
            tracemalloc.stop()

    with on_one_thread():  # each has a table
        (few, of_few), (many, of_many) = peak(5_000), peak(100_000)
    assert of_many > 5 * of_few
    assert many < 1.5 * few
    assert many < of_many / 3  # as much as a table for n-grams of few texts takes


def test_new_words_are_told_once_ten_documents_have_come_however_they_came() -> None:
    documents, lists = texts_of(200, 3), labels_of(200)
    method = fit(documents.subset(np.arange(160)), lists[:160])
    for i in range(10):
        assert method._reading is method.features_  # read once for all who read alike
        again = Documents.of([f"zebra{i} crossing{i % 5} sea1"])
        method = learned(method, again, pairs_from_lists([[3]], N_LABELS))
    assert {"zebra7", "crossing4"} <= set(method._reading.names)
    near = method.nearest(Views.of(["crossing2"]))
    assert sorted(near.ids[0, :2].tolist()) == [162, 167]
    assert method.rank(["crossing2"], 1).ids.tolist() == [[3]]
    clue = next(iter(method.evidence(Views.of(["zebra7"]), 3)))
    assert clue.document == 167


@pytest.mark.parametrize(
    "chosen", [{"language": "en"}, {"tfidf": TfidfConfig(pieces=4)}, {"tfidf": TfidfConfig(ngrams=2)}]
)
def test_new_words_are_read_alike_alone_and_with_many(chosen: dict[str, Any]) -> None:
    """In base forms, of which the hashes of few texts are counted, as pieces of words, and as pairs of words."""
    documents, lists = texts_of(160, 3), labels_of(160)
    method = fit(documents, lists, **chosen)
    more = Documents.of([f"zebras{i} crossings running sea{i % 6}" for i in range(3)] + [f"ships{i}" for i in range(9)])
    cuts = [method, learned(method, more, pairs_from_lists([[3]] * 12, N_LABELS))]
    one = learned(method, more.subset(np.arange(5)), pairs_from_lists([[3]] * 5, N_LABELS))
    cuts.append(learned(one, more.subset(np.arange(5, 12)), pairs_from_lists([[3]] * 7, N_LABELS)))
    same_state(cuts[1].state(), cuts[2].state())
    assert cuts[1].later_ is not None
    assert cuts[1]._reading is not method.features_
    queries = ["zebras1 crossings", "running zebras2", "ships4", *documents.texts[:40]] * 5
    together = cuts[1].nearest(Views.of(queries))
    for i, text in enumerate(queries[:43]):
        alone = cuts[1].nearest(Views.of([text]))
        np.testing.assert_array_equal(alone.ids[0], together.ids[i])
        np.testing.assert_array_equal(alone.scores[0], together.scores[i])
    assert together.ids[0, 0] == 161
    assert together.ids[2, 0] == 160 + 7


def test_a_later_model_is_saved_and_mapped_and_one_without_later_documents_loads(tmp_path: Path) -> None:
    documents, lists = texts_of(100), labels_of(100)
    first = fit(documents.subset(np.arange(90)), lists[:90])
    method = in_parts(first, documents, lists, [4])
    assert method.later_ is not None
    names = LabelSet.of(Label(str(i), f"label {i}") for i in range(N_LABELS))
    own = {key: value for key, value in first.state().items() if not key.startswith("later")}
    same(NearestNeighbours().restore(names, own).rank(QUERIES, 4), first.rank(QUERIES, 4))
    method.save(tmp_path / "model")
    again: Any = everylabel.load(tmp_path / "model")
    again.check_contents()
    same(again.rank(QUERIES, 4), method.rank(QUERIES, 4))
    mapped = again.lists_.rows
    more = learned(again, texts_of(1, 9), pairs_from_lists([[1]], N_LABELS))
    assert more.lists_.rows is mapped
    assert not mapped.flags.owndata
    same(more.rank(QUERIES, 4), learned(method, texts_of(1, 9), pairs_from_lists([[1]], N_LABELS)).rank(QUERIES, 4))


@given(st.integers(0, 2**20), st.integers(1, 9), st.integers(0, 9), st.integers(0, 4), st.integers(1, 6))
def test_rows_of_two_matrices_are_those_of_one(seed: int, n_one: int, n_other: int, n_docs: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    dense = (rng.random((n_one + n_other, 5)) * (rng.random((n_one + n_other, 5)) < 0.4)).astype(np.float32)
    ids = np.stack([rng.permutation(np.arange(-k, len(dense)))[:k] for _ in range(n_docs)] or [np.empty(k)])[:n_docs]
    ids = np.maximum(ids, -1).astype(np.int32)
    places, found = rows_of_both(csr_matrix(dense[:n_one]), csr_matrix(dense[n_one:]), ids)
    assert ((places < 0) == (ids < 0)).all()
    np.testing.assert_array_equal(found.toarray()[places[ids >= 0]], dense[ids[ids >= 0]])
    for own, own_ids in zip(places, ids, strict=True):  # sums are added up in the order of the documents
        np.testing.assert_array_equal(np.argsort(own[own_ids >= 0]), np.argsort(own_ids[own_ids >= 0]))


def test_labels_may_come_and_go_between() -> None:
    documents, lists = texts_of(100), labels_of(100)
    method = in_parts(fit(documents.subset(np.arange(90)), lists[:90]), documents, lists, [])
    wider = method.with_labels([Label("new", "penguin colony")])
    pairs = pairs_from_lists([[4]], 5)
    counts = wider.counts_ + np.bincount(pairs.indices, minlength=5)
    taught = wider.with_documents(Views(Documents.of(["storm2 rail1 once7"])), pairs, wider.labels_, counts)
    assert taught.rank(["storm2 rail1 once7"], 1).ids.tolist() == [[4]]
    assert 4 not in taught.without_labels(["new"]).rank(["storm2 rail1 once7"], 5).ids
    merged = taught.merged()
    assert merged.n_documents == taught.n_documents == 101
    np.testing.assert_array_equal(merged.pairs_.toarray()[:90, :4], method.pairs_.toarray())
    assert merged.rank(["storm2 rail1 once7"], 1).ids.tolist() == [[4]]
    assert vstack([method.later_.pairs]).nnz == sum(map(len, lists[90:]))


@pytest.mark.parametrize(
    ("key", "part", "at", "value", "message"),
    [
        ("later/pairs", "indices", 0, 4, "columns must be from 0 to 3"),
        ("later/pairs", "data", 0, np.inf, "pairs of later documents must be from"),
        ("later/all/counts", "indices", 0, 10**6, "columns must be from"),
        ("later/all/counts", "data", 0, 0, "counts of words must be from 1"),
        ("later/all/counts", "data", 0, np.inf, "appended documents must be from"),
        ("later/all/counts", "indptr", 1, 10**6, "rows must go from 0"),
        ("later/title/counts", "indices", 1, 0, "columns must ascend"),
        ("later/all/hashes", "", 0, 2**64 - 1, "hashes of new words must ascend"),
        ("later/all/names", "", 0, 255, "not UTF-8"),
        ("documents/owners", "", 0, 1, "a document is not its own"),
    ],
)
def test_what_a_kernel_would_index_or_compute_by_is_checked(
    key: str, part: str, at: int, value: Any, message: str
) -> None:
    from everylabel.store.values import check_values

    documents, lists = texts_of(100), labels_of(100)
    method = in_parts(fit(documents.subset(np.arange(90)), lists[:90]), documents, lists, [])
    state = {name: own.copy() if hasattr(own, "copy") else own for name, own in method.state().items()}
    array = getattr(state[key], part) if part else state[key]
    array[at] = value
    with pytest.raises(ValueError, match=message):  # noqa: PT012
        check_values(state)
        NearestNeighbours().restore(method.labels_, state).check_contents()
