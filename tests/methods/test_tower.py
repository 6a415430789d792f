"""Documents and labels in one space: which label a row, a passage and a document stand for, against slow versions."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.encoders import conftest as encoders

from everylabel.data.dataset import Dataset, Documents, Label, LabelSet
from everylabel.encoders.base import EncoderConfig
from everylabel.methods.maclr.semantic import Semantic
from everylabel.methods.maclr.towers import Towers
from everylabel.methods.tower import Tower, best_owners, best_passages, first_of_each
from everylabel.text.views import Views
from everylabel.types import FloatArray, Ranking
from everylabel.vectors import unit_rows

tiny_folder = encoders.made_folder
LABELS = LabelSet.of(
    [Label("a", "fish"), Label("b", "law", "tax law", ("customs",)), Label("c", "wine"), Label("d", "union")]
)
TEXTS = ["the fish in the sea", "the law of the european union", "wine and milk", "the ship", "customs tax"]


@pytest.fixture
def static(tiny_folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> EncoderConfig:
    monkeypatch.setenv("EVERYLABEL_CACHE", str(cache))
    return EncoderConfig(teacher=str(tiny_folder))


def loaded(config: EncoderConfig, texts: list[str], *, center: bool = True) -> Tower:
    return Tower.load(config, Views.of(texts), LABELS, 0, center=center).index_labels(LABELS, "exact")


def slow_best(pairs: list[tuple[int, float]], k: int) -> list[tuple[int, float]]:
    """The best score of each label; best first, then by label; padded."""
    best: dict[int, float] = {}
    for label, score in pairs:
        if label >= 0:
            best[label] = max(score, best.get(label, -np.inf))
    found = sorted(best.items(), key=lambda item: (-item[1], item[0]))[:k]
    return found + [(-1, -np.inf)] * (k - len(found))


def pairs_of(ranking: Ranking) -> list[list[tuple[int, float]]]:
    assert ranking.ids.dtype == np.int32
    assert ranking.scores.dtype == np.float32
    rows = zip(ranking.ids.tolist(), ranking.scores.tolist(), strict=True)
    return [list(zip(ids, scores, strict=True)) for ids, scores in rows]


def ranked(seed: int, n: int, width: int, n_labels: int, *, again: bool) -> Ranking:
    """Random rankings with many ties and with padding; a label comes again in a row or does not."""
    rng = np.random.default_rng(seed)
    result = Ranking.empty(n, width)
    for row in range(n):
        if again:
            ids = rng.integers(0, n_labels, rng.integers(0, width + 1))
        else:
            ids = rng.permutation(n_labels)[: rng.integers(0, min(width, n_labels) + 1)]
        scores = rng.integers(-4, 5, len(ids)) / 4
        order = np.lexsort((ids, -scores))
        result.ids[row, : len(ids)], result.scores[row, : len(ids)] = ids[order], scores[order]
    return result


@settings(deadline=None)  # the first call compiles
@given(seed=st.integers(0, 9999), width=st.integers(1, 12), n_labels=st.integers(1, 8), k=st.integers(1, 15))
def test_first_of_each(seed: int, width: int, n_labels: int, k: int) -> None:
    given = ranked(seed, 3, width, n_labels, again=True)
    assert pairs_of(first_of_each(given.ids, given.scores, k)) == [slow_best(row, k) for row in pairs_of(given)]


@settings(deadline=None)  # the first call compiles
@given(seed=st.integers(0, 9999), n_passages=st.lists(st.integers(1, 4), min_size=1, max_size=5), k=st.integers(1, 9))
def test_best_passages(seed: int, n_passages: list[int], k: int) -> None:
    given = ranked(seed, sum(n_passages), 5, 7, again=False)
    begins = np.cumsum([0, *n_passages])  # as encode_passages gives them
    rows = pairs_of(given)
    expected = [
        slow_best([pair for row in rows[first:last] for pair in row], k) for first, last in pairwise(begins.tolist())
    ]
    assert pairs_of(best_passages(given, begins, k)) == expected


class Table:
    """An index whose queries are the scores of its rows: whole numbers, so that nothing is rounded."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def search(self, vectors: FloatArray, k: int) -> Ranking:
        self.asked.append(k)
        order = np.argsort(-vectors, axis=1, kind="stable")[:, :k]
        return Ranking(order.astype(np.int32), np.take_along_axis(vectors, order, 1).astype(np.float32)).top(k)


@settings(deadline=None)  # the first call compiles
@given(names=st.lists(st.integers(1, 9), min_size=1, max_size=8), seed=st.integers(0, 9999), data=st.data())
def test_best_owners(names: list[int], seed: int, data: st.DataObject) -> None:
    """One label of many names fills a short list of rows: then more rows must be asked for."""
    owners = np.repeat(np.arange(len(names), dtype=np.int32), names)
    k = data.draw(st.integers(1, len(names)))
    scores = np.random.default_rng(seed).integers(-3, 4, (4, len(owners))).astype(np.float32)
    index: Any = Table()
    found = best_owners(index, scores, owners, k)
    expected = [slow_best(list(zip(owners.tolist(), row, strict=True)), k) for row in scores.tolist()]
    assert pairs_of(found) == expected
    assert max(index.asked) <= len(owners)


