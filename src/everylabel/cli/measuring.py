"""A model, its parts and the floor on the same documents: what `report` compares."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from everylabel.cli.scoring import DEPTH, Truth, rank_all
from everylabel.data.bands import in_band
from everylabel.data.dataset import Dataset
from everylabel.methods.base import Method
from everylabel.methods.words.popularity import Popularity
from everylabel.metrics.ranking import Hits, Ratio, by_document, evaluate, find_hits, label_counts
from everylabel.metrics.scores import Scores
from everylabel.metrics.significance import interval, macro_t_test, paired_bootstrap
from everylabel.report.page import Change
from everylabel.types import Ranking

COMPARED = ("nDCG@5", "PSP@5", "ZSR@100")
TAIL = "tail-F1@5"


@dataclass(frozen=True)
class Measured:
    """One ranking of the documents and everything about it."""

    scores: Scores
    ratios: dict[str, Ratio]
    ranking: Ranking  # ids are columns of the truth
    hits: Hits
    truth: Truth
    docs_per_second: float

    def changes_from(self, other: Measured, seed: int) -> dict[str, Change]:
        """Its metrics minus another's; those that nothing can be said about are left out."""
        changes = {}
        for key in COMPARED:
            if self.ratios[key].possible.any():
                found = paired_bootstrap(self.ratios[key], other.ratios[key], random_state=seed)
                changes[key] = Change(found.difference, found.p_value, (found.low, found.high))
        tail = in_band(self.truth.train_counts, "tail")
        if tail.sum() >= 2:
            test = macro_t_test(label_counts(self.hits).f1[tail], label_counts(other.hits).f1[tail])
            changes[TAIL] = Change(test.difference, test.p_value)
        return changes

    def intervals(self, seed: int) -> dict[str, tuple[float, float]]:
        return {
            key: interval(self.ratios[key], random_state=seed) for key in COMPARED if self.ratios[key].possible.any()
        }


def measure(part: Method, model: Method, data: Dataset, truth: Truth) -> Measured:
    """The part's ranking in the model's vocabulary and by its counts, so that all parts have the same bands."""
    k = min(DEPTH, len(part.labels_))
    part.rank(data.documents.subset([0]), k)  # what is loaded or compiled on first use is no part of the speed
    started = time.perf_counter()
    ranking = rank_all(part, data, k)
    seconds = max(time.perf_counter() - started, 1e-9)
    if part.labels_ != model.labels_:
        column = np.array([model.labels_.index.get(label.id, -1) for label in part.labels_.labels], np.int32)
        ranking = Ranking(np.where(ranking.ids >= 0, column[ranking.ids], -1).astype(np.int32), ranking.scores)
    hits = find_hits(ranking, truth.pairs)
    return Measured(
        scores=evaluate(ranking, truth.pairs, truth.train_counts, model.n_train_),
        ratios=by_document(hits, truth.train_counts, model.n_train_),
        ranking=ranking,
        hits=hits,
        truth=truth,
        docs_per_second=len(data) / seconds,
    )


def floor_of(model: Method) -> Popularity:
    """The most frequent labels for every text: the counts that each model keeps are all it takes."""
    hidden = np.flatnonzero(model.hidden_)
    kept = {"counts": model.counts_, "n_train": model.n_train_, "hidden": hidden, "n_fitted": model.n_fitted_}
    return Popularity().restore(model.labels_, kept)
