"""What is watched while a dual encoder learns: how well it ranks, and whether the unseen labels' vectors collapse.

"Preserving Zero-shot Capability in Supervised Fine-tuning for Multi-label Text Classification": figures 3 and 8 are
ZSR@100 over the steps; figures 4 and 7, the collapse, are two numbers and a projection here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everylabel.metrics.ranking import Ratio, find_hits, ndcg, recall
from everylabel.types import Csr, FloatArray, Ranking
from everylabel.vectors import unit_rows

SHOWN = 300  # labels of a kind in a projection


class Spread(NamedTuple):
    """`cosine`: the mean over all pairs of vectors, 1 when all are the same. `participation`: the number of directions
    in which they differ, (sum of the variances)^2 / sum of their squares; 0 when they do not differ."""

    cosine: float
    participation: float


def spread(vectors: FloatArray) -> Spread | None:
    """None for fewer than two vectors. O(n dim min(n, dim))."""
    n = len(vectors)
    if n < 2:
        return None
    units = unit_rows(vectors).astype(np.float64)
    own = np.square(units).sum()
    cosine = (np.square(units.sum(axis=0)).sum() - own) / (n * (n - 1))
    centred = units - units.mean(axis=0)
    total = np.square(centred).sum()
    gram = centred @ centred.T if n < centred.shape[1] else centred.T @ centred
    squares = np.square(gram).sum()
    return Spread(float(cosine), float(total**2 / squares) if total > 1e-12 * n else 0.0)


def projection(seen: FloatArray, unseen: FloatArray) -> dict[str, list[list[float]]]:
    """Unit vectors of labels, at most SHOWN of each kind, in the two directions in which all of them differ most."""
    parts = [unit_rows(vectors[:: max(1, -(-len(vectors) // SHOWN))]) for vectors in (seen, unseen)]
    both = np.concatenate(parts).astype(np.float64)
    if not len(both):
        return {"seen": [], "unseen": []}
    centre = both.mean(axis=0)
    _, _, directions = np.linalg.svd(both - centre, full_matrices=False)
    places = [np.round((part - centre) @ directions[:2].T, 3).tolist() for part in parts]
    return dict(zip(("seen", "unseen"), places, strict=True))


def row_of(
    step: int, ranking: Ranking, truth: Csr, hidden: NDArray[np.bool_], vectors: FloatArray, n_seen: int
) -> dict[str, Any]:
    """One line of a method's history, plain JSON values: null where there is nothing to measure.

    `vectors` are those of the labels, the first n_seen of labels with pairs.
    """
    hits, found = find_hits(ranking, truth), spread(vectors[n_seen:])
    return {
        "step": step,
        "ndcg@5": _value(ndcg(hits, 5)),
        "zsr@100": _value(recall(hits, 100, hidden)),
        "unseen_cosine": None if found is None else found.cosine,
        "unseen_participation": None if found is None else found.participation,
        "projection": projection(vectors[:n_seen], vectors[n_seen:]),
    }


def _value(metric: Ratio) -> float | None:
    """None where no document counts."""
    return metric.value if metric.possible.any() else None
