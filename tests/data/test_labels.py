"""The vocabulary: what a tuple of labels is, in columns; ids are found as in a dictionary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everylabel.data import ids as ids_module
from everylabel.data.columns import TextColumn
from everylabel.data.dataset import Label, LabelSet
from everylabel.data.ids import IdIndex, hashes_of
from everylabel.errors import DataError

word = st.text(st.characters(), max_size=5)
few = st.lists(word, max_size=3).map(tuple)
labels = st.lists(st.builds(Label, word, word, word, few, few), unique_by=lambda label: label.id)


@given(labels)
def test_labels_come_back(given: list[Label]) -> None:
    made = LabelSet.of(given)
    assert list(made) == given
    assert [made[i] for i in range(len(given))] == given
    assert made == tuple(given)
    assert made.labels == given
    assert made.ids == [label.id for label in given]
    assert made.names == [label.name for label in given]
    assert LabelSet.of(made) is made
    assert LabelSet.restored(made.state()) == made
    assert all(label in made for label in given)
    assert Label("\x00none", "") not in made


@given(labels, labels, st.slices(8), st.data())
def test_parts_and_longer_ones(one: list[Label], two: list[Label], at: slice, data: st.DataObject) -> None:
    known = {label.id for label in one}
    new = [label for label in two if label.id not in known]
    longer = LabelSet.of(one).extended(new)
    assert list(longer) == one + new
    assert longer == LabelSet.of(one + new)
    assert LabelSet.of(one) + tuple(new) == longer
    assert list(longer.labels[at]) == (one + new)[at]
    assert longer.index.to_dict() == {label.id: i for i, label in enumerate(one + new)}
    rows = data.draw(st.permutations(range(len(longer))))[: len(longer) // 2 + 1]
    chosen = longer.subset(rows)
    assert list(chosen) == [(one + new)[i] for i in rows]
    assert dict(chosen.index) == {(one + new)[i].id: place for place, i in enumerate(rows)}
    again = longer.extended(Label(f"\x01more {i}", "") for i in range(3))
    assert [again.index[label.id] for label in again] == list(range(len(again)))
    assert LabelSet.restored(again.state()).index.to_dict() == again.index.to_dict()


@given(labels)
def test_label_texts_are_names_alternatives_and_descriptions(given: list[Label]) -> None:
    texts, owners = LabelSet.of(given).texts()
    expected = [
        (text, i)
        for i, label in enumerate(given)
        for text in (label.name, *label.alternatives, *([label.description] if label.description else []))
    ]
    assert list(zip(texts, owners.tolist(), strict=True)) == expected


@pytest.mark.parametrize("rows", [range(2, 2), range(5, 2), range(0, 3, 2), [2, 0], np.array([1]), range(-1, 1)])
def test_subset_takes_any_rows(rows: Any) -> None:
    made = LabelSet.of(Label(f"l{i}", f"name {i}") for i in range(4))
    assert list(made.subset(rows)) == [made[i] for i in rows]


def test_a_range_shares_the_columns() -> None:
    made = LabelSet.of(Label(f"l{i}", f"name {i}") for i in range(100))
    part = made.subset(range(10, 90))
    assert np.shares_memory(part.names.whole()[0], made.names.whole()[0])
    longer = made.extended([Label("new", "new")])
    assert any(np.shares_memory(one.data, made.names.whole()[0]) for one in longer.names._parts)


def test_an_id_that_occurs_twice_is_an_error_and_the_first_is_named() -> None:
    twice = [Label(i, i) for i in ("a", "b", "c", "c", "a")]
    with pytest.raises(DataError, match="label id 'c' occurs twice in the vocabulary; ids must be unique"):
        LabelSet.of(twice)
    made = LabelSet.of(twice[:3])
    for rows in ([0, 1, 1], [1, -2]):
        with pytest.raises(DataError, match="'b' occurs twice"):
            made.subset(rows)
    with pytest.raises(DataError, match="'a' occurs twice"):
        made.extended([Label("d", "d"), Label("a", "another")])
    with pytest.raises(DataError, match="'d' occurs twice"):
        made.extended([Label("d", "d"), Label("d", "another")])
    assert len(made) == 3


def test_a_row_that_is_not_there_is_an_index_error() -> None:
    with pytest.raises(IndexError):
        LabelSet.of([Label("a", "a")]).subset([1])


def test_columns_of_different_lengths_are_refused() -> None:
    state = LabelSet.of([Label("a", "a"), Label("b", "b")]).state()
    for key in ("names", "alternatives/offsets", "index/hashes"):
        with pytest.raises(ValueError, match="different lengths"):
            LabelSet.restored(state | {key: state[key][:1]})


@given(st.lists(word, unique=True), st.lists(word), st.lists(word, unique=True))
def test_places_are_those_of_a_dictionary(ids: list[str], asked: list[str], more: list[str]) -> None:
    check_index(ids, asked, more)


@pytest.mark.parametrize("modulus", [1, 3])
@given(ids=st.lists(word, unique=True), asked=st.lists(word), more=st.lists(word, unique=True))
def test_ids_of_one_hash_are_told_apart(modulus: int, ids: list[str], asked: list[str], more: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ids_module, "hashes_of", lambda texts: hashes_of(texts) % np.uint64(modulus))
        check_index(ids, asked, more)


def check_index(ids: list[str], asked: list[str], more: list[str]) -> None:
    expected = {one: i for i, one in enumerate(ids)}
    index = IdIndex.of(TextColumn.of(ids))
    asked = asked + ids[::2]
    assert dict(index) == index.to_dict() == expected
    assert (len(index), list(index)) == (len(expected), list(expected))
    assert index.places(asked).tolist() == [expected.get(one, -1) for one in asked]
    assert [index.get(one) for one in asked] == [expected.get(one) for one in asked]
    assert index.first_twice() is None
    new = [one for one in more if one not in expected]
    longer, wider = index, expected | {one: len(ids) + i for i, one in enumerate(new)}
    for i in range(len(new)):
        longer = longer.extended(TextColumn.of(ids + new[: i + 1]))
    assert longer.places(asked + new).tolist() == [wider.get(one, -1) for one in asked + new]
    assert 3 not in longer  # type: ignore[comparison-overlap]
    if ids:
        assert IdIndex.of(TextColumn.of([*ids, *new, ids[-1]])).first_twice() == ids[-1]


def test_hashes_are_always_the_same() -> None:
    """They are saved in models."""
    column = TextColumn.of(["", "a", "Seefahrt", "\ud800", "x" * 100])
    found = hashes_of(column).tolist()
    assert found[:3] == [0, 0xADA16715120BCDD0, 0x206A6385B2FD991F]
    assert len(set(found)) == 5


def test_hashing_in_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    column = TextColumn.of([f"{i}" * (i % 30) for i in range(300)])
    whole = hashes_of(column)
    monkeypatch.setattr(ids_module, "_BLOCK", 50)
    assert np.array_equal(hashes_of(column), whole)
    assert np.array_equal(hashes_of(column[7:19]), whole[7:19])
