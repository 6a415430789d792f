"""From a blend's margins to probabilities: how often such suggestions were right in documents that were held out.

The trees' margins are log odds of rehearsals. What they are worth differs with how often a label was seen: each band
has a curve of its own from margins to log odds, drawn to that of all seen labels where there is little to learn from
(beta calibration: Kull, Silva Filho and Flach, 2017; one slope where a label is improbable, another where it is
probable, a level). Labels that nobody has used were not hidden, and are far less frequent than those that were: the
slopes of their curve are those of hidden labels, its level is by how often a held-out document has such a label. That
happens seldom, so that few documents say little about it; but labels that were used just once say it too (Good, "The
population frequencies of species and the estimation of population parameters", 1953, after Turing): each was a label
that nobody had used before its document came, so that n1 of them in N documents make n1 / N such pairs a document. A
label that is added later is taken for as frequent as the hidden ones: somebody wants to use it.
Curves are learned from the best labels of a document, seen and unseen: those that users look at.
Cost: O(rows) a curve.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everylabel.data.bands import BANDS, in_band
from everylabel.tagger.blending_set import BlendingSet
from everylabel.tagger.candidates import ADDED
from everylabel.types import Csr, LongArray
from everylabel.vectors import logistic

Doubles = NDArray[np.float64]
Mask = NDArray[np.bool_]

SEEN_BANDS = tuple(band for band in BANDS if band != "unseen")
BEST_SEEN, BEST_UNSEEN = 12, 10  # labels of a document that curves are learned from
LEAST_SLOPE = 0.05
FEW_PAIRS = 10  # that say something about all
Pull = tuple[float, float, float]
PULL: Pull = (20.0, 20.0, 5.0)  # of a band's curve towards that of all: as if so many hits had been seen there
LOOSE: Pull = (1.0, 1.0, 0.01)  # of the curve of all towards margins as they are, where trees have learned these
FIRM: Pull = (20.0, 20.0, 1.0)  # where they come from other corpora, and there are few documents to say otherwise


class Curve(NamedTuple):
    """From margins to log odds: rising by `low` far below 0, by `high` far above."""

    low: float = 1.0
    high: float = 1.0
    level: float = 0.0

    def of(self, margins: Doubles) -> Doubles:
        return self.of_bent(bent(margins))

    def of_bent(self, parts: Doubles) -> Doubles:
        found: Doubles = parts @ np.array(self)
        return found


def bent(margins: Doubles) -> Doubles:
    """(n, 3): what a curve is a sum of. The logarithms of both probabilities, whose difference is the margin, and 1."""
    return np.stack([-np.logaddexp(0, -margins), np.logaddexp(0, margins), np.ones(len(margins))], axis=1)


AS_THEY_ARE = Curve()
NOTHING_KNOWN = {**dict.fromkeys(SEEN_BANDS, AS_THEY_ARE), "unseen": Curve(level=-1.0), "added": AS_THEY_ARE}


@dataclass(frozen=True)
class Levels:
    """A curve for each band, and for labels that were added after the fit."""

    curves: Mapping[str, Curve] = field(default_factory=lambda: dict(NOTHING_KNOWN))

    def log_odds(self, margins: Doubles, counts: LongArray) -> Doubles:
        """`counts`: of each candidate's label; ADDED of one that came after the fit."""
        found, parts = np.empty(len(margins)), bent(margins)
        for name, curve in self.curves.items():
            rows = counts == ADDED if name == "added" else in_band(counts, name)
            found[rows] = curve.of_bent(parts[rows])
        return found