def test_more_rows_are_asked_for_until_there_are_enough_labels() -> None:
    owners = np.array([0] * 30 + [1, 2], np.int32)
    scores = np.array([[1.0] * 30 + [0.5, 0.25]], np.float32)
    index: Any = Table()
    assert best_owners(index, scores, owners, 3).ids.tolist() == [[0, 1, 2]]
    assert len(index.asked) > 1
    assert index.asked == sorted(set(index.asked))


@pytest.mark.parametrize("kind", ["static", "transformer"])
def test_the_trainable_side_gives_the_vectors_that_are_searched(
    static: EncoderConfig, tiny_folder: Path, kind: str
) -> None:
    config = static if kind == "static" else EncoderConfig(kind=str(tiny_folder), cache=False)
    tower = loaded(config, TEXTS)
    towers = Towers(tower.encoder.module, tower.mean).eval()
    tokens = tower.encoder.tokenize(TEXTS)
    with torch.inference_mode():
        documents, labels = towers.documents(tokens).numpy(), towers.labels(tokens).numpy()
    plain = tower.encoder.encode(TEXTS)
    np.testing.assert_allclose(labels, plain, atol=1e-5)
    np.testing.assert_allclose(documents, unit_rows(plain - plain.mean(axis=0)), atol=1e-5)


@pytest.mark.parametrize("center", [True, False])
def test_scores_by_hand(static: EncoderConfig, center: bool) -> None:
    tower = loaded(static, TEXTS, center=center)
    vectors = tower.encoder.encode(TEXTS)
    texts = [["fish"], ["law", "customs", "tax law"], ["wine"], ["union"]]
    mean = vectors.mean(axis=0) if center else np.zeros(tower.encoder.dim)
    np.testing.assert_allclose(tower.mean, mean, atol=1e-6)
    documents = unit_rows(vectors - mean)
    cosines = np.stack([(documents @ tower.encoder.encode(own).T).max(axis=1) for own in texts], axis=1)
    found = tower.rank(Views.of(TEXTS), 4)
    np.testing.assert_allclose(found.scores, -np.sort(-(1 + cosines) / 2, axis=1), atol=1e-5)
    np.testing.assert_array_equal(found.ids, np.argsort(-cosines, axis=1))
    np.testing.assert_array_equal(
        np.take_along_axis(tower.scores(Views.of(TEXTS)), found.ids.astype(np.int64), 1), found.scores
    )


def test_without_documents_nothing_is_taken_away(static: EncoderConfig) -> None:
    tower = loaded(static, [])
    assert not tower.mean.any()
    assert tower.rank(Views.of(["wine", "fish"]), 1).ids.ravel().tolist() == [2, 0]


def test_the_mean_does_not_depend_on_the_order(static: EncoderConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it is the mean of a sample."""
    whole = loaded(static, TEXTS).mean
    monkeypatch.setattr("everylabel.methods.tower.MEAN_SAMPLE", 3)
    documents = Documents.of(TEXTS)
    means = []
    for rows in ([0, 1, 2, 3, 4], [3, 1, 4, 0, 2]):
        means.append(Tower.load(static, Views.of(documents.subset(rows)), LABELS, 0, center=True).mean)
    np.testing.assert_allclose(means[0], means[1], atol=1e-6)
    assert np.abs(means[0] - whole).max() > 1e-3


def test_the_best_passage_counts(static: EncoderConfig) -> None:
    long_text = "of the and in of the and in wine wine wine wine"

    def score(**settings: Any) -> float:
        config = EncoderConfig(teacher=static.teacher, max_tokens=4, **settings)
        tower, views = loaded(config, TEXTS, center=False), Views.of(["fish", long_text, "law"])
        found = tower.rank(views, 4)
        assert found.ids.shape == (3, 4)
        assert tower.scores(views)[1, 2] == found.scores[1][found.ids[1] == 2][0]
        assert found.ids[[0, 2], 0].tolist() == [0, 1]
        return float(found.scores[1][found.ids[1] == 2][0])

    assert score(passages="max") == pytest.approx(1, abs=1e-5)
    assert score(passages="first") < 0.9


def test_semantic_centres_when_it_is_told_to(static: EncoderConfig) -> None:
    data = Dataset(Documents.of(TEXTS), LABELS)
    centred, plain = (Semantic(encoder=static, center=center).fit(data) for center in (True, False))
    expected = loaded(static, TEXTS, center=False).rank(Views.of(data.documents), 4)
    np.testing.assert_array_equal(plain.rank(data.documents, 4).scores, expected.scores)
    assert np.abs(centred.rank(data.documents, 4).scores - expected.scores).max() > 0.01
