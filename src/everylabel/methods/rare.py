"""Rare labels before frequent ones that are hardly more probable.

"Long-Tail Learning via Logit Adjustment": from a label's log odds its frequency is taken away, here `weight` x
ln(1 + training documents). Weight 1 would undo all that the classifier knows of frequencies; a little of it moves rare
labels up where it costs next to nothing. The best 100 labels of a document are put in a new order, no others come in.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from everylabel.errors import ConfigError
from everylabel.types import LongArray, Ranking

CANDIDATES = 100  # labels of a document
SURE = 1e-7  # a probability is never nearer to 0 or 1


def check_rare_weight(weight: float) -> None:
    if not 0 <= weight <= 1:
        raise ConfigError(f"rare_weight must be from 0 (labels as they come) to 1; got {weight}")


def favour_rare(rank: Callable[[int], Ranking], counts: LongArray, weight: float, k: int) -> Ranking:
    """`rank(k)` gives the k best labels by their probability. `counts`: training documents of each label."""
    if weight == 0:
        return rank(k)
    return reordered(rank(min(max(k, CANDIDATES), len(counts))), counts, weight, k)


def reordered(ranking: Ranking, counts: LongArray, weight: float, k: int) -> Ranking:
    """The same labels by their log odds without so much of their frequency; scores stay between 0 and 1."""
    from scipy.special import expit, logit

    there = ranking.ids >= 0
    odds = logit(np.clip(ranking.scores.astype(np.float64), SURE, 1 - SURE))
    odds -= weight * np.log1p(counts[ranking.ids])
    scores = np.where(there, expit(odds), -np.inf).astype(np.float32)
    return Ranking.best_of(ranking.ids, scores, k)
