"""The table of candidates against dictionaries, one document and one label at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everylabel.data.dataset import Label, LabelSet
from everylabel.methods.traits import DEEP
from everylabel.tagger import candidates
from everylabel.tagger.candidates import (
    ADDED,
    EXPERT_COLUMNS,
    FIRST,
    SHARED_COLUMNS,
    CandidateTable,
    column_names,
    lengths_of_names,
    tabulated,
)
from everylabel.types import LongArray, Ranking

NAMES = ("tfidf", "knn", "semantic", "svm")
RANKS_UNSEEN = {"tfidf": True, "knn": False, "semantic": True, "svm": False}


def table_of_opinions(opinions: dict[str, Ranking], counts: LongArray, names: LongArray) -> CandidateTable:
    return tabulated(opinions, [RANKS_UNSEEN[name] for name in opinions], counts, names)


def opinion(rng: np.random.Generator, n_docs: int, n_labels: int, k: int) -> Ranking:
    """Rows of different lengths, some of them empty, with equal scores among them."""
    found = Ranking.empty(n_docs, k)
    for row in range(n_docs):
        n = int(rng.integers(0, min(k, n_labels) + 1))
        ids = rng.choice(n_labels, n, replace=False).astype(np.int32)
        scores = rng.integers(1, 8, n) / 8
        order = np.lexsort((ids, -scores))
        found.ids[row, :n], found.scores[row, :n] = ids[order], scores[order]
    return found


def slow(opinions: dict[str, Ranking], counts: LongArray, names: LongArray, best: int, unseen: int) -> dict[Any, Any]:
    """(document, label) -> columns by their names."""
    found: dict[Any, Any] = {}
    n_docs = next(iter(opinions.values())).n_docs
    for row in range(n_docs):
        said = {
            name: {
                int(i): (rank, float(s))
                for rank, (i, s) in enumerate(zip(r.ids[row], r.scores[row], strict=True))
                if i >= 0
            }
            for name, r in opinions.items()
        }
        chosen: set[int] = set()
        for own in said.values():
            ordered = sorted(own, key=lambda label: own[label][0])
            chosen |= set(ordered[:best]) | set([label for label in ordered if counts[label] <= 0][:unseen])
        rows = {label: columns(said, label, counts, names) for label in sorted(chosen)}
        for label, values in rows.items():
            values["rank among unseen"] = among(said, label, counts, unseen)
        agreed = sum(values["agreement"] > len(opinions) / 2 for values in rows.values())
        for label, values in rows.items():
            found[row, label] = values | {"labels named": agreed}
    return found


def columns(said: dict[str, dict[int, tuple[int, float]]], label: int, counts: Any, names: Any) -> dict[str, float]:
    found: dict[str, float] = {}
    ranks = {}
    for name, own in said.items():
        rank, score = own.get(label, (None, np.nan))
        top = max((score for _, score in own.values()), default=np.nan)
        found |= {f"{name}: score": score, f"{name}: gap": score - top}
        found[f"{name}: rank"] = np.nan if rank is None else np.log1p(rank)
        ranks[name] = np.log1p(DEEP) if rank is None else np.log1p(rank)
    asked = [ranks[name] for name in ranks if counts[label] > 0 or RANKS_UNSEEN[name] or label in said[name]]
    return found | {
        "frequency": np.log1p(max(counts[label], 0)),
        "unseen": float(counts[label] <= 0),
        "agreement": sum(label in own and own[label][0] < FIRST for own in said.values()),
        "best rank": min(ranks.values()),
        "mean rank": float(np.mean(asked or list(ranks.values()))),
        "name words": names[label],
        "prior": np.nan,  # nobody has given one
    }


def among(said: dict[str, dict[int, tuple[int, float]]], label: int, counts: Any, unseen: int) -> float:
    ranks = []
    for name, own in said.items():
        if RANKS_UNSEEN[name]:
            ordered = [other for other in sorted(own, key=lambda other: own[other][0]) if counts[other] <= 0]
            ranks.append(ordered.index(label) if label in ordered else max(len(ordered), unseen))
    return float(np.mean(np.log1p(ranks))) if counts[label] <= 0 and ranks else np.nan


def as_dict(table: CandidateTable, experts: list[str]) -> dict[Any, Any]:
    names = column_names(experts)
    assert table.columns.shape == (len(table.documents), len(names))
    assert table.columns.dtype == np.float32
    keys = list(zip(table.documents.tolist(), table.labels.tolist(), strict=True))
    assert keys == sorted(set(keys))  # by document, each label once
    return {key: dict(zip(names, row, strict=True)) for key, row in zip(keys, table.columns.tolist(), strict=True)}


def assert_equal(table: CandidateTable, expected: dict[Any, Any], experts: list[str]) -> None:
    found = as_dict(table, experts)
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        assert found[key] == pytest.approx(values, nan_ok=True, abs=1e-5), key


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    n_docs=st.integers(1, 6),
    n_labels=st.integers(1, 40),
    k=st.integers(1, 30),
    n_experts=st.integers(1, 4),
    best=st.integers(1, 12),
)
def test_as_dictionaries_have_it(seed: int, n_docs: int, n_labels: int, k: int, n_experts: int, best: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 3, n_labels) * rng.integers(0, 200, n_labels)
    counts[rng.random(n_labels) < 0.1] = ADDED  # labels that came after the fit are as those without documents
    names = rng.integers(1, 6, n_labels)
    opinions = {name: opinion(rng, n_docs, n_labels, k) for name in NAMES[:n_experts]}
    for name in [
        name for name in opinions if not RANKS_UNSEEN[name]
    ]:  # who cannot rank a label without training documents
        own = opinions[name]
        opinions[name] = Ranking.best_of(np.where(counts[own.ids] <= 0, -1, own.ids).astype(np.int32), own.scores, k)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "BEST", best)
        patch.setattr(candidates, "BEST_UNSEEN", max(1, best - 2))
        table = table_of_opinions(opinions, counts, names)
    assert table.n_documents == n_docs
    assert_equal(table, slow(opinions, counts, names, best, max(1, best - 2)), list(opinions))


def test_by_hand() -> None:
    counts, names = np.array([5, 0, 2]), np.array([1, 2, 3])
    tfidf = Ranking(np.array([[1, 0, -1]], np.int32), np.array([[0.9, 0.4, -np.inf]], np.float32))
    svm = Ranking(np.array([[0, 2]], np.int32), np.array([[0.8, 0.2]], np.float32))
    found = as_dict(table_of_opinions({"tfidf": tfidf, "svm": svm}, counts, names), ["tfidf", "svm"])
    nowhere = float(np.log1p(DEEP))
    assert list(found) == [(0, 0), (0, 1), (0, 2)]
    assert found[0, 0]["tfidf: gap"] == pytest.approx(-0.5)
    assert found[0, 0]["mean rank"] == pytest.approx(np.log(2) / 2)
    assert found[0, 1]["mean rank"] == 0  # svm cannot rank it, so it is not asked
    assert found[0, 2]["mean rank"] == pytest.approx((nowhere + np.log(2)) / 2)
    assert np.isnan(found[0, 2]["tfidf: score"])
    assert [found[0, label]["agreement"] for label in range(3)] == [2, 1, 1]
    assert {values["labels named"] for values in found.values()} == {1}


def test_unseen_labels_are_candidates_however_deep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "BEST", 5)
    monkeypatch.setattr(candidates, "BEST_UNSEEN", 2)
    ids = np.arange(100, dtype=np.int32)[None]
    counts = np.where(np.isin(ids[0], [60, 80, 90]), 0, 7)
    ranking = Ranking(ids, np.linspace(1, 0.1, 100, dtype=np.float32)[None])
    table = table_of_opinions({"tfidf": ranking}, counts, np.ones(100, np.int64))
    assert table.labels.tolist() == [0, 1, 2, 3, 4, 60, 80]


@pytest.mark.parametrize("threads", ["1", "2", "7", "40"])
def test_in_parts_as_in_one_piece(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part for each core; of 30 documents also one for each document."""
    rng = np.random.default_rng(3)
    counts, names = rng.integers(0, 4, 20), rng.integers(1, 4, 20)
    opinions = {name: opinion(rng, 30, 20, 12) for name in NAMES}
    alone = [
        table_of_opinions(
            {name: Ranking(own.ids[[i]], own.scores[[i]]) for name, own in opinions.items()},
            counts,
            names,
        )
        for i in range(30)
    ]
    monkeypatch.setenv("EVERYLABEL_THREADS", threads)
    whole = table_of_opinions(opinions, counts, names)
    for one, other in zip(CandidateTable.joined(alone), whole, strict=True):
        np.testing.assert_array_equal(one, other)


