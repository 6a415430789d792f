"""Annif's metrics, against an independent computation: scikit-learn's functions, as Annif calls them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.metrics import f1_score, ndcg_score, precision_score, recall_score

from everylabel.errors import DataError
from everylabel.metrics.annif import AVERAGES, LIMITS, THRESHOLDS, best_cuts, metrics, table_of_cuts
from everylabel.types import Ranking

SKLEARN = {"doc avg": "samples", "subj avg": "macro", "weighted subj avg": "weighted", "microavg": "micro"}
SCORES = {"Precision": precision_score, "Recall": recall_score, "F1 score": f1_score}


def problem(seed: int, n_docs: int = 9, n_labels: int = 12, k: int = 8) -> tuple[Ranking, Any, Any]:
    """A ranking, the same as a dense array of scores, and the truth; some documents without one or the other."""
    rng = np.random.default_rng(seed)
    dense = np.zeros((n_docs, n_labels), np.float32)
    ids, scores = np.full((n_docs, k), -1, np.int32), np.full((n_docs, k), -np.inf, np.float32)
    for row in range(n_docs):
        n = int(rng.integers(0, k + 1))
        own = rng.choice(n_labels, n, replace=False)
        values = np.sort(rng.permutation(np.arange(1, 100))[:n].astype(np.float32) / 100)[::-1]  # without ties
        ids[row, :n], scores[row, :n], dense[row, own] = own, values, values
    truth = rng.random((n_docs, n_labels)) < rng.choice([0.0, 0.2, 0.5], size=(n_docs, 1))
    return Ranking(ids, scores), dense, truth


def best(dense: Any, k: int, threshold: float = 0.0) -> Any:
    order = np.argsort(-dense, axis=1, kind="stable")
    rank = np.argsort(order, axis=1)
    return np.where((rank < k) & (dense >= threshold), dense, 0)


def ndcg_of(scores: Any, truth: Any, k: int) -> float:
    """What is not suggested gains nothing: before all such labels stand as many wrong ones as there are ranks."""
    wrong = np.full(len(scores), 1e-9)
    return float(ndcg_score([[*truth, *np.zeros(len(wrong))]], [[*scores, *wrong]], k=k, ignore_ties=True))


def expected(dense: Any, truth: Any) -> dict[str, float]:
    shown = dense > 0
    values = {
        f"{name} ({average})": score(truth, shown, average=SKLEARN[average])
        for average in AVERAGES
        for name, score in SCORES.items()
    }
    values["F1@5"] = f1_score(truth, best(dense, 5) > 0, average="samples")
    for k in (1, 3, 5):
        values[f"Precision@{k}"] = precision_score(truth, best(dense, k) > 0, average="samples")
    for name, k in (("NDCG", dense.shape[1]), ("NDCG@5", 5), ("NDCG@10", 10)):
        values[name] = np.mean([1.0 if not own.any() else ndcg_of(dense[row], own, k) for row, own in enumerate(truth)])
    hits = int((truth & shown).sum())
    values |= {"True positives": hits, "False positives": int(shown.sum()) - hits}
    return values | {"False negatives": int(truth.sum()) - hits, "Documents evaluated": len(truth)}


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.integers(1, 10), st.sampled_from([0.0, 0.25, 0.5]))
def test_they_are_scikit_learns(seed: int, limit: int, threshold: float) -> None:
    ranking, dense, truth = problem(seed)
    found = metrics(ranking, csr_matrix(truth), limit=limit, threshold=threshold)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        right = expected(best(dense, limit, threshold), truth)
    assert found.keys() == right.keys()
    for name, value in right.items():
        assert found[name] == pytest.approx(value, abs=1e-9), name


def test_by_hand() -> None:
    ranking = Ranking(np.array([[2, 0], [1, -1]], np.int32), np.array([[0.9, 0.2], [0.5, -np.inf]], np.float32))
    truth = csr_matrix(np.array([[1, 0, 0, 1], [0, 1, 0, 0]]))
    found = metrics(ranking, truth)
    assert found["Precision (doc avg)"] == pytest.approx((1 / 2 + 1) / 2)
    assert found["Recall (subj avg)"] == pytest.approx((1 + 1 + 0 + 0) / 4)
    assert found["F1 score (weighted subj avg)"] == pytest.approx((1 + 1 + 0) / 3)
    assert found["NDCG"] == pytest.approx(((1 / np.log2(3)) / (1 + 1 / np.log2(3)) + 1) / 2)
    assert found["Precision@1"] == 0.5
    assert (found["True positives"], found["False positives"], found["False negatives"]) == (2, 1, 1)


def test_every_cut_is_as_if_it_were_measured_alone() -> None:
    ranking, _, truth = problem(3, n_docs=40, n_labels=30, k=15)
    rows = table_of_cuts(ranking, csr_matrix(truth))
    assert [(row.limit, row.threshold) for row in rows] == [(k, x) for k in LIMITS for x in THRESHOLDS]
    assert (THRESHOLDS[0], THRESHOLDS[-1], len(rows)) == (0, 0.95, 300)
    for row in rows[::7]:
        alone = metrics(ranking, csr_matrix(truth), limit=row.limit, threshold=row.threshold)
        for average, found in row.by_average.items():
            assert found.precision == pytest.approx(alone[f"Precision ({average})"])
            assert found.recall == pytest.approx(alone[f"Recall ({average})"])
            assert found.f1 == pytest.approx(alone[f"F1 score ({average})"])
    found_best = best_cuts(rows)
    assert set(found_best) == set(AVERAGES)
    for average, row in found_best.items():
        scores = [one.by_average[average].f1 for one in rows]
        assert row.by_average[average].f1 == max(scores)
        assert row == [one for one, score in zip(rows, scores, strict=True) if score == max(scores)][-1]


def test_no_documents_and_other_documents() -> None:
    empty = metrics(Ranking.empty(0, 5), csr_matrix((0, 4)))
    assert empty["Documents evaluated"] == 0
    assert empty["F1 score (doc avg)"] == 0
    with pytest.raises(DataError, match="other documents"):
        metrics(Ranking.empty(2, 5), csr_matrix((3, 4)))
