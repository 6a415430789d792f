"""Approximate search finds at least 95 % of the nearest 100."""

from __future__ import annotations

import numpy as np
import pytest

from everylabel.index.ann import AnnIndex, AnnSettings
from everylabel.index.exact import ExactIndex
from everylabel.types import FloatArray, Ranking
from everylabel.vectors import unit_rows


def clustered(n: int, dim: int, decay: float = 0.0) -> FloatArray:
    """Around 100 centres; with decay, the first dimensions are much larger than the others, as after a PCA."""
    random = np.random.default_rng(0)
    centres = random.normal(size=(100, dim))
    rows = centres[random.integers(0, 100, n)] + 0.8 * random.normal(size=(n, dim))
    vectors: FloatArray = unit_rows(rows * np.arange(1, dim + 1) ** -decay)
    return vectors


def recall(found: Ranking, true: Ranking) -> float:
    return float(np.mean([len(np.intersect1d(a, b)) / true.k for a, b in zip(found.ids, true.ids, strict=True)]))


@pytest.mark.parametrize("dtype", ["i8", "f16"])
@pytest.mark.parametrize("decay", [0.0, 1.0])
def test_recall_on_clustered_vectors(dtype: str, decay: float) -> None:
    vectors = clustered(5200, 64, decay)
    exact, ann = ExactIndex(64), AnnIndex(64, AnnSettings(dtype=dtype))  # type: ignore[arg-type]
    for index in (exact, ann):
        index.add(np.arange(5000), vectors[:5000])
    true, found = exact.search(vectors[5000:], 100), ann.search(vectors[5000:], 100)
    assert recall(found, true) >= 0.95
    assert abs(found.scores - true.scores).max() < 0.02


def test_recall_after_half_was_exchanged() -> None:
    vectors = clustered(5200, 64)
    exact, ann = ExactIndex(64), AnnIndex(64)
    for index in (exact, ann):
        index.add(np.arange(4000), vectors[:4000])
        index.remove(np.arange(0, 4000, 2))
        index.add(np.arange(4000, 5000), vectors[4000:5000])
    assert recall(ann.search(vectors[5000:], 100), exact.search(vectors[5000:], 100)) >= 0.95
