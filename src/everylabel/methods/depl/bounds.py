"""Theorem 3 of DEPL (the paper: depl.py) as numbers: when keywords alone must rank as well as the whole SVM does.

For a document x and a right label p that the SVM ranks well, epsilon is the margin to the best wrong label below p, and
delta what the words that are no keywords add to the score: keywords are delta-bounded when <x, v> >= <x, w> - delta.
Random embeddings of dimension d then put some label of the M below p before it with a probability of at most
4 M exp(-(epsilon - delta)^2 d / 50), which is below 1 / M when epsilon - delta >= 10 sqrt(log M / d).

Scores are those of weights divided by the length of the longest, as the theorem wants them; that changes no ranking.
Deviations: weights may be negative here, so delta is the largest absolute value of what the other words add to p and
to that wrong label, and twice delta stands in the bound (each of the two scores moves by delta at most); a label's
constant is no word, and part of what the keywords say. Cost: the scores of all labels, 256 documents at a time.
"""

from __future__ import annotations

from typing import Any

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
    margins, others, below = [], [], []
    for first in range(0, X.shape[0], CHUNK):
        rows = X[first : first + CHUNK]
        scores = (rows @ whole).toarray() + constants[ranked]
        rest = scores - constants[ranked] - (rows @ part).toarray()
        right = truth[first : first + CHUNK][:, ranked].toarray() > 0
        for own in zip(scores, rest, right, strict=True):
            for margin, other, count in _predictions(*own):
                margins.append(margin / length)
                others.append(other / length)
                below.append(count)
    return _summary(np.array(margins), np.array(others), np.array(below), dim, delta)


def _predictions(scores: FloatArray, rest: FloatArray, right: Any) -> list[tuple[float, float, int]]:
    """(epsilon, delta, wrong labels below) of each right label among the best."""
    order = np.argsort(-scores, kind="stable")
    wrong = np.flatnonzero(~right[order])
    found = []
    for place in np.flatnonzero(right[order[:CORRECT_AT]]):
        after = wrong[wrong > place]
        if len(after):
            label, next_wrong = order[place], order[after[0]]
            other = max(abs(float(rest[label])), abs(float(rest[next_wrong])))
            found.append((float(scores[label] - scores[next_wrong]), other, len(after)))
    return found


def _summary(margins: Any, others: Any, below: Any, dim: int, delta: float) -> dict[str, Any]:
    n = len(margins)
    if not n:
        return {"n_predictions": 0}
    gaps = np.maximum(margins - 2 * others, 0)
    bounds = np.minimum(1, 4 * below * np.exp(-(gaps**2) * dim / 50))
    return {
        "n_predictions": n,
        "delta": delta,
        "delta_bounded": float((others <= delta).mean()),
        "margin_above_2_delta": float((margins > 2 * others).mean()),
        "guaranteed": float((gaps >= 10 * np.sqrt(np.log(np.maximum(below, 1)) / dim)).mean()),
        "bound": float(bounds.mean()),
        "margin": _distribution(margins),
        "delta_needed": _distribution(others),
    }


def _distribution(values: Any) -> dict[str, float]:
    quantiles = {f"{q:.0%}": float(value) for q, value in zip(QUANTILES, np.quantile(values, QUANTILES), strict=True)}
    return {"mean": float(values.mean())} | quantiles