def fit_levels(
    data: BlendingSet, hits: Mask, margins: Doubles, counts: LongArray, unseen_rate: float, pull: Pull = LOOSE
) -> Levels:
    """`counts`: training documents of each label in all data; `unseen_rate`: of rate_of_unseen; `pull`: of curves
    towards margins as they are."""
    unseen, documents = data.counts == 0, data.table.documents
    curves = dict(NOTHING_KNOWN)
    seen = best_rows(documents, margins, ~unseen, BEST_SEEN)
    of_all = fitted_curve(margins[seen], hits[seen], pull=pull)
    for band in SEEN_BANDS:
        rows = seen & in_band(data.counts, band)
        curves[band] = fitted_curve(margins[rows], hits[rows], of_all, PULL)
    curves["added"] = of_all
    if unseen.any():
        hidden = best_rows(documents, margins, data.hidden, BEST_UNSEEN)
        curves["added"] = fitted_curve(margins[hidden], hits[hidden], pull=pull) if hits[hidden].any() else of_all
        natural = best_rows(documents, margins, unseen & ~data.hidden, BEST_UNSEEN)
        start = levelled(curves["added"], margins[natural], float(hits[natural].sum()))
        slope = fitted_curve(margins[natural], hits[natural], start, PULL)
        unused = unseen & ~data.hidden & (counts[data.table.labels] == 0)
        shown = best_rows(documents, margins, unused, BEST_UNSEEN)
        n_expected = unseen_rate * data.table.n_documents * share_found(data, hits, natural, hidden)
        curves["unseen"] = levelled(slope, margins[shown], n_expected)
    return Levels(curves)


def best_rows(documents: LongArray, margins: Doubles, among: Mask, n: int) -> Mask:
    """The n best of each document, among these rows."""
    rows = np.flatnonzero(among)
    order = rows[np.lexsort((-margins[rows], documents[rows]))]
    place = np.arange(len(order)) - np.searchsorted(documents[order], documents[order])
    found = np.zeros(len(among), np.bool_)
    found[order[place < n]] = True
    return found


def rate_of_unseen(counts: LongArray, n_train: int, dev: Csr | None) -> float:
    """Pairs a document, of labels that no training document has. `counts`: training documents of each label.

    As in the dev documents; labels that were used once are the guess that these speak against, good to a factor of
    about e.
    """
    guess = np.log(((counts == 1).sum() + 0.5) / max(n_train, 1))
    if dev is None:
        return float(np.exp(guess))
    n_docs, n_pairs = (np.diff(dev.indptr) > 0).sum(), (counts[dev.indices] == 0).sum()
    low, high = guess - 20, guess + 20
    for _ in range(60):  # the most probable rate: Poisson, its logarithm normal around the guess
        middle = (low + high) / 2
        low, high = (middle, high) if n_pairs - n_docs * np.exp(middle) > middle - guess else (low, middle)
    return float(np.exp(low))


def share_found(data: BlendingSet, hits: Mask, natural: Mask, hidden: Mask) -> float:
    """How many of the documents' pairs of unseen labels are among the best: of those that were not hidden, and where
    there are hardly any, of those that were."""
    n_hidden_pairs = int(data.truth.count_nonzero() - data.truth_without_hidden.count_nonzero())
    n_pairs = max(data.n_unseen_pairs - n_hidden_pairs, 0)
    of_hidden = (float(hits[hidden].sum()) + 1) / (n_hidden_pairs + 1)
    return (float(hits[natural].sum()) + FEW_PAIRS * of_hidden) / (n_pairs + FEW_PAIRS)


def fitted_curve(margins: Doubles, hits: Mask, towards: Curve = AS_THEY_ARE, pull: Pull = LOOSE) -> Curve:
    """Logistic regression on `bent` margins, a little drawn to another curve; never falling. O(rows)."""
    from scipy.optimize import minimize
    from scipy.special import log_expit

    if not len(hits):
        return towards
    signs, parts = np.where(hits, 1.0, -1.0), bent(margins)
    centre, pulls = np.array(towards), np.array(pull)

    def loss(curve: Doubles) -> tuple[float, Doubles]:
        odds = signs * (parts @ curve)
        force = -signs * logistic(-odds)
        value = -log_expit(odds).sum() + float(pulls @ (curve - centre) ** 2)
        return float(value), force @ parts + 2 * pulls * (curve - centre)

    found = minimize(loss, centre, jac=True, method="L-BFGS-B", bounds=[(LEAST_SLOPE, None)] * 2 + [(None, None)])
    return Curve(*found.x.tolist())


def levelled(curve: Curve, margins: Doubles, n_hits: float) -> Curve:
    """The curve moved up or down until it expects as many hits; half a hit is added to both."""
    if not len(margins):
        return curve
    odds, up = curve.of(margins), 0.0
    for _ in range(30):
        up += np.log((n_hits + 0.5) / (float(logistic(odds + up).sum()) + 0.5))
    return curve._replace(level=curve.level + float(np.clip(up, -8, 3)))
