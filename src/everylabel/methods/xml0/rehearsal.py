"""What XML0 learns beside its base: by documents of labels that nobody has learned, how much fusion counts, from what
probability on a seen label takes part, and what a mixed score is worth."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from everylabel.data.dataset import Dataset, LabelSet, contains
from everylabel.data.splits import hold_out_labels, sample_by_id
from everylabel.methods.base import Method
from everylabel.methods.calibrate import CALIBRATION_DEPTH, Calibration
from everylabel.methods.facts import MANY_LABELS
from everylabel.methods.vocabulary import rank_visible
from everylabel.methods.xml0.subsets import SearchKind
from everylabel.methods.xml0.zero_shot import Candidates, Predicted, Scores, best_labels, best_weight, gain_of
from everylabel.text.views import Views
from everylabel.types import Csr, LongArray, Ranking

MOST_HELD, MOST_HIDDEN = 4_000, 1_000  # documents and labels of a rehearsal
MOST_LEARNED = 200_000  # documents that its base learns from: of more, the calibration is that of a sample's base
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
    if len(rest) > MOST_LEARNED:
        rest = rest[sample_by_id([dataset.documents.ids[i] for i in rest.tolist()], None, MOST_LEARNED, seed)]
    n_seen = int((dataset.counts > 0).sum())
    n_hidden = min(MOST_HIDDEN, n_seen - 1, max(1, round(hidden_share * n_seen)))
    without, hidden = hold_out_labels(dataset, count=n_hidden, seed=seed)
    train = without.subset(rest)
    kept = train.required_pairs
    if kept.nnz == 0 or without.required_pairs[held][:, np.flatnonzero(train.counts)].nnz == 0:
        return None
    return train, dataset.subset(held), hidden


def tried_labels(labels: LabelSet, pairs: Csr, candidates: LongArray, seed: int) -> LongArray:
    """Candidates to try weights on, by documents that have them. Of many a sample of those with documents, beside as
    many others as `Xml0._others` takes: a trial has a score for each document and label."""
    if len(candidates) <= MANY_LABELS:
        return candidates
    used = candidates[np.bincount(pairs.indices, minlength=pairs.shape[1])[candidates] > 0]
    return np.union1d(sampled(labels, used, seed), sampled(labels, np.setdiff1d(candidates, used), seed))


def sampled(labels: LabelSet, chosen: LongArray, seed: int) -> LongArray:
    """At most MOST_HIDDEN of these labels, drawn by their ids."""
    ids = [labels.ids[i] for i in chosen.tolist()]
    return chosen[sample_by_id(ids, None, min(len(chosen), MOST_HIDDEN), seed)]


def ranked_of(method: Method, views: Views, k: int, seen: Any) -> Ranking:
    """The k best seen labels by a method that may rank others too."""
    return rank_visible(lambda depth: method.rank(views, depth), ~seen, k)
