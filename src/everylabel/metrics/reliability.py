"""Whether scores are probabilities: of all suggestions with a score of about 0.3, are 30 % right?

Counted are the suggestions that users see: each (document, label) of the top k, in bins of about as many pairs each.
The expected calibration error (ECE) is the mean over these pairs of |mean score - share of hits| of their bin. It says
nothing about how good a ranking is: the share of hits as the score of everything has an ECE of 0. Scores that are the
probabilities have one above 0, the fewer suggestions there are the more (`by_chance`). Documents without a true label
are left out, as in all metrics.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan, pi, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everylabel.data.bands import in_band
from everylabel.metrics.ranking import BoolArray, find_hits
from everylabel.types import Csr, Ranking

K = 10
N_BINS = 15
LEAST = 50  # pairs of a bin: fewer bins where there are few pairs, or the error would be mostly that of their number


class Bin(NamedTuple):
    """Suggestions of about the same score: their mean score, the share of them that is right, their number."""

    probability: float
    share: float
    pairs: int


@dataclass(frozen=True)
class Reliability:
    """The bins, lowest scores first."""

    bins: tuple[Bin, ...]

    @property
    def pairs(self) -> int:
        return sum(found.pairs for found in self.bins)

    @property
    def ece(self) -> float:
        """nan where nothing is suggested, because 0 would read as perfect."""
        if not self.bins:
            return nan
        return sum(found.pairs * abs(found.probability - found.share) for found in self.bins) / self.pairs

    @property
    def by_chance(self) -> float:
        """The error that is to be expected of scores that are the probabilities: a few suggestions hardly ever have the
        very share of hits that they should. Of a normal distribution; nan where nothing is suggested."""
        if not self.bins:
            return nan
        spread = sum(sqrt(one.pairs * one.probability * (1 - one.probability)) for one in self.bins)
        return sqrt(2 / pi) * spread / self.pairs

    def to_json(self) -> dict[str, Any]:
        errors = {"ECE": self.ece, "by_chance": self.by_chance} if self.bins else {"ECE": None, "by_chance": None}
        return {**errors, "pairs": self.pairs, "bins": [found._asdict() for found in self.bins]}


def reliability(
    ranking: Ranking,
    truth: Csr,
    labels: BoolArray | None = None,
    *,
    k: int = K,
    n_bins: int = N_BINS,
    least: int = LEAST,
) -> Reliability:
    """Of the top k; with a mask, of these labels' places in the top k of all labels. O(n k log(n k)).

    At most n_bins bins, each of about as many pairs and, if there are that many, at least `least`.
    """
    top = ranking.top(min(k, ranking.k))
    hits = find_hits(top, truth)
    shown = (top.ids >= 0) & hits.counted[:, None]
    if labels is not None:
        shown &= labels[top.ids]
    scores, right = top.scores[shown].astype(np.float64), hits.hit[shown]
    if len(scores) == 0:
        return Reliability(())
    n_bins = max(1, min(n_bins, len(scores) // least))
    # equal scores share a bin, so that the order of documents does not matter: there may be fewer bins, and larger ones
    edges = np.unique(np.sort(scores)[np.arange(1, n_bins) * len(scores) // n_bins])
    _, bins = np.unique(np.searchsorted(edges, scores, side="right"), return_inverse=True)
    pairs = np.bincount(bins)
    means, shares = np.bincount(bins, weights=scores) / pairs, np.bincount(bins, weights=right) / pairs
    return Reliability(tuple(map(Bin, means.tolist(), shares.tolist(), pairs.tolist())))


def by_seen(ranking: Ranking, truth: Csr, train_counts: NDArray[np.integer], *, k: int = K) -> dict[str, Reliability]:
    """Of all labels, and of those that were seen in training, seldom seen (the tail, a part of the seen), unseen."""
    unseen = in_band(train_counts, "unseen")
    masks = {"all": None, "seen": ~unseen, "tail": in_band(train_counts, "tail"), "unseen": unseen}
    return {name: reliability(ranking, truth, mask, k=k) for name, mask in masks.items()}
