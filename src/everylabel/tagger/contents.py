"""Of a tagger that was restored: does what it is made of fit together? Before anything is ranked by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from everylabel import checks
from everylabel.methods.words.neighbours import NearestNeighbours
from everylabel.tagger.candidates import ADDED, column_names
from everylabel.tagger.experts import opinion_names

if TYPE_CHECKING:
    from everylabel.tagger.tagger import Tagger


def check_contents(model: Tagger, n_labels: int) -> None:
    """O(labels), beside what the experts check of themselves."""
    for counts, least in ((model.fitted_counts_, ADDED), (model.name_lengths_, 1)):
        checks.array(counts, "counts of the fit, or words of names", np.int64, n_labels)
        checks.within(counts, "counts of the fit, or words of names", least, 1 << 40)
    checks.whole(model.learned_, "documents learned")
    noted = isinstance(model.history_, list) and all(isinstance(event, dict) for event in model.history_)
    checks.require(noted and isinstance(model.costs_, dict), "a history is none")
    checks.require(model.experts_ and (model.blend_ is not None or len(model.experts_) == 1), "experts are missing")
    checks.require(len(model.training_.ids) == len(model.training_.titles), "training documents without a title")
    for expert in model.experts_.values():
        expert.check_contents()
    knn = model.experts_.get("knn")
    if isinstance(knn, NearestNeighbours):
        checks.require(knn.n_documents <= len(model.training_.ids), "neighbours that are no documents")
    if model.prior_ is not None:
        model.prior_.check(model.experts_.values())
    if model.blend_ is not None:
        model.blend_.check(len(column_names(opinion_names(list(model.experts_), titles=True))))
