"""Which documents a person should see first: those whose tags are least certain.

Doubt is 1 minus the best expected F1 of the document's tags (tagger/cut.py). A person corrects sets of labels, not
single ones, and that is the expected error of the set that would be shown: it is 0 if all probabilities are 0 or 1,
near 1 if many labels are likely and none is sure, and labels that nobody would show hardly count. The entropy of the
first probabilities counts the twentieth label at 5 % as much as the first at 95 %, so that documents come first which
have many labels, not doubtful ones. Cost: O(n k^2), k at most `DEPTH`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everylabel.tagger.cut import expected_f1
from everylabel.types import Ranking

DEPTH = 20  # ranks: what is below them changes nothing that is shown


def doubt(ranking: Ranking) -> NDArray[np.float64]:
    """Of each document, 0..1, most doubtful 1; the scores are probabilities. One without any label: 1."""
    top = ranking.top(min(DEPTH, ranking.k))
    if top.k == 0:
        return np.ones(top.n_docs)
    probabilities = np.where(top.ids >= 0, np.clip(np.nan_to_num(top.scores, neginf=0), 0, 1), 0).astype(np.float64)
    found: NDArray[np.float64] = np.clip(1 - expected_f1(probabilities).max(axis=1), 0, 1)
    return found
