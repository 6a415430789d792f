"""The vocabulary: what a tuple of labels is, in columns; ids are found as in a dictionary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everylabel.data import ids as ids_module
from everylabel.data.columns import TextColumn
from everylabel.data.dataset import Label, LabelSet, Translation
from everylabel.data.ids import IdIndex, hashes_of
from everylabel.data.label import KINDS
from everylabel.data.labels import ANY_LANGUAGE
from everylabel.errors import DataError

word = st.text(st.characters(), max_size=5)
few = st.lists(word, max_size=3).map(tuple)
tag = st.sampled_from(["fi", "sv", "pt-BR"])
translations = st.lists(st.builds(Translation, tag, word, st.sampled_from(KINDS)), max_size=3).map(tuple)
label = st.builds(
    Label, word, word, word, few, few, word, word, few, few, few, translations, st.booleans(), few, st.just("") | tag
)
plain = st.builds(Label, word, word, word, few, few)
labels = st.lists(plain | label, unique_by=lambda label: label.id)


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


@given(labels, st.sampled_from([("fi",), ("fi", "pt"), (ANY_LANGUAGE,), ()]))
def test_translations_that_are_read_are_label_texts_too(given: list[Label], languages: tuple[str, ...]) -> None:
    made = LabelSet.of(given).reading(languages)
    read = {"fi": ["fi"], "pt": ["pt-BR"], ANY_LANGUAGE: ["fi", "sv", "pt-BR"]}
    spoken = {tag for language in languages for tag in read[language]}
    expected = []
    for i, label in enumerate(given):
        own = [one for one in label.translations if one.language in spoken]
        beside = (*label.alternatives, *(one.text for one in own if one.kind != "description"))
        described = [one.text for one in own if one.kind == "description"]
        every = [label.name, *beside, *filter(None, [label.description]), *described]
        expected += [(text, i) for text in every]
        assert made.names_beside(i) == beside
        assert made.texts_of(i) == [text for text in every if text]
    texts, owners = made.texts()
    assert list(zip(texts, owners.tolist(), strict=True)) == expected
    assert made == LabelSet.of(given)
    assert LabelSet.restored(made.state()).read_languages == languages
    assert made[1:].read_languages == made.extended([Label("\x01new", "")]).read_languages == languages


def test_a_column_that_no_label_has_anything_in_costs_nothing() -> None:
    plain = LabelSet.of(Label(f"l{i}", f"name {i}", "about", ("also",), ("l0",)) for i in range(100))
    assert sorted(plain.state()) == [
        "alternatives", "alternatives/offsets", "descriptions", "ids", "index/hashes", "index/places", "names",
        "parents", "parents/offsets",
    ]  # fmt: skip
    both = plain.extended([Label("x", "x")])
    for column in (both.notations, both.types, both.translations):
        assert column.is_blank
    assert sum(both.notations.whole()[1].strides) == 0
    assert plain.extended([Label("x", "x", notation="7")]).notations[99:] == ["", "7"]


def test_names_are_shown_in_the_language_that_is_asked_for() -> None:
    spoken = (Translation("fi", "laivat"), Translation("fi", "alukset", "alternative"), Translation("pt-BR", "navios"))
    made = LabelSet.of(
        [Label("a", "ships", alternatives=("vessels",), translations=spoken, language="en"), Label("b", "ports")]
    )
    assert [made.name_in(0, language) for language in ("", "en", "fi", "FI", "pt", "pt-PT", "de")] == [
        "ships", "ships", "laivat", "laivat", "navios", "navios", "ships",
    ]  # fmt: skip
    assert [made.alternatives_in(0, language) for language in ("en", "fi", "pt", "de")] == [
        ("vessels",), ("alukset",), (), ("vessels",),
    ]  # fmt: skip
    assert made.name_in(1, "fi") == "ports"
    assert (made.language, made.languages) == ("en", ("fi", "pt-BR"))
    assert (LabelSet.of([]).language, LabelSet.of([]).languages) == ("", ())
    british = LabelSet.of([Label("a", "colour", translations=(Translation("en-US", "color"),), language="en-GB")])
    assert [british.name_in(0, one) for one in ("en", "en-GB", "en-US")] == ["colour", "colour", "color"]


def test_broader_and_narrower_labels_by_their_places() -> None:
    made = LabelSet.of(
        [Label("a", "a"), Label("b", "b", parents=("a", "nowhere", "a")), Label("c", "c", parents=("b", "a"))]
    )
    assert [made.parent_places[i].indices.tolist() for i in range(3)] == [[], [0], [0, 1]]
    assert [made.children[i].indices.tolist() for i in range(3)] == [[1, 2], [2], []]
    assert LabelSet.of([]).children.shape == (0, 0)


def test_what_stands_for_a_deprecated_label() -> None:
    def old(label_id: str, *by: str) -> Label:
        return Label(label_id, label_id, deprecated=True, replaced_by=by)

    made = LabelSet.of(
        [Label("a", "a", replaced_by=("b",)), Label("b", "b"), old("to b", "b"), old("to both", "a", "b"), old("alone")]
        + [
            old("far", "to b", "nowhere"),
            old("round", "and round"),
            old("and round", "round"),
            old("to alone", "alone"),
        ]
    )
    assert [made.ids[i] for i in made.successors] == [
        "a", "b", "b", "to both", "alone", "b", "round", "and round", "to alone",
    ]  # fmt: skip


def test_a_label_s_uri_is_its_id_where_that_is_one() -> None:
    made = LabelSet.of([Label("http://x/1", "a"), Label("2", "b", uri="http://x/2"), Label("three", "c")])
    assert [made.uri_of(i) for i in range(3)] == ["http://x/1", "http://x/2", ""]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"translations": [("f i", "x")]}, "expected a language such as fi or pt-BR, got 'f i'"),
        ({"translations": [("fi", "x", "nickname")]}, "a translation is a name or alternative or description"),
        ({"translations": ("fi", "x")}, "expected a translation"),
        ({"translations": "fi"}, "expected a list of translations"),
        ({"language": "?"}, "expected a language"),
        ({"deprecated": "no"}, "deprecated is a str, expected True or False"),
        ({"types": "x"}, "expected a list of types"),
        ({"notation": 7}, "the notation of a label is an int"),
    ],
)
def test_what_a_label_cannot_have(given: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Label("a", "a", **given)


def test_damaged_columns_are_found() -> None:
    one = Label("a", "a", translations=(Translation("fi", "b"),), deprecated=True, types=("t",))
    state = LabelSet.of([one, Label("b", "b")]).state()
    LabelSet.restored(state).check()
    with pytest.raises(ValueError, match="language or kind that is none"):
        LabelSet.restored(state | {"translations/table": TextColumn.of(["fi nickname"])})
    for key, value in (
        ("translations/tags", np.array([7], np.int32)),
        ("translations/offsets", np.array([0, 2, 1])),
        ("types/offsets", np.array([0, 9, 1])),
        ("deprecated", np.array([1, 0], np.int8)),
    ):
        with pytest.raises(ValueError, match=key.split("/")[0]):
            LabelSet.restored(state | {key: value}).check()
    with pytest.raises(ValueError, match="different lengths"):
        LabelSet.restored(state | {"deprecated": np.array([True])})


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


def test_what_is_shown_of_a_label_is_in_a_language_and_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everylabel.data.labels._MOST_SHOWN", 2)
    finnish = Translation("fi", "Kala")
    labels = LabelSet.of([Label("a", "Fish", notation="597", translations=(finnish,)), Label("http://b.example", "B")])
    for _ in range(2):
        assert labels.shown(0) == {"id": "a", "name": "Fish", "notation": "597"}
        assert labels.shown(0, "fi") == {"id": "a", "name": "Kala", "notation": "597"}
        assert labels.shown(1, "fi") == {"id": "http://b.example", "name": "B", "uri": "http://b.example"}
    assert len(labels._known_shown) <= 2
