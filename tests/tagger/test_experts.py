"""Experts that share their work say what they would say alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from everylabel.linear.nearest import InvertedLists
from everylabel.memo import Last
from everylabel.methods.words.neighbours import NearestNeighbours
from everylabel.methods.xml0.fusion import Xml0
from everylabel.tagger.experts import share_neighbours
from everylabel.types import Ranking


def assert_identical(one: Ranking, other: Ranking) -> None:
    np.testing.assert_array_equal(one.ids, other.ids)
    np.testing.assert_array_equal(one.scores, other.scores)


def test_the_last_answer_is_kept_and_no_other() -> None:
    asked: list[str] = []

    def answer(key: str) -> str:
        asked.append(key)
        return key.upper()

    last: Last[str, str] = Last()
    assert [last.of(key, lambda key=key: answer(key)) for key in "aabba"] == list("AABBA")  # type: ignore[misc]
    assert asked == ["a", "b", "a"]


def test_neighbours_are_looked_for_once(corpus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[int] = []
    search = InvertedLists.nearest

    def counted(self: InvertedLists, vectors: Any, k: int) -> Any:
        searches.append(vectors.shape[0])
        return search(self, vectors, k)

    knn = NearestNeighbours().fit(corpus.train)
    xml0 = Xml0(base="knn", search="greedy", label_encoder="").fit(corpus.train)
    documents = corpus.test.documents
    alone = xml0.rank(documents, 20), knn.rank(documents, 20)
    share_neighbours({"knn": knn, "xml0": xml0})
    knn.last_._kept = None
    monkeypatch.setattr(InvertedLists, "nearest", counted)
    assert_identical(knn.rank(documents, 20), alone[1])
    assert_identical(xml0.rank(documents, 20), alone[0])
    assert searches == [len(documents)]
    knn.learn(documents, corpus.test.required_pairs)
    assert_identical(xml0.rank(documents, 20), alone[0])  # what knn learns is its own


def test_neighbours_of_other_settings_are_their_own(corpus: Any) -> None:
    knn = NearestNeighbours(neighbours=3).fit(corpus.train)
    xml0 = Xml0(base="knn", search="greedy", label_encoder="").fit(corpus.train)
    share_neighbours({"knn": knn, "xml0": xml0})
    assert isinstance(xml0.base_, NearestNeighbours)
    assert xml0.base_.lists_ is not knn.lists_


def test_a_list_of_texts_that_was_changed_is_read_again(corpus: Any) -> None:
    knn = NearestNeighbours().fit(corpus.train)
    documents = corpus.test.documents.subset([0, 1])
    knn.rank(documents, 5)
    documents.texts[0], documents.titles[0] = documents.texts[1], documents.titles[1]
    found = knn.rank(documents, 5)
    np.testing.assert_array_equal(found.ids[0], found.ids[1])