def test_labels_that_collide_in_the_table_of_a_document() -> None:
    """Places are found by a hash of the label; numbers as far apart as a large vocabulary has them collide often."""
    rng = np.random.default_rng(5)
    n_labels = 1 << 22
    counts, names = np.ones(n_labels, np.int64), np.ones(n_labels, np.int64)
    ids = (rng.choice(1 << 8, (2, 3, 60)) << 14).astype(np.int32)
    ids[:, :, ::2] = np.arange(30, dtype=np.int32) + n_labels - 30
    rankings = []
    for own in ids:
        found = Ranking.empty(3, 60)
        for row in range(3):
            distinct = np.unique(own[row])
            found.ids[row, : len(distinct)] = distinct
            found.scores[row, : len(distinct)] = np.linspace(1, 0.1, len(distinct))
        rankings.append(found)
    opinions = {"tfidf": rankings[0], "svm": rankings[1]}
    table = table_of_opinions(opinions, counts, names)
    assert_equal(table, slow(opinions, counts, names, candidates.BEST, candidates.BEST_UNSEEN), ["tfidf", "svm"])


def test_documents_of_which_nobody_says_anything() -> None:
    table = table_of_opinions(
        {"tfidf": Ranking.empty(3, 5), "svm": Ranking.empty(3, 2)}, np.zeros(4, np.int64), np.ones(4, np.int64)
    )
    assert table.n_documents == 3
    assert table.columns.shape == (0, 2 * len(EXPERT_COLUMNS) + len(SHARED_COLUMNS))
    found = table.ranking(np.empty(0, np.float32), 4)
    np.testing.assert_array_equal(found.ids, np.full((3, 4), -1))


