"""What is watched while a dual encoder learns: how well it ranks, and whether the unseen labels' vectors collapse.

"Preserving Zero-shot Capability in Supervised Fine-tuning for Multi-label Text Classification": figures 3 and 8 are
ZSR@100 over the steps; figures 4 and 7, the collapse "into a small, isolated region", are numbers and a projection.
Small: `spread` of the unseen labels, beside that of the seen ones: all labels of a vocabulary may be alike. Isolated:
their cosine with seen labels, and whose neighbours they are (`isolation`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everylabel.metrics.ranking import Ratio, find_hits, ndcg, recall
from everylabel.types import Csr, FloatArray, Ranking
from everylabel.vectors import unit_rows

SHOWN = 300  # labels of a kind in a projection
ASKED = 1_000  # unseen labels whose neighbours are looked at
NEIGHBOURS = 10
ROWS = 64  # of them at a time


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


def between(one: FloatArray, other: FloatArray) -> float | None:
    """The mean cosine over all pairs of a vector of one kind and one of the other; None without any. O(n dim)."""
    if not len(one) or not len(other):
        return None
    means = [unit_rows(vectors).astype(np.float64).mean(axis=0) for vectors in (one, other)]
    return float(means[0] @ means[1])


def isolation(seen: FloatArray, unseen: FloatArray) -> float | None:
    """Are unseen labels next to each other only? 1: they are; 0: as many as among labels put anywhere at random.

    The share of unseen ones among the NEIGHBOURS nearest labels of an unseen label, above what chance has, over
    the most that it can be above it. None for fewer than two unseen labels, or without seen ones.
    O(ASKED x labels x dim).
    """
    n, n_seen = len(seen) + len(unseen), len(seen)
    if len(unseen) < 2 or not n_seen:
        return None
    units, k = unit_rows(np.concatenate([seen, unseen])), min(NEIGHBOURS, len(unseen) - 1)
    asked = np.arange(n_seen, n, max(1, -(-len(unseen) // ASKED)))
    n_unseen = 0
    for first in range(0, len(asked), ROWS):
        rows = asked[first : first + ROWS]
        cosines = units[rows] @ units.T
        cosines[np.arange(len(rows)), rows] = -np.inf  # not its own neighbour
        n_unseen += int((np.argpartition(-cosines, k - 1, axis=1)[:, :k] >= n_seen).sum())
    share, chance = n_unseen / (k * len(asked)), (len(unseen) - 1) / (n - 1)
    return float((share - chance) / (1 - chance))


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
    seen, unseen = vectors[:n_seen], vectors[n_seen:]
    hits, found, usual = find_hits(ranking, truth), spread(unseen), spread(seen)
    return {
        "step": step,
        "ndcg@5": _value(ndcg(hits, 5)),
        "zsr@100": _value(recall(hits, 100, hidden)),
        "unseen_cosine": None if found is None else found.cosine,
        "unseen_participation": None if found is None else found.participation,
        "seen_cosine": None if usual is None else usual.cosine,
        "unseen_seen_cosine": between(unseen, seen),
        "unseen_isolation": isolation(seen, unseen),
        "projection": projection(seen, unseen),
    }


def _value(metric: Ratio) -> float | None:
    """None where no document counts."""
    return metric.value if metric.possible.any() else None
