"""Scores become probabilities by documents that were held out: how, and how well it worked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from everylabel.data.dataset import Dataset
from everylabel.data.enough import TO_CALIBRATE
from everylabel.data.splits import sample_by_id
from everylabel.errors import DataError
from everylabel.methods.base import Method
from everylabel.methods.calibrate import CALIBRATION_DEPTH, Calibration
from everylabel.metrics.reliability import Reliability, reliability
from everylabel.metrics.scores import percent
from everylabel.run import QUIET, Run
from everylabel.types import Csr, LongArray, Ranking
from everylabel.workflow.evaluate import match_labels, rank_all


@dataclass(frozen=True)
class Calibrated:
    """What calibration did to the error: learned on one half of the documents, measured on the other."""

    n_docs: int
    before: float = float("nan")  # expected calibration error
    after: float = float("nan")
    why_not: str = ""  # nothing was changed

    @property
    def remark(self) -> str:
        if self.why_not:
            return f"not calibrated: {self.why_not}"
        return (
            f"calibrated on {self.n_docs:,} held-out documents: expected calibration error {percent(self.before)} % "
            f"before and {percent(self.after)} % after (learned on one half of them, measured on the other)"
        )


def calibrate(method: Method, documents: Dataset, *, run: Run = QUIET) -> Calibrated:
    """Calibrate a fitted method. Documents that cannot do it leave the method as it is: it is worth more."""
    pairs = match_labels(method.labels_, method.counts_, documents).pairs
    labelled = np.flatnonzero(np.diff(pairs.indptr) > 0)
    n_docs = len(labelled)
    if n_docs < TO_CALIBRATE:
        return Calibrated(n_docs, why_not=f"{n_docs} labelled documents held out, at least {TO_CALIBRATE} are needed")
    ranking = rank_all(method, documents, min(CALIBRATION_DEPTH, len(method.labels_)), run=run)
    one = labelled[sample_by_id([documents.documents.ids[i] for i in labelled], 0.5, None, method.random_state)]
    try:
        before, after = _errors(ranking, pairs, one, np.setdiff1d(labelled, one))
        method.calibrate(documents, ranking)
    except DataError as error:
        return Calibrated(n_docs, why_not=str(error))
    return Calibrated(n_docs, before.ece, after.ece)


def _errors(ranking: Ranking, pairs: Csr, one: LongArray, other: LongArray) -> tuple[Reliability, Reliability]:
    learned = Calibration.learn(_rows(ranking, one), pairs[one])
    unknown = _rows(ranking, other)
    return reliability(unknown, pairs[other]), reliability(learned.apply(unknown), pairs[other])


def _rows(ranking: Ranking, rows: LongArray) -> Ranking:
    return Ranking(ranking.ids[rows], ranking.scores[rows])