# --- tables


def table_of(documents: list[int], labels: list[int], n_documents: int) -> CandidateTable:
    values = np.arange(len(labels), dtype=np.float32)[:, None]
    return CandidateTable(np.array(documents, np.int64), np.array(labels, np.int64), values, n_documents)


def test_rankings_are_in_order_and_equal_scores_by_label() -> None:
    table = table_of([0, 0, 0, 0, 2, 2], [3, 5, 7, 9, 4, 1], 4)
    found = table.ranking(np.array([0.5, 0.9, 0.5, 0.9, 0.1, 0.1], np.float32), 3)
    assert found.ids.tolist() == [[5, 9, 3], [-1, -1, -1], [1, 4, -1], [-1, -1, -1]]
    assert found.scores[0].tolist() == pytest.approx([0.9, 0.9, 0.5])
    assert np.isneginf(found.scores[1]).all()
    assert found.ids.dtype == np.int32
    assert found.scores.dtype == np.float32


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10_000), st.integers(1, 8))
def test_rankings_whatever_the_order_of_the_rows(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    keys = rng.permutation(60)[:40]
    table = table_of((keys // 10).tolist(), (keys % 10).tolist(), 6)
    scores = (rng.integers(0, 5, 40) / 4).astype(np.float32)
    found = table.ranking(scores, k)
    for document in range(6):
        rows = sorted(np.flatnonzero(table.documents == document), key=lambda i: (-scores[i], table.labels[i]))[:k]
        expected = [int(table.labels[i]) for i in rows]
        assert found.ids[document].tolist() == expected + [-1] * (k - len(expected))
        np.testing.assert_array_equal(found.scores[document, : len(rows)], scores[rows])


def test_joined_and_taken() -> None:
    one, other = table_of([0, 1], [3, 4], 3), table_of([0], [5], 1)
    both = CandidateTable.joined([one, other, other])
    assert both.n_documents == 5  # also a document without any candidate
    assert both.documents.tolist() == [0, 1, 3, 4]
    assert both.labels.tolist() == [3, 4, 5, 5]
    some = both.take(both.labels == 5)
    assert (some.documents.tolist(), some.n_documents) == ([3, 4], 5)
    np.testing.assert_array_equal(both.take(np.array([2, 0])).labels, [5, 3])


def test_names_have_words() -> None:
    labels = LabelSet.of([Label("a", "fish"), Label("b", "law of the sea")])
    assert lengths_of_names(labels).tolist() == [1, 4]
    assert column_names(["svm"]) == [f"svm: {name}" for name in EXPERT_COLUMNS] + list(SHARED_COLUMNS)
