"""The README's example without a single labelled document: clearly better than popularity and than chance."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import everylabel
from everylabel.data import load_dataset, sample
from everylabel.metrics.ranking import evaluate
from everylabel.types import Ranking


def test_hybrid_without_pairs_beats_popularity_with_pairs_and_chance(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    sample(tmp_path / "sample")
    train, test = load_dataset(tmp_path / "sample", "train"), load_dataset(tmp_path / "sample", "test")
    hybrid = everylabel.method("hybrid").fit(train.without_pairs()).rank(test.documents, 10)
    popularity = everylabel.method("popularity").fit(train).rank(test.documents, 10)
    rng = np.random.default_rng(0)
    ids = np.array([rng.permutation(len(train.labels))[:10] for _ in range(len(test))], np.int32)
    chance = Ranking(ids, np.tile(np.linspace(1, 0, 10, dtype=np.float32), (len(test), 1)))

    def ndcg(ranking: Ranking) -> float:
        value = evaluate(ranking, test.required_pairs, train.counts, len(train))["nDCG@5"]
        assert value is not None
        return value

    assert ndcg(hybrid) > 1.5 * ndcg(popularity)
    assert ndcg(hybrid) > 5 * ndcg(chance)
    assert ndcg(hybrid) > 0.5
