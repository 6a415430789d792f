"""Some labels alone: the same labels with the same probabilities as among all, and as many of them as are asked for."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tagger.conftest import Corpus, assert_identical

from everylabel.methods.traits import Traits
from everylabel.tagger import selected
from everylabel.tagger.tagger import Tagger
from everylabel.types import BoolArray


def mask_of(tagger: Tagger, share: float, seed: int = 0) -> BoolArray:
    return np.random.default_rng(seed).random(len(tagger.labels_)) < share


@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_the_ranking_of_all_without_the_others(fitted: Tagger, corpus: Corpus, share: float) -> None:
    texts, wanted = corpus.test.documents.subset(range(40)), mask_of(fitted, share)
    everything, k = fitted.rank(texts, len(fitted.labels_)), 10
    found = fitted.selecting(wanted).rank(texts, k)
    assert wanted[found.ids[found.ids >= 0]].all()
    assert (np.diff(np.where(found.ids >= 0, found.scores, 0), axis=1) <= 0).all()
    for row in range(len(texts)):
        among_all = {
            label: score
            for label, score in zip(everything.ids[row].tolist(), everything.scores[row].tolist(), strict=True)
            if label >= 0 and wanted[label]
        }
        shown = dict(zip(found.ids[row].tolist(), found.scores[row].tolist(), strict=True))
        for label in set(shown) & set(among_all):
            assert shown[label] == among_all[label]
        lowest = found.scores[row, -1]
        assert all(label in shown for label, score in among_all.items() if score > lowest)


def test_all_labels_selected_are_the_ranking_itself(fitted: Tagger, corpus: Corpus) -> None:
    texts = corpus.test.documents.subset(range(20))
    everything = np.ones(len(fitted.labels_), np.bool_)
    assert_identical(fitted.selecting(everything).rank(texts, 10), fitted.rank(texts, 10))


def test_experts_dig_as_deep_as_it_takes(fitted: Tagger, corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few labels of many are seldom among the best of any expert: without a further look most would not be there."""
    texts, wanted = corpus.test.documents.subset(range(40)), mask_of(fitted, 0.1, seed=3)
    k = int(wanted.sum())
    known = {name: expert.rank(texts, len(expert.labels_)) for name, expert in fitted.experts_.items()}
    monkeypatch.setattr(Traits, "depth", 20)  # as if there were many more labels than experts are asked for
    found = fitted.selecting(wanted).rank(texts, k)
    for row in range(len(texts)):
        said = {
            label
            for one in known.values()
            for label, score in zip(one.ids[row].tolist(), one.scores[row].tolist(), strict=True)
            if label >= 0 and score > 0 and wanted[label]
        }
        assert set(found.ids[row][found.ids[row] >= 0].tolist()) == said
    monkeypatch.setattr(selected, "MOST_DUG", 0)
    shallow = fitted.selecting(wanted).rank(texts, k)
    assert (shallow.ids >= 0).sum() < (found.ids >= 0).sum() / 2
    for row in range(len(texts)):  # what experts found without it stays as it was
        there = np.isin(found.ids[row], shallow.ids[row][shallow.ids[row] >= 0])
        n = int(there.sum())
        np.testing.assert_array_equal(found.ids[row][there], shallow.ids[row, :n])
        np.testing.assert_array_equal(found.scores[row][there], shallow.scores[row, :n])


def test_removed_labels_stay_removed(fitted: Tagger, corpus: Corpus) -> None:
    texts = corpus.test.documents.subset(range(10))
    first = int(fitted.rank(texts, 1).ids[0, 0])
    smaller = fitted.model_.without_labels([fitted.labels_.ids[first]])
    found = smaller.selecting(np.ones(len(fitted.labels_), np.bool_)).rank(texts, 10)
    assert first not in found.ids
    assert_identical(found, smaller.rank(texts, 10))


def test_nothing_is_selected(fitted: Tagger) -> None:
    assert (fitted.selecting(np.zeros(len(fitted.labels_), np.bool_)).rank(["lighthouses"], 5).ids == -1).all()
