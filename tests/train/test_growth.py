"""A batch costs what is in it: not more where there are a hundred times as many documents or labels.

Measured by the memory that numpy asks for, which is the same on every machine: what touches all rows makes arrays as
long as they are.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from everylabel.encoders.base import Tokens
from everylabel.methods.depl.dual_learning import LabelSets, Texts
from everylabel.methods.depl.dual_learning import Pairs as DualPairs
from everylabel.methods.onesided.learning import Batches, Pairs
from everylabel.train.batches import FEW, Corpus, dense_part, epoch_rows, joined_by_others, some_of
from everylabel.types import Csr

FEWER, MORE = 20_000, 2_000_000


def most_memory(work: Callable[[int], Any]) -> int:
    """Bytes at the same time, of the second batch: the first one may prepare an epoch."""
    work(0)
    tracemalloc.start()
    try:
        work(1)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def grows(make: Callable[[int], Callable[[int], Any]]) -> float:
    return most_memory(make(MORE)) / most_memory(make(FEWER))


def tokens_of(n: int) -> Tokens:
    return Tokens(np.zeros(2 * n, np.int32), np.arange(0, 2 * n + 1, 2))


def truth_of(n_rows: int, n_labels: int) -> Csr:
    columns = np.random.default_rng(0).integers(0, n_labels, 3 * n_rows)
    return csr_matrix((np.ones(3 * n_rows, np.float32), columns, np.arange(0, 3 * n_rows + 1, 3)), (n_rows, n_labels))


def test_the_measure_sees_what_touches_all_rows() -> None:
    assert grows(lambda n: lambda _number: np.random.default_rng(0).permutation(n)[:64]) > 50
    pairs = {n: truth_of(100, n) for n in (FEWER, MORE)}
    assert grows(lambda n: lambda _number: pairs[n][:4][:, np.arange(50)]) > 50


def test_rows_of_a_batch() -> None:
    assert grows(lambda n: lambda number: epoch_rows(n, 64, number, seed=1)) < 1.5


def test_taking_texts() -> None:
    tokens = {n: tokens_of(n) for n in (FEWER, MORE)}
    nothing = tokens_of(0)
    corpora = {
        n: Corpus(found, np.zeros(n, np.int64), np.zeros(n, np.bool_), nothing, np.full(n, -1, np.int32))
        for n, found in tokens.items()
    }
    rows, rng = np.arange(64), np.random.default_rng(0)
    assert grows(lambda n: lambda _number: tokens[n].take(rows)) < 1.5
    assert grows(lambda n: lambda _number: corpora[n].pairs(rows, rng)) < 1.5
    assert grows(lambda n: lambda _number: corpora[n].segments(rows, (3, 5), rng)) < 1.5


def test_some_labels_of_many() -> None:
    assert most_memory(lambda _number: some_of(MORE, 64, np.random.default_rng(0))) < 10_000
    found = some_of(MORE, 5_000, np.random.default_rng(0))
    assert len(set(found.tolist())) == 5_000
    few = np.random.default_rng(3).permutation(FEW)[:50]
    assert (some_of(FEW, 50, np.random.default_rng(3)) == few).all()


@pytest.mark.parametrize("auxiliary", [0.0, 1.0])
def test_a_batch_of_one_sided_learning(auxiliary: float) -> None:
    learn = SimpleNamespace(batch_size=32, accumulate=1)
    settings: dict[str, Any] = {"unseen_negatives": True, "unseen_auxiliary": True, "label_side": "frozen"}
    settings |= {"evaluations": 0, "most_labels": 300, "hard_negatives": 8, "shortlist": 50, "random_state": 1}
    method: Any = SimpleNamespace(learn=learn, auxiliary=auxiliary, **settings)
    documents = tokens_of(400)

    def make(n: int) -> Callable[[int], Any]:
        batches = Batches(Pairs(documents, tokens_of(n), truth_of(400, n), n), method, steps=10)
        return lambda number: batches(number, np.random.default_rng(number))

    assert grows(make) < 1.5


def test_a_batch_of_retrieval() -> None:
    documents = tokens_of(400)

    def make(n: int) -> Callable[[int], Any]:
        hard = np.full((400, 2), n - 1, np.int32)
        texts = Texts(tokens_of(n), tokens_of(n), 0.5)
        sets = LabelSets(DualPairs(documents, truth_of(400, n), n, hard), texts, n, batch_size=32, size=300, seed=1)
        return lambda number: sets(number, np.random.default_rng(number))

    assert grows(make) < 1.5


@given(
    own=st.lists(st.integers(0, 30), max_size=20),
    n=st.integers(1, 25),
    size=st.integers(0, 40),
    seed=st.integers(0, 1000),
)
def test_others_are_drawn_as_from_the_list_of_all_others(own: list[int], n: int, size: int, seed: int) -> None:
    """The slow way, whose draws rankings were measured with."""
    inside = np.zeros(31, bool)
    inside[own] = True
    others = np.flatnonzero(~inside[:n])
    missing = min(max(0, size - int(inside.sum())), len(others))
    if len(others):
        inside[np.random.default_rng(seed).choice(others, missing, replace=False)] = True
    rng = np.random.default_rng(seed)
    found = joined_by_others(np.array(own, np.int64), n, size, rng)
    assert found.tolist() == np.flatnonzero(inside).tolist()
    assert found.dtype == np.int32


def test_the_same_among_many() -> None:
    """numpy draws in another way from more than 10,000."""
    own = np.array([5, 3, 40_000, 3])
    for size in (50, 5_000):
        inside = np.zeros(60_000, bool)
        inside[own] = True
        others = np.flatnonzero(~inside)
        inside[np.random.default_rng(2).choice(others, size - 3, replace=False)] = True
        found = joined_by_others(own, 60_000, size, np.random.default_rng(2))
        assert found.tolist() == np.flatnonzero(inside).tolist()


def test_a_dense_part_is_scipys() -> None:
    pairs, rows = truth_of(50, 40), np.array([7, 3, 3, 20])
    columns = np.unique(np.concatenate([pairs[rows].indices, [0, 39]])).astype(np.int32)
    pairs.sum_duplicates()
    assert (dense_part(pairs, rows, columns) == pairs[rows][:, columns].toarray()).all()
