"""Spherical k-means: which vectors belong together. The clusters of MACLR's multi-scale adaptive clustering."""

from __future__ import annotations

import numpy as np

from everylabel.types import FloatArray, IntArray
from everylabel.vectors import unit_rows

_ROUNDS, _FEW_ROUNDS, _MANY = 6, 2, 256  # centres of many small clusters hardly move after two rounds
_SAMPLE = 32  # vectors a centre is learned from, on average: more do not move it
_BLOCK = 4096


def spherical_kmeans(vectors: FloatArray, n_clusters: int, rng: np.random.Generator) -> IntArray:
    """Each unit row's cluster. Lloyd's rounds on a sample, then all rows: O(rows x clusters x dim).

    Centres begin as rows; one that loses all of its rows begins again as another.
    """
    n_clusters = min(n_clusters, len(vectors))
    sample = vectors[rng.permutation(len(vectors))[: _SAMPLE * n_clusters]]
    centres = sample[:n_clusters].copy()
    for _ in range(_ROUNDS if n_clusters <= _MANY else _FEW_ROUNDS):
        nearest = _nearest(sample, centres)
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, sample)
        empty = ~sums.any(axis=1)
        sums[empty] = sample[rng.integers(len(sample), size=int(empty.sum()))]
        centres = unit_rows(sums)
    return _nearest(vectors, centres)


def _nearest(vectors: FloatArray, centres: FloatArray) -> IntArray:
    blocks = [np.argmax(vectors[i : i + _BLOCK] @ centres.T, axis=1) for i in range(0, len(vectors), _BLOCK)]
    return np.concatenate(blocks).astype(np.int32)
