"""A column of texts is what a list of them is, whatever the texts are, and shares its bytes."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everylabel.data import columns
from everylabel.data.columns import TextColumn, TextLists

texts = st.lists(st.text(st.characters()))  # halves of characters, too
slices = st.slices(12)


@given(texts)
def test_texts_come_back(given: list[str]) -> None:
    column = TextColumn.of(given)
    assert list(column) == given
    assert [column[i] for i in range(len(given))] == given
    assert column == given
    assert len(column) == len(given)
    assert list(pickle.loads(pickle.dumps(column))) == given
    assert TextColumn.of(column) is column


@given(texts, texts, texts)
def test_joined_columns_are_joined_lists(one: list[str], two: list[str], three: list[str]) -> None:
    together = one + two + three
    for column in (
        TextColumn.of(one).extended(two).extended(three),
        TextColumn.chained(map(TextColumn.of, (one, two, three))),
    ):
        assert list(column) == together
        assert [column[i] for i in range(-len(together), 0)] == together
        assert column == TextColumn.of(together)
        assert TextColumn(*column.whole()) == together


@given(texts, texts, slices, slices)
def test_parts_are_parts_of_the_list(one: list[str], two: list[str], first: slice, second: slice) -> None:
    column = TextColumn.chained([TextColumn.of(one), TextColumn.of(two)])
    assert list(column[first]) == (one + two)[first]
    assert list(column[first][second]) == (one + two)[first][second]
    assert TextColumn(*column[first].whole()) == (one + two)[first]


@given(texts.filter(bool), texts, st.data())
def test_taken_in_any_order(one: list[str], two: list[str], data: st.DataObject) -> None:
    together = one + two
    rows = data.draw(st.lists(st.integers(-len(together), len(together) - 1)))
    column = TextColumn.chained([TextColumn.of(one), TextColumn.of(two)])
    assert list(column.take(rows)) == [together[i] for i in rows]
    assert list(column.take(np.array(rows, np.int64))) == [together[i] for i in rows]


@given(texts, texts)
def test_equal_means_equal_texts(one: list[str], two: list[str]) -> None:
    assert (TextColumn.of(one) == TextColumn.of(two)) == (one == two)
    assert (TextColumn.of(one) == two) == (one == two)
    n = min(len(one), len(two))
    same = TextColumn.of(one)[:n].same(TextColumn.of(two)[:n])
    assert same.tolist() == [a == b for a, b in zip(one, two, strict=False)]


@given(texts, st.sampled_from(" a\x00\x7f"))
def test_occurrences_are_counted_in_each_text(given: list[str], character: str) -> None:
    column = TextColumn.of(given)
    assert column.occurrences(character).tolist() == [text.count(character) for text in given]
    assert column[1:].occurrences(character).tolist() == [text.count(character) for text in given[1:]]
    assert column.sizes().tolist() == [len(text.encode("utf-8", "surrogatepass")) for text in given]


def test_long_texts_and_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "_BLOCK", 100)
    monkeypatch.setattr(columns, "_AT_ONCE", 7)
    given = [f"{i} " * (i % 40) + "é" * (i % 2) for i in range(500)] + ["x" * 10_000]
    column = TextColumn.of(given)
    assert list(column) == given
    rows = np.random.default_rng(0).permutation(len(given))
    assert list(column.take(rows)) == [given[i] for i in rows]
    assert column == TextColumn.of(list(column))


@pytest.mark.parametrize("at", [3, -4, 10**12])
def test_a_place_that_is_not_there_is_an_index_error(at: int) -> None:
    column = TextColumn.of(["a", "b", "c"])
    with pytest.raises(IndexError):
        column[at]
    with pytest.raises(IndexError):
        column.take([at])
    with pytest.raises(IndexError):
        TextLists.of([["a"], [], []])[at]


def test_numbers_of_numpy_are_places() -> None:
    assert TextColumn.of(["a", "b"])[np.int64(1)] == "b"  # type: ignore[call-overload]


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(TypeError):
        TextColumn.of([1])  # type: ignore[list-item]


def test_longer_columns_share_the_bytes() -> None:
    column = TextColumn.of(["some text"] * 1000)
    longer = column.extended(["one more"])
    assert any(np.shares_memory(column.whole()[0], part.data) for part in longer._parts)
    assert np.shares_memory(column[10:20].whole()[0], column.whole()[0])
    assert column.whole()[0] is column.whole()[0]  # nothing is copied to save it


def test_a_column_that_grows_text_by_text_stays_in_few_parts() -> None:
    column, given = TextColumn.of([]), list[str]()
    for i in range(300):
        column, given = column.extended([f"text {i}"]), [*given, f"text {i}"]
        assert len(column._parts) <= 10
    assert list(column) == given


def test_repr_is_short() -> None:
    assert repr(TextColumn.of("abcd")) == "TextColumn(['a', 'b', 'c', ...], 4 texts)"
    assert repr(TextLists.of([("a",), ()])) == "TextLists([('a',), ()], 2 lists)"


lists = st.lists(st.lists(st.text(st.characters()), max_size=3).map(tuple))


@given(lists, lists, slices, st.data())
def test_lists_of_texts_are_lists(
    one: list[tuple[str, ...]], two: list[tuple[str, ...]], at: slice, data: st.DataObject
) -> None:
    together = one + two
    column = TextLists.of(one).extended(TextLists.of(two))
    assert list(column) == together
    assert [column[i] for i in range(len(together))] == together
    assert column == together
    assert column == TextLists.of(together)
    assert (TextLists.of(one) == TextLists.of(two)) == (one == two)
    assert list(column[at]) == together[at]
    assert TextLists(*column[at].whole()) == together[at]
    assert column[at].extended(column) == together[at] + together
    if together:
        rows = data.draw(st.lists(st.integers(0, len(together) - 1)))
        assert list(column.take(rows)) == [together[i] for i in rows]
        assert column.sizes().tolist() == list(map(len, together))


@pytest.mark.parametrize("make", [TextColumn.of, TextLists.of])
def test_is_not_equal_to_something_else(make: Callable[..., object]) -> None:
    assert make(["a"]) != "a"
    assert make([]) != 0


def test_a_huge_range_is_refused_at_once() -> None:
    """A crafted model may ask for the first 10^12 of its labels."""
    for rows in (range(10**12), range(-(10**12), 0), range(3, 10**18, 7)):
        with pytest.raises(IndexError, match="there are 2 rows"):
            TextColumn.of(["a", "b"]).take(rows)
