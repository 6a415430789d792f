"""How many labels to suggest, and from which score on: all limits and thresholds on labelled documents, of one ranking.

Cost: one ranking, 15 deep; then 300 times O(documents x limit).
"""

from __future__ import annotations

from typing import NamedTuple

from everylabel.data.dataset import Dataset
from everylabel.methods.base import Method
from everylabel.metrics.annif import LIMITS, CutScore, best_cuts, table_of_cuts
from everylabel.run import QUIET, Run
from everylabel.workflow.doubts import learned_before
from everylabel.workflow.evaluate import MatchedTruth, match_labels, rank_all


class Optimized(NamedTuple):
    """A row for each limit and threshold, and the best one by F1 of each average."""

    rows: list[CutScore]
    best: dict[str, CutScore]
    n_documents: int
    truth: MatchedTruth


def optimize(model: Method, data: Dataset, *, run: Run = QUIET) -> Optimized:
    """On these documents. Labels that the model does not know are left out, as by Annif."""
    model = model.model_
    truth = match_labels(model.labels_, model.counts_, data)
    if doubt := learned_before(model, data.documents):
        run.say(doubt)
    ranking = rank_all(model, data, min(max(LIMITS), len(model.labels_)), run=run)
    rows = table_of_cuts(ranking, truth.pairs[:, : len(model.labels_)])
    return Optimized(rows, best_cuts(rows), len(data), truth)
