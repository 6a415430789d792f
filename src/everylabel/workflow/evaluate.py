"""A fitted method held against labelled data: what `evaluate`, `compare`, `report` and `demo` share."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from everylabel.data.dataset import Dataset, LabelSet, pairs_in
from everylabel.methods.base import Method
from everylabel.metrics import annif
from everylabel.metrics import ranking as metrics
from everylabel.metrics.propensity import Propensity
from everylabel.metrics.ranking import Hits, Ratio, by_document, find_hits
from everylabel.metrics.reliability import K, Reliability, by_seen
from everylabel.metrics.scores import Scores
from everylabel.run import QUIET, Run
from everylabel.types import Csr, LongArray, Ranking
from everylabel.workflow.doubts import learned_before

METRIC_DEPTH = 100  # ranks: R@100 is the deepest metric
BATCH = 1000


@dataclass(frozen=True)
class MatchedTruth:
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


class Protocol(NamedTuple):
    """What published numbers depend on, besides the ranking."""

    propensity: Propensity = "default"  # of PSP and PSnDCG
    decided: int = 5  # ranks that are decisions: of F1, and of the sign test


USUAL = Protocol()


@dataclass(frozen=True)
class Evaluation:
    """One ranking of the documents and everything about it."""

    scores: Scores
    ratios: dict[str, Ratio]  # by document, for the paired bootstrap
    ranking: Ranking  # ids are columns of the truth
    hits: Hits
    truth: MatchedTruth
    docs_per_second: float
    calibrated: bool

    @cached_property
    def reliability(self) -> dict[str, Reliability]:
        """Of all labels, and of the seen, tail and unseen ones."""
        return by_seen(self.ranking, self.truth.pairs, self.truth.train_counts)

    def annif(self, *, limit: int = annif.LIMIT, threshold: float = annif.THRESHOLD) -> dict[str, float]:
        """As Annif would measure it: by its names and definitions, without the labels that the model does not know."""
        known = self.truth.pairs[:, : self.truth.pairs.shape[1] - self.truth.n_unknown]
        return annif.metrics(self.ranking, known, limit=limit, threshold=threshold)

    def calibration_json(self) -> dict[str, Any]:
        groups = {name: found.to_json() for name, found in self.reliability.items()}
        return {"calibrated": self.calibrated, "k": K, **groups}


def evaluate(model: Method, data: Dataset, *, protocol: Protocol = USUAL, run: Run = QUIET) -> Evaluation:
    """Rank the data's documents and compare with its pairs. Labels are matched by their ids, not their order."""
    model = model.model_  # one state of it, whoever changes it meanwhile
    truth = match_labels(model.labels_, model.counts_, data)
    if doubt := learned_before(model, data.documents):
        run.say(doubt)
    return evaluate_part(model, model, data, truth, protocol=protocol, run=run)


def evaluate_part(
    part: Method, model: Method, data: Dataset, truth: MatchedTruth, *, protocol: Protocol = USUAL, run: Run = QUIET
) -> Evaluation:
    """The part's ranking in the model's vocabulary and by its counts, so that all parts have the same bands."""
    k = min(METRIC_DEPTH, len(part.labels_))
    part.rank(data.documents.subset(range(min(1, len(data)))), k)  # loading and compiling are no part of the speed
    started = time.perf_counter()
    ranking = rank_all(part, data, k, run=run)
    seconds = max(time.perf_counter() - started, 1e-9)
    if part.labels_ != model.labels_:
        column = model.labels_.index.places(part.labels_.ids)
        ranking = Ranking(np.where(ranking.ids >= 0, column[ranking.ids], -1).astype(np.int32), ranking.scores)
    hits = find_hits(ranking, truth.pairs)
    known, propensity = (truth.train_counts, model.n_train_), protocol.propensity
    return Evaluation(
        scores=metrics.evaluate(ranking, truth.pairs, *known, propensity=propensity, f1_k=protocol.decided),
        ratios=by_document(hits, *known, propensity=propensity),
        ranking=ranking,
        hits=hits,
        truth=truth,
        docs_per_second=len(data) / seconds,
        calibrated=part.calibration_ is not None,
    )


def diagnostics_of(model: Method, data: Dataset) -> dict[str, Any]:
    """What a method has to say about itself on these documents; most have nothing to say."""
    found: dict[str, Any] = model.diagnostics(data) if hasattr(model, "diagnostics") else {}
    return found


def match_labels(known: LabelSet, train_counts: LongArray, data: Dataset) -> MatchedTruth:
    """O(labels + pairs)."""
    pairs = pairs_in(known, data)
    n_unknown = pairs.shape[1] - len(known)
    counts = np.concatenate([train_counts, np.zeros(n_unknown, train_counts.dtype)])
    return MatchedTruth(pairs, counts, n_unknown, int((pairs.indices >= len(known)).sum()))


def rank_all(method: Method, data: Dataset, k: int, *, run: Run = QUIET) -> Ranking:
    """In batches, so that memory does not grow with the data and progress can be shown."""
    ranking = Ranking.empty(len(data), k)
    at = 0
    with run.task("ranking documents", len(data)) as advance:
        for part in data.documents.slices(BATCH):
            ids, scores = method.rank(part, k)
            ranking.ids[at : at + len(part)] = ids
            ranking.scores[at : at + len(part)] = scores
            at += len(part)
            advance(len(part))
    return ranking
