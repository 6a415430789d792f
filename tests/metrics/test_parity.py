"""The metrics against a slow implementation that shares no line with them, and what must hold for any problem."""

from __future__ import annotations

from math import isnan, log, log2
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everylabel.data.dataset import pairs_from_lists
from everylabel.metrics.ranking import Scores, evaluate
from everylabel.types import Ranking

thorough = settings(deadline=None, max_examples=150)

KS = (1, 2, 3, 5)
RECALL_KS = (4, 10)
F1_K = 2


class Problem(NamedTuple):
    ranked: list[list[int]]
    true: list[list[int]]
    forbidden: list[list[int]]
    counts: list[int]
    n_train: int
    k: int

    @property
    def ranking(self) -> Ranking:
        ids = np.full((len(self.ranked), self.k), -1, np.int32)
        for i, row in enumerate(self.ranked):
            ids[i, : len(row)] = row
        return Ranking(ids, np.where(ids >= 0, 0.5, -np.inf).astype(np.float32))

    def scores(self, **changes: Any) -> Scores:
        arguments: dict[str, Any] = {
            "ranking": self.ranking,
            "truth": pairs_from_lists(self.true, len(self.counts)),
            "filter_labels": pairs_from_lists(self.forbidden, len(self.counts)),
            "unseen_ranking": self.ranking,
        }
        arguments |= changes
        ranking, truth = arguments.pop("ranking"), arguments.pop("truth")
        return evaluate(
            ranking, truth, np.array(self.counts), self.n_train, ks=KS, recall_ks=RECALL_KS, f1_k=F1_K, **arguments
        )


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    n_docs, n_labels = draw(st.integers(1, 6)), draw(st.integers(1, 8))
    labels = st.lists(st.integers(0, n_labels - 1), unique=True)
    ranked = draw(st.lists(labels, min_size=n_docs, max_size=n_docs))
    return Problem(
        ranked=ranked,
        true=draw(st.lists(labels, min_size=n_docs, max_size=n_docs)),
        forbidden=draw(st.lists(st.one_of(st.just([]), labels), min_size=n_docs, max_size=n_docs)),
        counts=draw(st.lists(st.sampled_from([0, 1, 5, 9, 10, 99, 100, 400]), min_size=n_labels, max_size=n_labels)),
        n_train=draw(st.integers(3, 1000)),
        k=max(1, *map(len, ranked)) + draw(st.integers(0, 3)),
    )


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else float("nan")


def slow(problem: Problem, skip_empty: bool) -> dict[str, float]:
    docs = []
    for ranked, true, forbidden in zip(problem.ranked, problem.true, problem.forbidden, strict=True):
        kept = set(true) - set(forbidden)
        if kept or not skip_empty:
            docs.append(([label for label in ranked if label not in forbidden], kept))
    unseen = {label for label, count in enumerate(problem.counts) if count == 0}
    values: dict[str, float] = {"MRR": mean([slow_reciprocal_rank(*doc) for doc in docs])}
    for k in KS:
        values[f"P@{k}"] = mean([len(true & set(ranked[:k])) / k for ranked, true in docs])
        values[f"nDCG@{k}"] = mean([slow_ndcg(ranked, true, k) for ranked, true in docs])
        values[f"RP@{k}"] = mean([slow_share(ranked[:k], true, min(k, len(true))) for ranked, true in docs])
        values[f"PSP@{k}"] = slow_propensity_scored(problem, docs, k, False)
        values[f"PSnDCG@{k}"] = slow_propensity_scored(problem, docs, k, True)
        alone = [([x for x in ranked if x in unseen], true & unseen) for ranked, true in docs if true & unseen]
        values[f"unseen-P@{k}"] = mean([len(true & set(ranked[:k])) / k for ranked, true in alone])
        values[f"unseen-nDCG@{k}"] = mean([slow_ndcg(ranked, true, k) for ranked, true in alone])
    for k in KS + RECALL_KS:
        values[f"R@{k}"] = mean([slow_share(ranked[:k], true, len(true)) for ranked, true in docs])
        zero_shot = [(ranked, true & unseen) for ranked, true in docs if true & unseen]
        values[f"ZSR@{k}"] = mean([slow_share(ranked[:k], true, len(true)) for ranked, true in zero_shot])
    everything = range(len(problem.counts))
    tail = [label for label in everything if 1 <= problem.counts[label] <= 9]
    tested = [label for label in tail if any(label in true for _, true in docs)]
    values[f"macro-F1@{F1_K}"] = mean([slow_f1(docs, label) for label in everything])
    values[f"tail-F1@{F1_K}"] = mean([slow_f1(docs, label) for label in tail])
    values[f"tail-F1-tested@{F1_K}"] = mean([slow_f1(docs, label) for label in tested])
    return values


def slow_share(top: list[int], true: set[int], whole: int) -> float:
    return sum(label in true for label in top) / whole if whole else 0.0


def slow_reciprocal_rank(ranked: list[int], true: set[int]) -> float:
    for rank, label in enumerate(ranked, start=1):
        if label in true:
            return 1 / rank
    return 0.0


def slow_ndcg(ranked: list[int], true: set[int], k: int) -> float:
    dcg = sum(1 / log2(rank + 1) for rank, label in enumerate(ranked[:k], start=1) if label in true)
    ideal = sum(1 / log2(rank + 1) for rank in range(1, min(k, len(true)) + 1))
    return dcg / ideal if ideal else 0.0


