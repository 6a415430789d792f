"""Scores as probabilities: a strictly increasing map, learned from held-out documents, that changes no ranking.

Centred isotonic regression (Oron and Flournoy, Centered Isotonic Regression: Point and Interval Estimation for
Dose-Response Studies, 2017): isotonic regression of hits on scores, then straight lines through the centres of its
flat blocks. It has no shape that a method's scores could miss: cosines, sigmoids and shares all fit. Beta calibration
(three parameters) is a little better with some hundred pairs, worse for xr-linear on the sample corpus, and many times
worse on scores of another shape, such as a step.

One map for all labels. A second one for labels without training pairs would follow their scores better, but could
lift such a label above one with a higher score: the ranking would then depend on the calibration. How far one map is
off for them is measured instead (`metrics/reliability.py`, the band `unseen`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from everylabel import checks
from everylabel.data.dataset import contains
from everylabel.errors import DataError
from everylabel.types import Csr, FloatArray, Ranking

Doubles: TypeAlias = NDArray[np.float64]

CALIBRATION_DEPTH = 100  # ranks learned from: deeper than users look, so that low scores are learned too
LEAST_SLOPE = 1e-3  # of the map, everywhere: unequal scores never become equal
PRIOR = 1.0  # pairs of the average share, added to each block: a block of hits alone is no certainty


@dataclass(frozen=True)
class Calibration:
    """The map: straight lines between knots, level outside of them, and everywhere a slope of at least LEAST_SLOPE."""

    scores: Doubles  # of the knots, ascending
    probabilities: Doubles  # of the knots, ascending, inside 0..1

    @classmethod
    def as_it_is(cls) -> Self:
        """Of scores that are probabilities already."""
        return cls(np.array([0.0, 1.0]), np.array([0.0, 1.0]))

    @property
    def changes(self) -> bool:
        """Something: it is not `as_it_is`."""
        return not np.array_equal(self.scores, self.probabilities)

    @classmethod
    def learn(cls, ranking: Ranking, pairs: Csr) -> Self:
        """From a ranking of held-out documents and their pairs; documents without any are left out. O(pairs log pairs).

        Only what is ranked counts, hits and misses alike, as a user only sees what is ranked.
        """
        if ranking.n_docs != pairs.shape[0]:
            raise DataError(
                f"the ranking has {ranking.n_docs} documents and the data {pairs.shape[0]}; rank the same ones"
            )
        ids, scores = ranking.top(min(CALIBRATION_DEPTH, ranking.k))
        ranked = (ids >= 0) & (np.diff(pairs.indptr) > 0)[:, None]
        if not ranked.any():
            raise DataError(
                "no label is ranked for any labelled document, so there is nothing to calibrate on; give other ones"
            )
        return cls.of_pairs(scores[ranked], contains(pairs, ids)[ranked])

    @classmethod
    def of_pairs(cls, scores: FloatArray, hits: NDArray[np.bool_]) -> Self:
        """From at least one score in 0..1 and whether it was a hit."""
        at, group = np.unique(np.asarray(scores, np.float64), return_inverse=True)
        sizes = np.bincount(group).astype(np.float64)
        at, shares, sizes = _centres(at, np.bincount(group, weights=hits) / sizes, sizes)
        average = (hits.sum() + 1) / (len(hits) + 2)
        smoothed = (sizes * shares + PRIOR * average) / (sizes + PRIOR)
        # once more: a small block moves further towards the average than a large one, which may put it out of order
        at, shares, _ = _centres(at, smoothed, sizes)
        return cls(at, shares)

    def probability(self, scores: FloatArray) -> FloatArray:
        """The probability of each score, inside 0..1; -inf, the score of no label, stays."""
        inside = np.clip(scores, 0, 1).astype(np.float64)
        lines = np.interp(inside, self.scores, self.probabilities)
        found = (1 - LEAST_SLOPE) * lines + LEAST_SLOPE * inside
        return np.where(np.isneginf(scores), -np.inf, found).astype(np.float32)

    def apply(self, ranking: Ranking) -> Ranking:
        """The same labels in the same order, with probabilities. O(n k log knots)."""
        from everylabel.methods.kernels import keep_order

        if not self.changes:
            return ranking
        found = self.probability(ranking.scores)
        keep_order(found, ranking.scores)  # float32 may run out of digits, and equal scores are in the order of ids
        return Ranking(ranking.ids, found)

    def check(self) -> None:
        for name, values in (("scores", self.scores), ("probabilities", self.probabilities)):
            checks.array(values, f"calibration: {name}", np.float64, len(self.scores))
            checks.within(values, f"calibration: {name}", 0, 1)
            checks.ascending(values, f"calibration: {name}")
        checks.require(len(self.scores), "a calibration must have a knot")

    def state(self) -> dict[str, Any]:
        return {"calibration/scores": self.scores, "calibration/probabilities": self.probabilities}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Self | None:
        """None from the state of a method that was not calibrated."""
        if "calibration/scores" not in state:
            return None
        return cls(state["calibration/scores"], state["calibration/probabilities"])


def _centres(at: Doubles, shares: Doubles, sizes: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """Isotonic regression with each of its flat blocks as one point: mean place, mean share, size. O(n)."""
    from scipy.optimize import isotonic_regression  # takes longer to import than a text to tag

    first = isotonic_regression(shares, weights=sizes).blocks[:-1]  # where each block begins
    total = np.add.reduceat(sizes, first)
    return np.add.reduceat(sizes * at, first) / total, np.add.reduceat(sizes * shares, first) / total, total
