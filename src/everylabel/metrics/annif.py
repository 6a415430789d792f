"""The metrics of Annif (1.4, `annif eval` and `annif optimize`), as it defines them, to compare with what one has.

What is suggested are the best `limit` labels (10) with a score of at least `threshold` (0), and above 0. Unlike ours:
- All documents count: one without true labels has precision, recall and F1 0, and nDCG 1.
- P@k divides by the labels that are suggested, which may be fewer than k.
- "subj avg" is a mean over all labels of the vocabulary; one that is neither true nor suggested anywhere counts as 0.
- Labels of the documents that the vocabulary has not are no part of the truth: leave their columns out.
Annif's older LRAP is gone from 1.4, and not here. Ties are in the order of labels, where Annif leaves them to a sort.
Cost: O(documents x limit + labels of the pairs) for each cut; nothing as long as the vocabulary is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everylabel.data.dataset import binary, contains
from everylabel.errors import DataError
from everylabel.types import BoolArray, Csr, LongArray, Ranking

Doubles = NDArray[np.float64]
LIMIT, THRESHOLD = 10, 0.0  # of `annif eval`
LIMITS = range(1, 16)
THRESHOLDS = tuple(round(step * 0.05, 2) for step in range(20))  # of `annif optimize`
AVERAGES = {"doc avg": "doc", "subj avg": "subj", "weighted subj avg": "weighted", "microavg": "micro"}


class Suggested(NamedTuple):
    """What is suggested held against the truth; labels are numbered anew, those of the truth and the suggestions."""

    labels: LongArray  # (n_docs, k) numbers
    shown: BoolArray  # (n_docs, k): is suggested at all
    hit: BoolArray  # (n_docs, k)
    n_true: LongArray  # of each document
    true_of_label: LongArray
    n_labels: int  # of the vocabulary

    @classmethod
    def of(cls, ranking: Ranking, truth: Csr, limit: int = LIMIT) -> Suggested:
        """`truth`: documents x labels of the vocabulary, in which the ranking's ids are."""
        if ranking.n_docs != truth.shape[0] or (ranking.ids >= truth.shape[1]).any():
            raise DataError("the ranking is of other documents or labels than the truth; rank the same ones")
        truth = binary(truth)
        ids, scores = Ranking.best_of(ranking.ids, ranking.scores, ranking.k).top(min(limit, ranking.k))
        shown = (ids >= 0) & (scores > 0)
        known, numbers = np.unique(np.concatenate([truth.indices, ids[shown]]), return_inverse=True)
        labels = np.zeros(ids.shape, np.int64)
        labels[shown] = numbers[truth.nnz :]
        true_of_label = np.bincount(numbers[: truth.nnz], minlength=len(known))
        n_true = np.asarray(np.diff(truth.indptr), np.int64)
        return cls(labels, shown, contains(truth, ids) & shown, n_true, true_of_label, truth.shape[1])

    def cut(self, kept: BoolArray) -> Suggested:
        """Only these are suggested."""
        return self._replace(shown=self.shown & kept, hit=self.hit & kept)

    def first(self, k: int) -> Suggested:
        return self._replace(labels=self.labels[:, :k], shown=self.shown[:, :k], hit=self.hit[:, :k])


class Averages(NamedTuple):
    """Precision, recall and F1."""

    precision: float
    recall: float
    f1: float


def metrics(ranking: Ranking, truth: Csr, *, limit: int = LIMIT, threshold: float = THRESHOLD) -> dict[str, float]:
    """All of them, by the names that Annif prints."""
    found = Suggested.of(_above(ranking, threshold), truth, limit)
    values: dict[str, float] = {}
    for average in AVERAGES:
        for name, value in zip(("Precision", "Recall", "F1 score"), averages(found, average), strict=True):
            values[f"{name} ({average})"] = value
    values["F1@5"] = averages(found.first(5), "doc avg").f1
    values |= {"NDCG": ndcg(found), "NDCG@5": ndcg(found, 5), "NDCG@10": ndcg(found, 10)}
    values |= {f"Precision@{k}": averages(found.first(k), "doc avg").precision for k in (1, 3, 5)}
    n_hit = int(found.hit.sum())
    counts = {"positives": int(found.shown.sum()) - n_hit, "negatives": int(found.n_true.sum()) - n_hit}
    values |= {"True positives": n_hit} | {f"False {name}": count for name, count in counts.items()}
    return values | {"Documents evaluated": ranking.n_docs}


