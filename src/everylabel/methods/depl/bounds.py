"""Theorem 3 of DEPL (the paper: depl.py) as numbers: when keywords alone must rank as well as the whole SVM does.

For a document x and a right label p that the SVM ranks well, epsilon_i is the margin to each wrong label i below p, and
delta_i what the words that are no keywords add to the score of p or of i: keywords are delta-bounded when
<x, v> >= <x, w> - delta. Random embeddings of dimension d then put label i before p with a probability of at most
4 exp(-(epsilon_i - delta_i)^2 d / 50) (lemma 5), and some of the M below p with at most the sum of these (eq. 21). The
theorem takes the least margin and one delta for all of them: epsilon - delta >= 10 sqrt(log M / d) makes the sum 4 / M
at most. (The paper says 1 / M: a slip, since 4 M exp(-2 log M) is 4 / M.)

Scores are those of weights divided by the length of the longest, as the theorem wants them; that changes no ranking.
Deviations: weights may be negative here, so delta_i is the largest absolute value of what the other words add to p and
to i, and twice delta_i stands in the bound (each of the two scores moves by delta_i at most); a label's constant is no
word, and part of what the keywords say. Cost: the scores of all labels, 256 documents at a time, and a pass over the
labels for each correct prediction.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from everylabel.types import Csr, FloatArray

CORRECT_AT = 5  # ranks in which a right label is a correct prediction
DELTA = 0.1  # of a score that is 1 at most
CHUNK = 256
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


def keyword_bounds(
    X: Csr, weights: Csr, constants: FloatArray, keywords: Csr, truth: Csr, dim: int, *, delta: float = DELTA
) -> dict[str, Any]:
    """Over all correct predictions of the SVM: right labels among its best 5. Labels without weights are not ranked."""
    weights, keywords = csr_matrix(weights), csr_matrix(keywords)
    squares = np.asarray(weights.multiply(weights).sum(axis=1)).ravel() + np.square(constants)
    ranked = np.flatnonzero(squares > 0)
    length = float(np.sqrt(squares.max(initial=0))) or 1.0
    whole, part = weights[ranked].T.tocsr(), keywords[ranked].T.tocsr()
    found: list[Prediction] = []
    for first in range(0, X.shape[0], CHUNK):
        rows = X[first : first + CHUNK]
        scores = (rows @ whole).toarray() + constants[ranked]
        rest = scores - constants[ranked] - (rows @ part).toarray()
        right = truth[first : first + CHUNK][:, ranked].toarray() > 0
        for own in zip(scores / length, rest / length, right, strict=True):
            found += _predictions(*own, dim)
    return _summary(found, dim, delta)


class Prediction(NamedTuple):
    """A right label among the best: what holds for every wrong label below it."""

    margin: float  # the least one
    delta: float  # the largest one
    below: int
    bound: float  # the sum over all of them


def _predictions(scores: FloatArray, rest: FloatArray, right: Any, dim: int) -> list[Prediction]:
    order = np.argsort(-scores, kind="stable")
    wrong = np.flatnonzero(~right[order])
    found = []
    for place in np.flatnonzero(right[order[:CORRECT_AT]]):
        label, others = order[place], order[wrong[wrong > place]]
        if len(others):
            margins = (scores[label] - scores[others]).astype(np.float64)
            deltas = np.maximum(abs(rest[label]), np.abs(rest[others])).astype(np.float64)
            bound = 4 * np.exp(-(np.maximum(margins - 2 * deltas, 0) ** 2) * dim / 50).sum()
            found.append(Prediction(float(margins.min()), float(deltas.max()), len(others), min(1.0, float(bound))))
    return found


def _summary(found: list[Prediction], dim: int, delta: float) -> dict[str, Any]:
    if not found:
        return {"n_predictions": 0}
    margins, deltas, below, bounds = (np.array(column) for column in zip(*found, strict=True))
    gaps = np.maximum(margins - 2 * deltas, 0)
    return {
        "n_predictions": len(found),
        "delta": delta,
        "delta_bounded": float((deltas <= delta).mean()),
        "margin_above_2_delta": float((margins > 2 * deltas).mean()),
        "guaranteed": float((gaps >= 10 * np.sqrt(np.log(below) / dim)).mean()),
        "bound": float(bounds.mean()),
        "margin": _distribution(margins),
        "delta_needed": _distribution(deltas),
    }


def _distribution(values: Any) -> dict[str, float]:
    quantiles = {f"{q:.0%}": float(value) for q, value in zip(QUANTILES, np.quantile(values, QUANTILES), strict=True)}
    return {"mean": float(values.mean())} | quantiles
