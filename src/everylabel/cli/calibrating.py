"""What `everylabel fit` does so that scores are probabilities: documents held out for it, and how well it worked."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np

from everylabel.cli.scoring import match_labels, rank_all
from everylabel.data import Dataset, available_splits, load_dataset
from everylabel.data.splits import hold_out_documents, sample_by_id
from everylabel.errors import DataError
from everylabel.methods.base import Method
from everylabel.methods.calibrate import DEPTH, Calibration
from everylabel.metrics.reliability import Reliability, reliability
from everylabel.metrics.scores import percent
from everylabel.types import Csr, LongArray, Ranking

FEWEST = 20  # labelled documents: with fewer, a share of hits says little
DEV = "dev"


def held_out(
    dataset: Dataset, data: Path, split: str, share: float | None, on_bad_row: Literal["error", "skip"]
) -> tuple[Dataset, Dataset | None]:
    """(what to fit on, what to calibrate on): a share of the documents, else the dev split if it has labels."""
    if share is not None:
        return hold_out_documents(dataset, share=share)
    if split == DEV or not data.is_dir() or DEV not in available_splits(data):
        return dataset, None
    dev = load_dataset(data, DEV, on_bad_row=on_bad_row)
    return dataset, None if dev.pairs is None or dev.pairs.nnz == 0 else dev


def calibrate(method: Method, documents: Dataset) -> str:
    """Calibrate a fitted method, and say what that did to the error: learned on one half, measured on the other."""
    pairs = match_labels(method.labels_, method.counts_, documents).pairs
    labelled = np.flatnonzero(np.diff(pairs.indptr) > 0)
    if len(labelled) < FEWEST:
        return f"not calibrated: {len(labelled)} labelled documents held out, at least {FEWEST} are needed"
    ranking = rank_all(method, documents, min(DEPTH, len(method.labels_)))
    one = labelled[sample_by_id([documents.documents.ids[i] for i in labelled], 0.5, None, method.random_state)]
    try:
        before, after = _errors(ranking, pairs, one, np.setdiff1d(labelled, one))
        method.calibrate(documents, ranking)
    except DataError as error:  # what was fitted is worth more than its probabilities
        return f"not calibrated: {error}"
    return (
        f"calibrated on {len(labelled):,} held-out documents: expected calibration error {percent(before.ece)} % "
        f"before and {percent(after.ece)} % after (learned on one half of them, measured on the other)"
    )


def _errors(ranking: Ranking, pairs: Csr, one: LongArray, other: LongArray) -> tuple[Reliability, Reliability]:
    learned = Calibration.learn(_rows(ranking, one), pairs[one])
    unknown = _rows(ranking, other)
    return reliability(unknown, pairs[other]), reliability(learned.apply(unknown), pairs[other])


def _rows(ranking: Ranking, rows: LongArray) -> Ranking:
    return Ranking(ranking.ids[rows], ranking.scores[rows])
