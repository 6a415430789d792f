"""Another order than by probability, for who looks for rare and unseen labels: scores stay what they are.

By probability labels that nobody has used come late: each of them is seldom right, and a document seldom has one. So
here every second place at least, below the first ones, is theirs, and far below, where nobody reads on for the others,
three of four; and rare labels come a little before frequent ones that are hardly more probable (methods/rare.py).
What a label's score says does not change by where it stands: from one rank to the next scores may rise here.
Cost: O(documents x ranks x log ranks).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from everylabel.metrics.ranking import find_hits, inverse_propensity, ndcg, psp, weigh
from everylabel.types import Csr, FloatArray, LongArray, Ranking

Doubles = NDArray[np.float64]
Order = Literal["probability", "interleave"]
ORDERS: tuple[Order, ...] = ("probability", "interleave")

DEPTH = 1_000  # ranks that are put in order: more than a document has candidates
FIRST_PLACES = 6  # of a document, without places for unseen labels
DEEP_PLACES = 20  # up to there every second place is for one at least, and below three of four
MOST_NEW = 5  # labels that nobody has used, of a document, in a group of their own
LEAST_NEW = 0.05  # probability of one that is worth showing there
RARE_WEIGHTS = (0.0, 0.03, 0.06, 0.1, 0.15, 0.2, 0.25, 0.3)
COST_OF_RARE = 0.005  # of nDCG@5, that rare labels may take from frequent ones
SURE = 1e-7  # a probability is never nearer to 0 or 1
_K = 5


def interleaved(ranking: Ranking, counts: LongArray, rare_weight: float, k: int) -> Ranking:
    """The best k of a ranking by probability. `counts`: training documents of each label.

    Of those without any each has a latest place (`others_at_most`).
    """
    there = ranking.ids >= 0
    seen_in = np.where(there, np.maximum(counts[ranking.ids], 0), 0)
    earlier = favoured(ranking.scores, seen_in, rare_weight)
    order = np.lexsort((ranking.ids, -np.where(there, earlier, -np.inf)), axis=1)
    ids, seen_in, there = (np.take_along_axis(part, order, 1) for part in (ranking.ids, seen_in, there))
    unseen = there & (seen_in == 0)
    others_before = np.cumsum(~unseen, axis=1) - ~unseen
    at_most = others_at_most(np.cumsum(unseen, axis=1))
    place = np.where(unseen, 2 * np.minimum(others_before, at_most), 2 * others_before + 1)
    again = np.argsort(place, axis=1, kind="stable")[:, :k]
    scores = np.take_along_axis(np.take_along_axis(ranking.scores, order, 1), again, 1)
    return Ranking(np.take_along_axis(ids, again, 1), scores).top(k)


def others_at_most(u: LongArray) -> LongArray:
    """How many labels with training documents stand before the u-th best without any, u from 1."""
    even = (DEEP_PLACES - FIRST_PLACES) // 2
    found: LongArray = FIRST_PLACES + np.minimum(u, even) + np.maximum(u - even, 0) // 3
    return found


def favoured(probabilities: FloatArray, counts: LongArray, rare_weight: float) -> Doubles:
    """Log odds without so much of a label's frequency: by these rare labels come earlier."""
    inside = np.clip(probabilities.astype(np.float64), SURE, 1 - SURE)
    found: Doubles = np.log(inside / (1 - inside)) - rare_weight * np.log1p(np.maximum(counts, 0))
    return found


def only_new(
    ranking: Ranking, counts: LongArray, n: int = MOST_NEW, *, least: float = LEAST_NEW, without: Ranking | None = None
) -> Ranking:
    """The first n labels of each document that no document has had so far, of a probability of at least `least`; none
    that a ranking has already (`without`), and none where no label was ever used."""
    there, used = ranking.ids >= 0, counts[ranking.ids] != 0
    if not (there & used).any() and not counts.any():  # all are new, and so none is; seldom are all looked at
        return Ranking.empty(ranking.n_docs, n)
    kept = there & ~used & (ranking.scores >= least)
    if without is not None:
        for place in range(without.k):
            kept &= ranking.ids != without.ids[:, place : place + 1]
    return Ranking.best_of(np.where(kept, ranking.ids, -1), ranking.scores, n)


def best_rare_weight(ranking: Ranking, truth: Csr, counts: LongArray, n_train: int) -> float:
    """Of a ranking of held-out documents by probability: best for nDCG@5 and PSP@5 together, of frequent and of rare
    labels alike, at little cost for the first."""
    weights = inverse_propensity(counts, n_train)

    def measured(rare_weight: float) -> tuple[float, float]:
        hits = find_hits(interleaved(ranking, counts, rare_weight, _K), truth)
        return ndcg(hits, _K).value, psp(weigh(hits, weights, _K), _K).value

    overall, rare = np.transpose([measured(weight) for weight in RARE_WEIGHTS])
    return best_of_weights(overall, rare)


def best_of_weights(overall: Doubles, rare: Doubles) -> float:
    """Of RARE_WEIGHTS the one with the best sum of both, of those that cost `overall` little."""
    if np.isnan(overall + rare).all():
        return 0.0
    cheap = overall >= np.nanmax(overall) - COST_OF_RARE
    return RARE_WEIGHTS[int(np.nanargmax(np.where(cheap, overall + rare, np.nan)))]
