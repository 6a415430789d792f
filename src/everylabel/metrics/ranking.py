"""Every metric of a ranking, from one matrix of hits.

`find_hits` compares a ranking with the truth once. Each metric is then a `Ratio`: what every document gained, and what
it could have gained; the metric is the sum of the one over the sum of the other. For a mean over documents the second
is 1 (or 0 for a document that does not count); for PSP and PSnDCG it is the best possible value, as the field's tables
have it. A bootstrap over documents needs nothing else.

Deviations between published tools, and what is done here:
- nDCG's ideal is cut at min(k, number of true labels).
- PSnDCG is weighted DCG over the best possible weighted DCG, both summed over documents, as in the XMC repository's
  Matlab scripts (their constant divisor cancels). pyxclib first divides each document by its own unweighted ideal.
- Filter pairs are taken out of the ranking before the cut, and out of the truth: what may not be found is not missed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from everylabel.data.bands import BANDS, in_band
from everylabel.data.dataset import binary, contains
from everylabel.errors import ConfigError, DataError
from everylabel.metrics.propensity import PROPENSITY as PROPENSITY
from everylabel.metrics.propensity import Propensity
from everylabel.metrics.propensity import inverse_propensity as inverse_propensity
from everylabel.metrics.scores import CurvePoint as CurvePoint
from everylabel.metrics.scores import Scores as Scores
from everylabel.types import Csr, IntArray, LongArray, Ranking

BoolArray: TypeAlias = NDArray[np.bool_]
DoubleArray: TypeAlias = NDArray[np.float64]
Empty: TypeAlias = Literal["skip", "zero"]


class Ratio(NamedTuple):
    """A metric by document. `possible` depends on the truth alone: two systems on the same data share it."""

    gained: DoubleArray
    possible: DoubleArray

    @property
    def value(self) -> float:
        """Sum over sum; nan when there is nothing to gain, because 0 would read as a failure."""
        possible = float(self.possible.sum())
        return float(self.gained.sum()) / possible if possible > 0 else float("nan")


@dataclass(frozen=True)
class Hits:
    """A ranking held against the truth."""

    ids: IntArray  # (n_docs, ranks), -1 where there is no label
    hit: BoolArray  # (n_docs, ranks)
    truth: Csr
    counted: BoolArray  # (n_docs,), False for a document that is skipped

    @cached_property
    def n_true(self) -> LongArray:
        return np.asarray(np.diff(self.truth.indptr), np.int64)

    @cached_property
    def true_rows(self) -> LongArray:
        """The document of each true pair, in the order of `truth.indices`."""
        return np.repeat(np.arange(len(self.n_true), dtype=np.int64), self.n_true)


def find_hits(
    ranking: Ranking,
    truth: Csr,
    *,
    labels: BoolArray | None = None,
    filter_labels: Csr | None = None,
    empty: Empty = "skip",
) -> Hits:
    """Where the ranking is right. O(n k log nnz).

    `labels` judges these labels alone: all others leave the ranking and the truth. That is the unseen-only setting when
    given `counts == 0`. It is exact for a ranking of just these labels, or one deep enough that k of them remain; from
    a shallower one the ranks that are missing count as misses, and the metrics are lower bounds.

    `filter_labels` (csr like the truth) are pairs that are neither ranked nor asked for. A document without a true
    label is skipped, or counts as 0 with `empty="zero"`.
    """
    if empty not in ("skip", "zero"):
        raise ConfigError(f"empty must be 'skip' or 'zero'; got {empty!r}")
    truth = binary(truth)
    _check(ranking, truth)
    if filter_labels is not None:
        ranking, truth = _without_pairs(ranking, truth, filter_labels)
    if labels is not None:
        ranking = restrict(ranking, labels)
        truth = binary(truth.multiply(np.asarray(labels, np.float32)[None, :]))
    counted = np.diff(truth.indptr) > 0
    if empty == "zero":
        counted = np.ones_like(counted)
    return Hits(ids=ranking.ids, hit=contains(truth, ranking.ids), truth=truth, counted=counted)


def restrict(ranking: Ranking, labels: BoolArray, k: int | None = None) -> Ranking:
    """The ranking of the labels in the mask alone: the others go, what remains moves up, the first k stay.

    The same as ranking only these labels as long as the ranking was deep enough; see `find_hits`.
    """
    keep = np.asarray(labels, np.bool_)[ranking.ids] & (ranking.ids >= 0)
    return _close_up(ranking, keep).top(ranking.k if k is None else k)


def _close_up(ranking: Ranking, keep: BoolArray) -> Ranking:
    order = np.argsort(~keep, axis=1, kind="stable")
    ids = np.where(keep, ranking.ids, -1)
    scores = np.where(keep, ranking.scores, -np.inf)
    return Ranking(
        np.take_along_axis(ids, order, axis=1).astype(np.int32),
        np.take_along_axis(scores, order, axis=1).astype(np.float32),
    )


def _without_pairs(ranking: Ranking, truth: Csr, pairs: Csr) -> tuple[Ranking, Csr]:
    if pairs.shape != truth.shape:
        raise DataError(f"filter_labels must have the shape of the truth, {truth.shape}; got {pairs.shape}")
    pairs = binary(pairs)
    keep = (ranking.ids >= 0) & ~contains(pairs, ranking.ids)
    return _close_up(ranking, keep), binary(truth - truth.multiply(pairs))


def _check(ranking: Ranking, truth: Csr) -> None:
    n_docs, n_labels = truth.shape
    if ranking.n_docs != n_docs:
        raise DataError(f"the ranking has {ranking.n_docs} documents and the truth {n_docs}; rank the same documents")
    ids = ranking.ids
    if ids.size == 0:
        return
    if ids.min() < -1 or ids.max() >= n_labels:
        row = int(np.argmax(((ids < -1) | (ids >= n_labels)).any(axis=1)))
        raise DataError(f"row {row} of the ranking has an id outside -1..{n_labels - 1}; rank the truth's vocabulary")
    ordered = np.sort(ids, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    if twice.any():
        row = int(np.argmax(twice.any(axis=1)))
        label = int(ordered[row, 1:][twice[row]][0])
        raise DataError(f"row {row} of the ranking has label {label} twice; expected once: remove one of them")


def _share(part: NDArray[Any], whole: NDArray[Any]) -> DoubleArray:
    """part / whole, and 0 for 0 / 0."""
    return np.asarray(np.divide(part, whole, out=np.zeros(whole.shape, np.float64), where=whole > 0))


def _discount(k: int) -> DoubleArray:
    return np.asarray(1 / np.log2(np.arange(2, k + 2)), np.float64)


def _ascending(ks: Iterable[int]) -> list[int]:
    ks = sorted(set(ks))
    if ks and ks[0] < 1:
        raise ConfigError(f"each k must be at least 1; got {ks[0]}")
    return ks


def _mean(hits: Hits, values: DoubleArray) -> Ratio:
    return Ratio(values * hits.counted, hits.counted.astype(np.float64))


def precision(hits: Hits, k: int) -> Ratio:
    """P@k: always divided by k, however few labels are true or predicted."""
    return _mean(hits, hits.hit[:, :k].sum(axis=1) / k)


def recall(hits: Hits, k: int, labels: BoolArray | None = None) -> Ratio:
    """R@k; with a mask, of these labels, over the documents that have one of them (ZSR@k for the unseen labels)."""
    if labels is None:
        return _mean(hits, _share(hits.hit[:, :k].sum(axis=1), hits.n_true))
    n_true = np.bincount(hits.true_rows[labels[hits.truth.indices]], minlength=len(hits.counted))
    found = (hits.hit[:, :k] & labels[hits.ids[:, :k]]).sum(axis=1)
    return Ratio(_share(found, n_true), (n_true > 0).astype(np.float64))


def ndcg(hits: Hits, k: int) -> Ratio:
    """nDCG@k with the ideal of min(k, number of true labels) hits."""
    hit = hits.hit[:, :k]
    ideal = np.concatenate([[0.0], np.cumsum(_discount(k))])
    return _mean(hits, _share(hit @ _discount(hit.shape[1]), ideal[np.minimum(hits.n_true, k)]))


def r_precision(hits: Hits, k: int) -> Ratio:
    """RP@k: hits in the top k over min(k, number of true labels), so that a perfect ranking has 1."""
    return _mean(hits, _share(hits.hit[:, :k].sum(axis=1), np.minimum(hits.n_true, k)))


def reciprocal_rank(hits: Hits) -> Ratio:
    """MRR: 1 / rank of the first hit in the whole ranking, 0 without one."""
    if hits.hit.shape[1] == 0:
        return _mean(hits, np.zeros(len(hits.counted)))
    return _mean(hits, hits.hit.any(axis=1) / (hits.hit.argmax(axis=1) + 1))


class Weighted(NamedTuple):
    """The weights of the hits at each rank, and those of the best possible ranking; both (n_docs, k)."""

    gained: DoubleArray
    best: DoubleArray


def weigh(hits: Hits, weights: DoubleArray, k: int) -> Weighted:
    """What PSP and PSnDCG are made of: inverse propensities by rank, down to rank k."""
    width = min(k, hits.hit.shape[1])
    gained = np.zeros((len(hits.counted), k))
    gained[:, :width] = np.where(hits.hit[:, :width], weights[hits.ids[:, :width]], 0.0)
    rows, weight = hits.true_rows, weights[hits.truth.indices]
    order = np.lexsort((-weight, rows))  # sorts within documents: the rows are in order already
    rank = np.arange(len(rows)) - hits.truth.indptr[rows]
    top = rank < k
    best = np.zeros_like(gained)
    best[rows[top], rank[top]] = weight[order][top]
    return Weighted(gained, best)


def psp(weighted: Weighted, k: int) -> Ratio:
    """PSP@k: the 1 / k of both sums cancels."""
    return Ratio(weighted.gained[:, :k].sum(axis=1), weighted.best[:, :k].sum(axis=1))


def psndcg(weighted: Weighted, k: int) -> Ratio:
    return Ratio(weighted.gained[:, :k] @ _discount(k), weighted.best[:, :k] @ _discount(k))


class LabelCounts(NamedTuple):
    """By label, with the top k as decisions: how often it is right, decided, and true."""

    right: LongArray
    decided: LongArray
    true: LongArray

    @property
    def f1(self) -> DoubleArray:
        """0 for a label that is neither decided nor true."""
        return _share(2 * self.right, self.decided + self.true)


def label_counts(hits: Hits, k: int = 5) -> LabelCounts:
    """Documents that are skipped decide nothing."""
    ids, hit = hits.ids[hits.counted, :k], hits.hit[hits.counted, :k]
    n_labels = hits.truth.shape[1]
    return LabelCounts(
        right=np.bincount(ids[hit], minlength=n_labels),
        decided=np.bincount(ids[ids >= 0], minlength=n_labels),
        true=np.bincount(hits.truth.indices, minlength=n_labels),
    )


def _mean_or_nan(values: DoubleArray) -> float:
    return float(values.mean()) if len(values) else float("nan")


def by_band(
    hits: Hits, train_counts: NDArray[np.integer], *, k: int = 5, recall_ks: Sequence[int] = (5, 10, 100)
) -> dict[str, dict[str, float]]:
    """Each band and "all": numbers of labels (also those with a test document), of pairs, of documents; F1 and recall.

    Macro-F1 is over all labels of the band, "F1-tested" over those that a test document has. Recall is the mean over
    the documents with a label of the band, so that the unseen band's is ZSR. Precision is the part of P@k that comes
    from the band's labels: the parts add up to P@k.
    """
    counts = label_counts(hits, k)
    f1, tested = counts.f1, counts.true > 0
    masks = {name: in_band(train_counts, name) for name in BANDS} | {"all": np.ones(len(f1), np.bool_)}
    bands = {}
    for name, mask in masks.items():
        recalls = {at: recall(hits, at, None if name == "all" else mask) for at in _ascending([k, *recall_ks])}
        bands[name] = {
            "labels": int(mask.sum()),
            "tested": int((mask & tested).sum()),
            "pairs": int(counts.true[mask].sum()),
            "docs": int(recalls[k].possible.sum()),
            f"F1@{k}": _mean_or_nan(f1[mask]),
            f"F1-tested@{k}": _mean_or_nan(f1[mask & tested]),
            f"P@{k}": _mean(hits, (hits.hit[:, :k] & mask[hits.ids[:, :k]]).sum(axis=1) / k).value,
            **{f"R@{at}": ratio.value for at, ratio in recalls.items()},
        }
    return bands


def frequency_curve(f1: DoubleArray, train_counts: NDArray[np.integer], n_bins: int = 20) -> list[CurvePoint]:
    """Macro-F1 over the labels, most frequent first, in bins of as many labels each."""
    # labels of equal frequency share their mean: which of them falls into a bin is no property of the system
    _, group = np.unique(train_counts, return_inverse=True)
    shared = _share(np.bincount(group, weights=f1), np.bincount(group))[group]
    bins = np.array_split(np.argsort(-np.asarray(train_counts, np.int64), kind="stable"), min(n_bins, len(f1)) or 1)
    return [CurvePoint(len(b), float(train_counts[b].mean()), float(shared[b].mean())) for b in bins if len(b)]


def by_document(
    hits: Hits,
    train_counts: NDArray[np.integer],
    n_train: int,
    *,
    ks: Sequence[int] = (1, 3, 5),
    recall_ks: Sequence[int] = (10, 100),
    propensity: Propensity = "default",
) -> dict[str, Ratio]:
    """Every metric that is made of documents, by its name, for `evaluate` and for the paired bootstrap."""
    ks, recall_ks = _ascending(ks), _ascending([*ks, *recall_ks])
    weighted = weigh(hits, inverse_propensity(train_counts, n_train, propensity), max(ks, default=1))
    unseen = in_band(train_counts, "unseen")
    return {
        **{f"P@{k}": precision(hits, k) for k in ks},
        **{f"nDCG@{k}": ndcg(hits, k) for k in ks},
        **{f"PSP@{k}": psp(weighted, k) for k in ks},
        **{f"PSnDCG@{k}": psndcg(weighted, k) for k in ks},
        **{f"RP@{k}": r_precision(hits, k) for k in ks},
        **{f"R@{k}": recall(hits, k) for k in recall_ks},
        **{f"ZSR@{k}": recall(hits, k, unseen) for k in recall_ks},
        "MRR": reciprocal_rank(hits),
    }


def evaluate(
    ranking: Ranking,
    truth: Csr,
    train_counts: NDArray[np.integer],
    n_train: int,
    *,
    ks: Sequence[int] = (1, 3, 5),
    recall_ks: Sequence[int] = (10, 100),
    f1_k: int = 5,
    propensity: Propensity = "default",
    filter_labels: Csr | None = None,
    unseen_ranking: Ranking | None = None,
    empty: Empty = "skip",
) -> Scores:
    """All metrics. `train_counts` is the number of training documents of each label, `n_train` of all.

    A ranking with fewer ranks than k counts as padded. `unseen_ranking` (of the unseen labels alone, or a ranking of
    all labels that goes deep enough) adds unseen-P@k and unseen-nDCG@k; see `find_hits`.
    """
    train_counts = np.asarray(train_counts)
    if train_counts.shape != (truth.shape[1],):
        raise DataError(f"train_counts must have one count a label, {truth.shape[1]}; got shape {train_counts.shape}")
    hits = find_hits(ranking, truth, filter_labels=filter_labels, empty=empty)
    ratios = by_document(hits, train_counts, n_train, ks=ks, recall_ks=recall_ks, propensity=propensity)
    unseen = in_band(train_counts, "unseen")
    if unseen_ranking is not None:
        alone = find_hits(unseen_ranking, truth, labels=unseen, filter_labels=filter_labels)
        ratios |= {f"unseen-P@{k}": precision(alone, k) for k in _ascending(ks)}
        ratios |= {f"unseen-nDCG@{k}": ndcg(alone, k) for k in _ascending(ks)}
    bands = by_band(hits, train_counts, k=f1_k, recall_ks=recall_ks)
    values = {name: ratio.value for name, ratio in ratios.items()}
    values[f"macro-F1@{f1_k}"] = bands["all"][f"F1@{f1_k}"]
    values[f"tail-F1@{f1_k}"] = bands["tail"][f"F1@{f1_k}"]
    values[f"tail-F1-tested@{f1_k}"] = bands["tail"][f"F1-tested@{f1_k}"]
    return Scores(
        values=values,
        n_docs=int(hits.counted.sum()),
        n_skipped=int((~hits.counted).sum()),
        n_zero_shot_docs=int(bands["unseen"]["docs"]),
        bands=bands,
        curve=frequency_curve(label_counts(hits, f1_k).f1, train_counts),
    )
