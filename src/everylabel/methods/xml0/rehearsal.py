"""What XML0 learns beside its base: by documents of labels that nobody has learned, how much fusion counts, from what
probability on a seen label takes part, and what a mixed score is worth."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from everylabel.data.dataset import Dataset, contains
from everylabel.data.splits import hold_out_labels, sample_by_id
from everylabel.methods.base import Method
from everylabel.methods.calibrate import CALIBRATION_DEPTH, Calibration
from everylabel.methods.vocabulary import rank_visible
from everylabel.methods.xml0.subsets import Doubles, SearchKind
from everylabel.methods.xml0.zero_shot import Candidates, Predicted, Scores, best_weight, gain_of, squashed
from everylabel.text.views import Views
from everylabel.types import Csr, LongArray, Ranking

MOST_HELD, MOST_HIDDEN = 4_000, 1_000  # documents and labels of a rehearsal
THRESHOLDS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5)  # that are tried
NO_REHEARSAL = Calibration(np.array([0.0, 1.0]), np.array([0.0, 0.5]))  # too few data: half of the score


class Chosen(NamedTuple):
    threshold: float = 0.1
    weight: float = 0.5
    worth: Calibration = NO_REHEARSAL  # of a mixed score

    @classmethod
    def of(cls, threshold: float | None, weight: float | None) -> Chosen:
        """Without a rehearsal: as they are given, or as usual."""
        return cls(0.1 if threshold is None else threshold, 0.5 if weight is None else weight)


class Trial(NamedTuple):
    """Documents with their labels among the candidates, which nobody has learned, and what the base says of them."""

    candidates: Candidates
    views: Views
    found: Ranking
    truth: Csr

    def choose(self, threshold: float | None, weight: float | None, kind: SearchKind, cap: int, seed: int) -> Chosen:
        """None: the threshold and the weight of the best nDCG@5. A search of subsets for each threshold."""
        best, most = Chosen(), -1.0
        for tried in THRESHOLDS if threshold is None else (threshold,):
            predicted = Predicted.of(self.found, tried, cap)
            scores = self.candidates.scores(self.views, predicted, kind, weight)
            own = best_weight(scores, self.truth, seed) if weight is None else weight
            gain = gain_of(scores, self.truth, own)
            if gain > most + 1e-9:
                best, most = Chosen(tried, own, self._worth(scores, predicted, own)), gain
        return best

    def _worth(self, scores: Scores, predicted: list[Predicted], weight: float) -> Calibration:
        top = best_labels(scores, predicted, weight, np.arange(self.truth.shape[1]), CALIBRATION_DEPTH)
        there = top.ids >= 0
        if not there.any():
            return NO_REHEARSAL
        return Calibration.of_pairs(top.scores[there], contains(self.truth, top.ids)[there])


def best_labels(scores: Scores, predicted: list[Predicted], weight: float, labels: LongArray, k: int) -> Ranking:
    """By the mixed score. Fusion alone says nothing of a document of which the base is sure of no label."""
    mixed = squashed(scores.mixed(weight))
    ids = np.broadcast_to(labels.astype(np.int32), mixed.shape)
    found = best_of_doubles(ids, mixed, min(k, len(labels)))
    if weight < 1:
        return found
    return found.without(np.array([len(own.labels) == 0 for own in predicted], np.bool_))


def rehearsal_of(
    dataset: Dataset, held_share: float, hidden_share: float, seed: int
) -> tuple[Dataset, Dataset, LongArray] | None:
    """(training without hidden labels, held-out documents with all labels, hidden labels), drawn by their ids.

    None where too little is left to learn from; no label is hidden where there is only one.
    """
    pairs = dataset.required_pairs
    labelled = np.flatnonzero(np.diff(pairs.indptr))
    count = min(MOST_HELD, max(1, round(held_share * len(labelled))))
    held = labelled[sample_by_id([dataset.documents.ids[i] for i in labelled], None, count, seed)]
    rest = np.setdiff1d(np.arange(len(dataset)), held)
    n_seen = int((dataset.counts > 0).sum())
    n_hidden = min(MOST_HIDDEN, n_seen - 1, max(1, round(hidden_share * n_seen)))
    without, hidden = hold_out_labels(dataset, count=n_hidden, seed=seed)
    train = without.subset(rest)
    kept = train.required_pairs
    if kept.nnz == 0 or without.required_pairs[held][:, np.flatnonzero(train.counts)].nnz == 0:
        return None
    return train, dataset.subset(held), hidden


def ranked_of(method: Method, views: Views, k: int, seen: Any) -> Ranking:
    """The k best seen labels by a method that may rank others too."""
    return rank_visible(lambda depth: method.rank(views, depth), ~seen, k)


def best_of_doubles(ids: Any, scores: Doubles, k: int) -> Ranking:
    """As `Ranking.best_of`, in the order of float64 scores: what float32 cannot tell apart stays in its order."""
    from everylabel.methods.kernels import keep_order

    order = np.lexsort((ids, -scores), axis=1)[:, :k]
    exact = np.take_along_axis(scores, order, 1)
    found = exact.astype(np.float32)
    keep_order(found, exact)
    return Ranking(np.take_along_axis(ids, order, 1).astype(np.int32), found)