def slow_propensity_scored(problem: Problem, docs: list[tuple[list[int], set[int]]], k: int, discounted: bool) -> float:
    def weight(label: int) -> float:
        return float(1 + (log(problem.n_train) - 1) * 2.5**0.55 / (problem.counts[label] + 1.5) ** 0.55)

    def total(labels: list[int], true: set[int]) -> float:
        return sum(
            weight(label) / (log2(rank + 1) if discounted else 1)
            for rank, label in enumerate(labels[:k], start=1)
            if label in true
        )

    gained = sum(total(ranked, true) for ranked, true in docs)
    best = sum(total(sorted(true, key=weight, reverse=True), true) for _, true in docs)
    return gained / best if best else float("nan")


def slow_f1(docs: list[tuple[list[int], set[int]]], label: int) -> float:
    both = decided = true_docs = 0
    for ranked, true in docs:
        both += label in ranked[:F1_K] and label in true
        decided += label in ranked[:F1_K]
        true_docs += label in true
    return 2 * both / (decided + true_docs) if decided + true_docs else 0.0


@thorough
@given(problems(), st.booleans())
def test_every_value_agrees_with_the_slow_implementation(problem: Problem, skip_empty: bool) -> None:
    got = problem.scores(empty="skip" if skip_empty else "zero").values
    assert got == pytest.approx(slow(problem, skip_empty), nan_ok=True)


@thorough
@given(problems())
def test_every_band_agrees_with_the_slow_implementation(problem: Problem) -> None:
    got = problem.scores().bands
    docs = [
        ([label for label in ranked if label not in forbidden], set(true) - set(forbidden))
        for ranked, true, forbidden in zip(problem.ranked, problem.true, problem.forbidden, strict=True)
        if set(true) - set(forbidden)
    ]
    for name, fewest, most in [("head", 100, 10**9), ("middle", 10, 99), ("tail", 1, 9), ("unseen", 0, 0)]:
        band = {label for label, count in enumerate(problem.counts) if fewest <= count <= most}
        having = [(ranked, true & band) for ranked, true in docs if true & band]
        tested = set().union(*(true for _, true in having))
        expected = {
            "labels": len(band),
            "tested": len(tested),
            "pairs": sum(len(true) for _, true in having),
            "docs": len(having),
            f"F1@{F1_K}": mean([slow_f1(docs, label) for label in band]),
            f"F1-tested@{F1_K}": mean([slow_f1(docs, label) for label in tested]),
        }
        expected[f"P@{F1_K}"] = mean([len(set(ranked[:F1_K]) & true & band) / F1_K for ranked, true in docs])
        for k in (F1_K, *RECALL_KS):
            expected[f"R@{k}"] = mean([slow_share(ranked[:k], true, len(true)) for ranked, true in having])
        assert got[name] == pytest.approx(expected, nan_ok=True)


def same(a: Scores, b: Scores) -> None:
    assert a.values == pytest.approx(b.values, nan_ok=True)
    assert (a.n_docs, a.n_skipped, a.n_zero_shot_docs) == (b.n_docs, b.n_skipped, b.n_zero_shot_docs)
    for band in a.bands:
        assert a.bands[band] == pytest.approx(b.bands[band], nan_ok=True)
    np.testing.assert_allclose(np.array(a.curve), np.array(b.curve))


@thorough
@given(problems())
def test_values_are_between_0_and_1(problem: Problem) -> None:
    got = problem.scores()
    ratios = [value for key in got.bands for name, value in got.bands[key].items() if "@" in name]
    assert all(isnan(value) or -1e-9 <= value <= 1 + 1e-9 for value in [*got.values.values(), *ratios])


@thorough
@given(problems(), st.randoms(use_true_random=False))
def test_the_order_of_documents_does_not_matter(problem: Problem, random: Any) -> None:
    order = list(range(len(problem.ranked)))
    random.shuffle(order)
    shuffled = problem._replace(
        ranked=[problem.ranked[i] for i in order],
        true=[problem.true[i] for i in order],
        forbidden=[problem.forbidden[i] for i in order],
    )
    same(problem.scores(), shuffled.scores())


@thorough
@given(problems(), st.randoms(use_true_random=False))
def test_the_numbering_of_labels_does_not_matter(problem: Problem, random: Any) -> None:
    new = list(range(len(problem.counts)))
    random.shuffle(new)
    counts = [0] * len(new)
    for old, label in enumerate(new):
        counts[label] = problem.counts[old]
    renamed = problem._replace(
        ranked=[[new[label] for label in row] for row in problem.ranked],
        true=[[new[label] for label in row] for row in problem.true],
        forbidden=[[new[label] for label in row] for row in problem.forbidden],
        counts=counts,
    )
    same(problem.scores(), renamed.scores())


@thorough
@given(problems(), st.integers(1, 4))
def test_padding_changes_nothing(problem: Problem, more: int) -> None:
    padded = problem.ranking.top(problem.k + more)
    same(problem.scores(), problem.scores(ranking=padded, unseen_ranking=padded))


@thorough
@given(problems())
def test_a_perfect_ranking_has_1(problem: Problem) -> None:
    """Rarest true label first: the only order that is also perfect for PSP at every k."""
    perfect = [
        sorted(set(true) - set(forbidden), key=lambda label: problem.counts[label])
        for true, forbidden in zip(problem.true, problem.forbidden, strict=True)
    ]
    got = problem._replace(ranked=perfect, k=max(1, *map(len, perfect))).scores()
    perfect_keys = [f"{name}@{k}" for name in ("nDCG", "RP", "PSP", "PSnDCG", "unseen-nDCG") for k in KS]
    for key in [*perfect_keys, "MRR", "R@10", "ZSR@10"]:
        assert isnan(got[key]) or got[key] == pytest.approx(1)
    assert isnan(got["nDCG@1"]) == (not any(perfect))