def averages(found: Suggested, average: str) -> Averages:
    """By document, by label, by label weighted with its true documents, or of all pairs (`AVERAGES`)."""
    if average == "doc avg":
        of_documents = (found.hit.sum(axis=1), found.shown.sum(axis=1), found.n_true)
        return Averages(*(float(value.mean()) if len(value) else 0.0 for value in _ratios(*of_documents)))
    if average == "microavg":
        of_all = (np.asarray(part.sum()) for part in (found.hit, found.shown, found.n_true))
        return Averages(*(float(value) for value in _ratios(*of_all)))
    n = len(found.true_of_label)
    hits, shown = (np.bincount(found.labels[kept], minlength=n) for kept in (found.hit, found.shown))
    by_truth = average == "weighted subj avg"
    weights = found.true_of_label if by_truth else np.ones(n, np.int64)
    total = max(int(weights.sum()) if by_truth else found.n_labels, 1)
    return Averages(*(float((value * weights).sum()) / total for value in _ratios(hits, shown, found.true_of_label)))


def ndcg(found: Suggested, k: int | None = None) -> float:
    """Of as many ranks as are suggested, or the first k; the ideal has all true labels, or the first k. 1 of a document
    without any."""
    hit = found.hit[:, :k]
    longest = max(hit.shape[1], int(found.n_true.max(initial=0)))
    gains = 1 / np.log2(np.arange(longest) + 2)
    ideal = np.concatenate([[0], np.cumsum(gains)])[np.minimum(found.n_true, longest if k is None else k)]
    gained = (hit * gains[: hit.shape[1]]).sum(axis=1)
    values = np.divide(gained, ideal, out=np.ones(len(ideal)), where=ideal > 0)
    return float(values.mean()) if len(values) else 0.0


class CutScore(NamedTuple):
    """What suggesting the best `limit` labels of at least `threshold` is worth, by each of `AVERAGES`."""

    limit: int
    threshold: float
    by_average: dict[str, Averages]


def table_of_cuts(
    ranking: Ranking, truth: Csr, limits: Sequence[int] = LIMITS, thresholds: Iterable[float] = THRESHOLDS
) -> list[CutScore]:
    """All limits with all thresholds, of one ranking that is as deep as the largest limit."""
    by_score = Ranking.best_of(ranking.ids, ranking.scores, ranking.k).top(min(max(limits), ranking.k))
    whole, rows = Suggested.of(by_score, truth, max(limits)), []
    cuts = [(threshold, whole.cut(by_score.scores >= threshold)) for threshold in thresholds]
    for limit in limits:
        for threshold, found in cuts:
            first = found.first(limit)
            rows.append(CutScore(limit, threshold, {name: averages(first, name) for name in AVERAGES}))
    return rows


def best_cuts(rows: Iterable[CutScore]) -> dict[str, CutScore]:
    """The one with the best F1 by each average; of equal ones the last, as Annif has it."""
    found: dict[str, CutScore] = {}
    for row in rows:
        for name, value in row.by_average.items():
            if name not in found or value.f1 >= found[name].by_average[name].f1:
                found[name] = row
    return found


def _above(ranking: Ranking, threshold: float) -> Ranking:
    low = ranking.scores < threshold
    ids = np.where(low, -1, ranking.ids).astype(np.int32)
    return Ranking(ids, np.where(low, -np.inf, ranking.scores).astype(np.float32))


def _ratios(hits: LongArray, shown: LongArray, true: LongArray) -> tuple[Doubles, Doubles, Doubles]:
    """Precision, recall, F1 of each; 0 where there is nothing to divide by."""
    precision, recall, f1 = (
        np.divide(top, bottom, out=np.zeros(np.shape(bottom), np.float64), where=bottom > 0)
        for top, bottom in ((hits, shown), (hits, true), (2 * hits, shown + true))
    )
    return precision, recall, f1
