"""Label texts searched by their tokens, against all vectors multiplied out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everylabel.encoders.base import Tokens
from everylabel.encoders.table import TokenTable
from everylabel.index.tokens import Layer, TokenIndex
from everylabel.types import Ranking
from everylabel.vectors import unit_rows

N_TOKENS = 30


def table_of(seed: int, n_signs: int, *, trained: bool) -> TokenTable:
    rng = np.random.default_rng(seed)
    table = TokenTable.of(rng.normal(size=(N_TOKENS, 6)).astype(np.float32), n_signs)
    table = table.scaled(rng.uniform(0.5, 2, N_TOKENS).astype(np.float32))
    if not trained:
        return table
    tokens = rng.permutation(N_TOKENS)[:7].astype(np.int32)
    return table.with_rows(tokens, rng.normal(size=(7, table.dim)).astype(np.float32))


def layer_of(seed: int, dim: int) -> Layer:
    rng = np.random.default_rng(seed)
    return Layer(rng.normal(size=(dim, dim)).astype(np.float32), rng.normal(size=dim).astype(np.float32))


def slow(table: TokenTable, rows: list[list[int]], layer: Layer | None) -> Any:
    """The vectors as they are defined, in 64 bits."""
    whole, vectors = table.whole().astype(np.float64), np.zeros((len(rows), table.dim))
    for at, row in enumerate(rows):
        for token in set(row):
            vectors[at] += (1 + np.log(row.count(token))) * whole[token]
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    if layer is not None:
        vectors = vectors @ layer.weight.T.astype(np.float64) + layer.bias
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def same(one: Ranking, other: Ranking) -> bool:
    return np.array_equal(one.ids, other.ids) and np.array_equal(one.scores, other.scores)


texts_of_labels = st.lists(
    st.lists(st.lists(st.integers(0, N_TOKENS - 1), max_size=6), min_size=1, max_size=5), min_size=1, max_size=12
)


@settings(deadline=None, max_examples=60)  # the first call compiles
@given(
    labels=texts_of_labels,
    later=st.lists(texts_of_labels, max_size=2),
    n_queries=st.integers(0, 19),
    k=st.integers(1, 40),
    n_signs=st.sampled_from([0, 5, 32, 70]),
    seed=st.integers(0, 99),
    layered=st.booleans(),
    trained=st.booleans(),
)
def test_cosines_of_the_best_texts(
    labels: Any, later: Any, n_queries: int, k: int, n_signs: int, seed: int, layered: bool, trained: bool
) -> None:
    table = table_of(seed, n_signs, trained=trained)
    layer = layer_of(seed, table.dim) if layered else None
    index, first = TokenIndex(table, np.empty(0, np.int32), (), layer), 0
    for some in [labels, *later]:
        owners = first + np.repeat(np.arange(len(some), dtype=np.int32), [len(own) for own in some])
        index, first = index.with_texts(Tokens.of([row for own in some for row in own]), owners), first + len(some)
    every = [own for some in [labels, *later] for own in some]
    index.check(len(every))
    assert len(index) == sum(map(len, every))
    vectors = slow(table, [row for own in every for row in own], layer)
    queries = unit_rows(np.random.default_rng(seed + 1).normal(size=(n_queries, table.dim)))
    begins = np.concatenate([[0], np.cumsum([len(own) for own in every])[:-1]])
    best = np.maximum.reduceat(queries @ vectors.T, begins, axis=1)
    found = index.search(queries, k)
    for row, (ids, scores) in enumerate(zip(*found, strict=True)):
        n = min(k, len(every))
        assert (ids[n:] == -1).all()
        np.testing.assert_allclose(scores[:n], best[row, ids[:n]], atol=2e-5)
        np.testing.assert_allclose(scores[:n], -np.sort(-best[row])[:n], atol=2e-5)
        np.testing.assert_array_equal(np.lexsort((ids[:n], -scores[:n])), np.arange(n))
        assert len(set(ids[:n].tolist())) == n
        assert same(index.search(queries[row : row + 1], k), Ranking(ids[None], scores[None]))
    restored = TokenIndex.restored("index", index.state("index"), table, layer)
    assert same(restored.search(queries, k), found)


def test_equal_texts_stand_by_id_however_their_words_are_ordered() -> None:
    table = table_of(0, 32, trained=False)
    texts = Tokens.of([[3, 9, 4, 9], [1], [9, 4, 3, 9], [4, 9, 9, 3]])
    index = TokenIndex.of(table, texts, np.arange(4, dtype=np.int32))
    queries = unit_rows(np.random.default_rng(0).normal(size=(50, table.dim)))
    for asked in (queries, queries[:1]):
        ids, scores = index.search(asked, 4)
        alike = np.isin(ids, [0, 2, 3])
        assert (ids[alike].reshape(-1, 3) == [0, 2, 3]).all()
        assert (np.ptp(scores[alike].reshape(-1, 3), axis=1) == 0).all()
    index = index.with_texts(Tokens.of([[9, 9, 3, 4]]), np.array([4], np.int32))
    ids, scores = index.search(queries[:1], 5)
    assert len(set(scores[np.isin(ids, [0, 4])].tolist())) == 1


def test_parts_that_do_not_fit_together() -> None:
    table = table_of(0, 32, trained=False)
    index = TokenIndex.of(table, Tokens.of([[3, 9], [1], [4]]), np.arange(3, dtype=np.int32))
    index.check(3)
    part, state = index.parts[0], index.state("index")
    heavy = part.texts.copy()
    heavy.data[0] = np.inf
    wrong: list[dict[str, Any]] = [
        {"tokens": np.array([3, 9, 1, N_TOKENS], np.int32)},
        {"tokens": np.array([3, 9, 1, 1], np.int32)},
        {"tokens": state["index/tokens"][:3]},
        {"0/labels": part.labels + 1},
        {"0/labels": part.labels * 0},
        {"0/begins": part.begins + 1},
        {"0/begins": part.begins[::-1].copy()},
        {"0/begins": part.begins.astype(np.int32)},
        {"0/texts": heavy},
    ]
    for changed in wrong:
        own = state | {f"index/{name}": value for name, value in changed.items()}
        with pytest.raises(ValueError, match=r"texts|tokens"):
            TokenIndex.restored("index", own, table).check(3)


def test_a_table_kept_in_another_way_has_the_same_vectors() -> None:
    """Products may be off in the last digit: a model keeps its table in one way (encoders/static.py)."""
    table = table_of(0, 64, trained=True)
    whole = TokenTable.of(table.whole())
    texts, owners = Tokens.of([[3, 9], [1, 2], [4, 5, 6]]), np.arange(3, dtype=np.int32)
    queries = unit_rows(np.random.default_rng(0).normal(size=(20, table.dim)))
    one, other = (TokenIndex.of(own, texts, owners).search(queries, 3) for own in (table, whole))
    np.testing.assert_array_equal(one.ids, other.ids)
    np.testing.assert_allclose(one.scores, other.scores, atol=1e-6)


def listed(n_texts: int, seed: int, layer: Layer | None = None) -> TokenIndex:
    """Of texts of one to four tokens, the first ones far more frequent than the last; two texts a label."""
    rng = np.random.default_rng(seed)
    rows = [np.minimum(rng.zipf(1.3, rng.integers(1, 5)) - 1, N_TOKENS - 1).tolist() for _ in range(n_texts)]
    return TokenIndex.of(
        table_of(seed, 64, trained=False), Tokens.of(rows), np.arange(n_texts, dtype=np.int32) // 2, layer
    )


@pytest.mark.parametrize("layered", [False, True])
def test_lists_of_texts_lead_to_the_best_ones(monkeypatch: pytest.MonkeyPatch, layered: bool) -> None:
    """Their scores are those of a pass over all; nearly all of the best are found, by a walk over a tenth."""
    layer = layer_of(1, 70) if layered else None
    monkeypatch.setattr("everylabel.index.tokens.LISTS_FROM", 1)
    monkeypatch.setattr("everylabel.index.tokens.STEPS", 600)
    monkeypatch.setattr("everylabel.index.token_lists.LEAST_WHOLE", 200)
    index = listed(6000, 1, layer)
    whole = TokenIndex(index.table, index.tokens, index.parts, layer)
    index.check(3000)
    queries = unit_rows(np.random.default_rng(2).normal(size=(40, index.dim)))
    queries[:20] = unit_rows(slow(index.table, [[7, 8, 9]] * 20, None) + 0.2 * queries[:20])
    found, every = index.search(queries, 20), whole.search(queries, 3000)
    assert len(found.ids[0]) == 20
    for row, (ids, scores) in enumerate(zip(*found, strict=True)):
        there = ids >= 0
        exact = dict(zip(every.ids[row].tolist(), every.scores[row].tolist(), strict=True))
        assert [exact[label] for label in ids[there].tolist()] == scores[there].tolist()
        np.testing.assert_array_equal(np.lexsort((ids[there], -scores[there])), np.arange(there.sum()))
        assert same(index.search(queries[row : row + 1], 20), Ranking(ids[None], scores[None]))
    met = [len(np.intersect1d(one[:5], other[:5])) / 5 for one, other in zip(found.ids, every.ids, strict=True)]
    assert np.mean(met) > (0.6 if layered else 0.9)
    restored = TokenIndex.restored("index", index.state("index"), index.table, layer)
    assert same(restored.search(queries, 20), found)
    assert same(index.search(queries, 100), whole.search(queries, 100)), "for so many labels all texts are looked at"


def test_labels_that_come_later_stand_beside_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everylabel.index.tokens.LISTS_FROM", 1)
    index = listed(2000, 3)
    wider = index.with_texts(Tokens.of([[29, 28, 27]]), np.array([1000], np.int32))
    wider.check(1001)
    query = unit_rows(slow(index.table, [[29, 28, 27]], None))
    assert wider.search(query, 3).ids[0, 0] == 1000
    assert wider.lists is index.lists is not None


def test_lists_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everylabel.index.tokens.LISTS_FROM", 1)
    index = listed(200, 4)
    state, lists = index.state("index"), index.lists
    assert lists is not None
    wrong: list[dict[str, Any]] = [
        {"begins": lists.begins[:-1]},
        {"begins": lists.begins + 1},
        {"begins": np.append(lists.begins, lists.begins[-1])},
        {"texts": np.full_like(lists.texts, 200)},
        {"texts": lists.texts - 1},
        {"texts": lists.texts.astype(np.int64)},
        {"weights": lists.weights[:-1]},
        {"weights": -lists.weights},
        {"weights": lists.weights.astype(np.float64)},
    ]
    for changed in wrong:
        own = state | {f"index/lists/{name}": value for name, value in changed.items()}
        with pytest.raises(ValueError, match="lists"):
            TokenIndex.restored("index", own, index.table).check(100)
