"""Rare labels are favoured by as much as is asked for, among the labels that are there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logit

import everylabel
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.errors import ConfigError
from everylabel.methods.rare import CANDIDATES, favour_rare, reordered
from everylabel.types import Ranking

RANKED = Ranking(np.array([[3, 1, 0, -1]], np.int32), np.array([[0.9, 0.8, 0.1, -np.inf]], np.float32))
COUNTS = np.array([0, 9, 5, 999])


def test_log_odds_lose_their_share_of_the_frequency() -> None:
    found = reordered(RANKED, COUNTS, 0.3, 4)
    assert found.ids.tolist() == [[1, 3, 0, -1]]
    expected = [logit(p) - 0.3 * np.log1p(n) for p, n in ((0.8, 9), (0.9, 999), (0.1, 0))]
    np.testing.assert_allclose(logit(found.scores[0, :3].astype(np.float64)), expected, rtol=1e-4)
    assert found.scores[0, 3] == -np.inf


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=9), st.floats(0, 1), st.integers(1, 12))
def test_a_ranking_stays_a_ranking(scores: list[float], weight: float, k: int) -> None:
    ids = np.arange(len(scores), dtype=np.int32)
    ranking = Ranking.best_of(ids[None], np.array([scores], np.float32), len(scores))
    found = reordered(ranking, np.arange(len(scores)) ** 3, weight, k)
    there = found.ids[0] >= 0
    assert there.sum() == min(k, len(scores))
    assert set(found.ids[0][there].tolist()) <= set(ids.tolist())
    assert ((found.scores[0][there] > 0) & (found.scores[0][there] < 1)).all()
    assert (np.diff(found.scores[0][there]) <= 0).all()


def test_only_the_best_candidates_are_looked_at_and_all_that_are_asked_for() -> None:
    asked: list[int] = []

    def rank(k: int) -> Ranking:
        asked.append(k)
        return Ranking.empty(1, k)

    for weight, k in ((0.0, 5), (0.2, 5), (0.2, 300)):
        favour_rare(rank, np.zeros(1000, np.int64), weight, k)
    favour_rare(rank, np.zeros(7, np.int64), 0.2, 5)
    assert asked == [5, CANDIDATES, 300, 7]


@pytest.mark.parametrize("name", ["svm", "xr-linear"])
def test_methods_favour_rare_labels(name: str) -> None:
    documents = Documents.of(["sea ship"] * 8 + ["sea law"] + ["tax law"] * 3)
    labels = LabelSet.of([Label(name, name) for name in ("sea", "law", "tax")])
    data = Dataset(documents, labels, pairs_from_lists([[0]] * 8 + [[1]] + [[2]] * 3, 3))
    methods = [everylabel.method(name, rare_weight=weight).fit(data) for weight in (0.0, 1.0)]
    plain, favoured = (method.rank(["sea law"], 3) for method in methods)
    assert set(plain.ids[0].tolist()) == set(favoured.ids[0].tolist()) == {0, 1, 2}
    scores = [dict(zip(found.ids[0].tolist(), found.scores[0].tolist(), strict=True)) for found in (plain, favoured)]
    gained = {label: logit(scores[1][label]) - logit(scores[0][label]) for label in range(3)}
    assert gained == pytest.approx({label: -np.log1p(count) for label, count in enumerate((8, 1, 3))}, abs=1e-3)


def test_wrong_weights() -> None:
    for name in ("svm", "xr-linear", "matchxml", "depl"):
        with pytest.raises(ConfigError, match="rare_weight must be from 0"):
            everylabel.method(name, rare_weight=1.5).check()
