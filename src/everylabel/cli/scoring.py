"""A fitted method held against labelled data: what `evaluate`, `compare` and `demo` share."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from everylabel.data.dataset import Dataset, LabelSet, pairs_in
from everylabel.methods.base import Method
from everylabel.metrics.ranking import Ratio, by_document, evaluate, find_hits
from everylabel.metrics.reliability import K, Reliability, by_seen
from everylabel.metrics.scores import Scores
from everylabel.progress import task
from everylabel.types import Csr, LongArray, Ranking

DEPTH = 100  # ranks: R@100 is the deepest metric
BATCH = 1000


@dataclass(frozen=True)
class Truth:
    """The data's pairs in the model's vocabulary, extended by the labels that the model does not know."""

    pairs: Csr
    train_counts: LongArray
    n_unknown: int
    n_unknown_pairs: int

    @property
    def remark(self) -> str:
        """What the user must know about the labels; empty when all are known."""
        if not self.n_unknown:
            return ""
        return (
            f"{self.n_unknown:,} labels of the data are not in the model's vocabulary; "
            f"their {self.n_unknown_pairs:,} pairs count as missed (band: unseen)"
        )


@dataclass(frozen=True)
class Evaluation:
    scores: Scores
    ratios: dict[str, Ratio]  # by document, for the paired bootstrap
    truth: Truth
    docs_per_second: float
    calibrated: bool
    reliability: dict[str, Reliability]  # of all labels, and of the seen, tail and unseen ones

    def calibration_json(self) -> dict[str, Any]:
        groups = {name: found.to_json() for name, found in self.reliability.items()}
        return {"calibrated": self.calibrated, "k": K, **groups}


def score(method: Method, data: Dataset) -> Evaluation:
    """Rank the data's documents and compare with its pairs. Labels are matched by their ids, not their order."""
    truth = match_labels(method.labels_, method.counts_, data)
    started = time.perf_counter()
    ranking = rank_all(method, data, min(DEPTH, len(method.labels_)))
    seconds = max(time.perf_counter() - started, 1e-9)
    scores = evaluate(ranking, truth.pairs, truth.train_counts, method.n_train_)
    ratios = by_document(find_hits(ranking, truth.pairs), truth.train_counts, method.n_train_)
    reliability = by_seen(ranking, truth.pairs, truth.train_counts)
    return Evaluation(scores, ratios, truth, len(data) / seconds, method.calibration_ is not None, reliability)


def match_labels(known: LabelSet, train_counts: LongArray, data: Dataset) -> Truth:
    """O(labels + pairs)."""
    pairs = pairs_in(known, data)
    n_unknown = pairs.shape[1] - len(known)
    counts = np.concatenate([train_counts, np.zeros(n_unknown, train_counts.dtype)])
    return Truth(pairs, counts, n_unknown, int((pairs.indices >= len(known)).sum()))


def rank_all(method: Method, data: Dataset, k: int) -> Ranking:
    """In batches, so that memory does not grow with the data and progress can be shown."""
    ranking = Ranking.empty(len(data), k)
    at = 0
    with task("ranking documents", len(data)) as advance:
        for part in data.documents.slices(BATCH):
            ids, scores = method.rank(part, k)
            ranking.ids[at : at + len(part)] = ids
            ranking.scores[at : at + len(part)] = scores
            at += len(part)
            advance(len(part))
    return ranking
