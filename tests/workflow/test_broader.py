"""Broader labels in place of uncertain narrow ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import everylabel
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.errors import ConfigError
from everylabel.types import Ranking
from everylabel.workflow.broader import SURE, with_broader
from everylabel.workflow.tag import Cut, suggest

LABELS = LabelSet.of(
    [
        Label("cats", "Big cats", parents=("animals",)),
        Label("tiger", "Tiger", parents=("cats",)),
        Label("lion", "Lion", parents=("cats",)),
        Label("wolf", "Wolf", parents=("dogs",)),
        Label("dogs", "Dogs", parents=("animals",)),
        Label("animals", "Animals"),
    ]
)


def ranked(**scores: float) -> Ranking:
    found = sorted(scores, key=lambda name: -scores[name])
    ids = np.array([[LABELS.index[name] for name in found]], np.int32)
    return Ranking(ids, np.array([[scores[name] for name in found]], np.float32))


def broadened(k: int = 10, hidden: tuple[str, ...] = (), **scores: float) -> dict[str, Any]:
    allowed = np.array([label not in hidden for label in LABELS.ids])
    (ids, values), _ = with_broader(ranked(**scores), LABELS, allowed, k)
    pairs = zip(ids[0].tolist(), values[0].tolist(), strict=True)
    return {LABELS.ids[i]: pytest.approx(value, abs=1e-6) for i, value in pairs if i >= 0}


def test_two_that_are_uncertain_make_one_that_is_not() -> None:
    assert broadened(tiger=0.4, lion=0.35, wolf=0.2) == {"cats": 1 - 0.6 * 0.65, "wolf": 0.2}
    assert broadened(tiger=0.4, lion=0.3, cats=0.2) == {"cats": 1 - 0.6 * 0.7 * 0.8}


def test_what_is_sure_stays() -> None:
    assert broadened(tiger=0.6, lion=0.4, wolf=0.45) == {"tiger": 0.6, "wolf": 0.45, "lion": 0.4}
    assert broadened(cats=0.7, tiger=0.4, lion=0.4) == {"cats": 0.7, "tiger": 0.4, "lion": 0.4}


def test_where_all_together_are_uncertain_nothing_changes() -> None:
    assert broadened(tiger=0.2, lion=0.2, wolf=0.1) == {"tiger": 0.2, "lion": 0.2, "wolf": 0.1}


def test_labels_that_may_not_be_suggested_are_not() -> None:
    assert broadened(tiger=0.4, lion=0.35, hidden=("cats",)) == {"tiger": 0.4, "lion": 0.35}


def test_only_parents_of_what_would_be_shown() -> None:
    assert "cats" not in broadened(1, wolf=0.45, tiger=0.4, lion=0.35)


def test_what_it_stands_for_is_said() -> None:
    _, replaced = with_broader(ranked(tiger=0.4, lion=0.35, cats=0.1), LABELS, np.ones(6, np.bool_), 10)
    assert list(replaced[0]) == [0]
    assert [label for label, _ in replaced[0][0]] == [1, 2]
    assert [p for _, p in replaced[0][0]] == pytest.approx([0.4, 0.35])


@settings(deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 9), max_size=2), min_size=10, max_size=10),
    st.lists(st.floats(0.0625, 1, width=32), min_size=1, max_size=10),
)
def test_a_broader_label_is_at_least_as_probable_as_each_that_it_stands_for(
    parents: list[list[int]], scores: list[float]
) -> None:
    labels = LabelSet.of(Label(str(i), str(i), parents=tuple(map(str, own))) for i, own in enumerate(parents))
    values = np.array([sorted(scores, reverse=True)], np.float32)
    ranking = Ranking(np.arange(values.shape[1], dtype=np.int32)[None], values)
    (ids, found), (replaced,) = with_broader(ranking, labels, np.ones(10, np.bool_), 10)
    shown = ids[0][ids[0] >= 0].tolist()
    chances = dict(zip(shown, found[0].tolist(), strict=False))
    assert len(set(shown)) == len(shown)
    assert (np.diff(found[0][: len(shown)]) <= 0).all()
    for broad, narrow in replaced.items():
        assert chances[broad] >= max([SURE, *(p for _, p in narrow)]) - 1e-6
        assert not {label for label, _ in narrow} & set(shown)
    before = set(ranking.ids[0].tolist())
    assert before - set(shown) == {label for narrow in replaced.values() for label, _ in narrow}


def test_in_suggestions() -> None:
    texts = ["a whisker and stripes", "a whisker and a mane", "a whisker and fur"] * 4 + ["howling at night"] * 30
    pairs = [[1], [2], [0]] * 4 + [[3]] * 30
    data = Dataset(Documents.of(texts), LABELS, pairs_from_lists(pairs, len(LABELS)))
    method = everylabel.method("knn").fit(data)
    plain = suggest(method, ["whisker"], Cut(5))[0].labels
    found = suggest(method, ["whisker"], Cut(5), broader=True)[0].labels
    assert {one["id"] for one in plain} == {"tiger", "lion", "cats"}
    assert [one["id"] for one in found] == ["cats"]
    assert found[0]["instead_of"] == [one for one in plain if one["id"] != "cats"]
    assert found[0]["score"] >= max(one["score"] for one in plain)
    with pytest.raises(ConfigError, match="has one order"):
        suggest(method, ["whisker"], Cut(5), "interleave", broader=True)
