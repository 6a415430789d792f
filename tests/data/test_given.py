"""Texts as callers give them: whatever holds strings in order, and a clear error that says where something else is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import everylabel
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.errors import DataError, EverylabelError

TEXTS = ["a boat", "a train"]


class Series:
    """As pandas' and polars' columns of a table: not a list, but each value in its turn."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)


class Frame:
    """As pandas' tables: iterating gives the names of the columns, not a row."""

    columns = ("text", "labels")

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)


@pytest.fixture(scope="module")
def method() -> Any:
    labels = LabelSet.of([Label("sea", "Seafaring"), Label("rail", "Railways")])
    data = Dataset(Documents.of(TEXTS), labels, pairs_from_lists([[0], [1]], 2))
    return everylabel.method("knn").fit(data)


@pytest.mark.parametrize(
    "given",
    [
        tuple(TEXTS),
        (text for text in TEXTS),
        map(str, TEXTS),
        np.array(TEXTS),
        np.array(TEXTS, object),
        np.array(TEXTS, np.dtypes.StringDType()),
        Series(TEXTS),
        Series(list(np.array(TEXTS))),
        dict.fromkeys(TEXTS).keys().__iter__(),
    ],
    ids=lambda given: type(given).__name__,
)
def test_whatever_holds_strings_in_order_is_a_list_of_texts(given: Any, method: Any) -> None:
    documents = Documents.of(given)
    assert documents.texts == TEXTS
    assert {type(text) for text in documents.texts} == {str}
    assert method.rank(documents, 1).ids.ravel().tolist() == [0, 1]


def test_a_generator_is_ranked_and_tagged(method: Any) -> None:
    assert method.rank((text for text in TEXTS), 1).ids.ravel().tolist() == [0, 1]


@pytest.mark.parametrize("pandas_type", ["object", "string", "category"])
def test_a_column_of_pandas(pandas_type: str) -> None:
    pandas = pytest.importorskip("pandas")
    assert Documents.of(pandas.Series(TEXTS, index=[7, 3], dtype=pandas_type)).texts == TEXTS
    with pytest.raises(DataError, match="expected a list of texts, got a DataFrame; give one column of it"):
        Documents.of(pandas.DataFrame({"text": TEXTS}))


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        (None, "None"),
        (float("nan"), "a float"),
        (np.float64("nan"), "a float64"),
        (b"bytes", "bytes"),
        (3, "an int"),
        (["nested"], "a list"),
        ({"text": "x"}, "a dict"),
        (np.array(["x"]), "a ndarray"),
    ],
)
def test_what_is_no_string_is_named_by_its_place_and_kind(wrong: Any, kind: str, method: Any) -> None:
    expected = re.escape(f"text 17 is {kind}, expected a string")
    texts = ["fine"] * 17 + [wrong, None]
    for give in (Documents.of, method.rank, lambda texts: method.rank(Series(texts))):
        with pytest.raises(DataError, match=expected):
            give(texts)
    with pytest.raises(EverylabelError, match="title 17 is"):
        Documents.of(["fine"] * 19, titles=texts)
    with pytest.raises(DataError, match=expected):
        Documents([str(i) for i in range(19)], texts, [""] * 19)


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        ("one text", "one text; put it into a list: [text]"),
        (np.str_("one text"), "one text; put it into a list: [text]"),
        (b"one text", "bytes"),
        (None, "None"),
        (3, "an int"),
        ({"a text": 1}, "a dict"),
        ({"a text"}, "a set"),
        (np.array("a text"), "a ndarray"),
        (Frame(), "a Frame; give one column of it"),
    ],
)
def test_what_is_no_list_of_texts(wrong: Any, kind: str, method: Any) -> None:
    for give in (Documents.of, method.rank):
        with pytest.raises(DataError, match=re.escape(f"expected a list of texts, got {kind}")):
            give(wrong)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"alternatives": "abc"}, "label 'x': expected a list of alternatives, got one alternative"),
        ({"parents": "abc"}, "label 'x': expected a list of parents, got one parent"),
        ({"alternatives": ["fine", 3]}, "label 'x': alternative 1 is an int, expected a string"),
        ({"alternatives": None}, "label 'x': expected a list of alternatives, got None"),
        ({"name": None}, "the name of a label is None, expected a string"),
        ({"id": 7}, "the id of a label is an int, expected a string"),
        ({"description": 1.5}, "the description of a label is a float, expected a string"),
    ],
)
def test_labels_of_wrong_kinds(fields: dict[str, Any], expected: str) -> None:
    with pytest.raises(DataError, match=re.escape(expected)):
        Label(**{"id": "x", "name": "X"} | fields)


def test_alternatives_in_a_list_are_those_in_a_tuple() -> None:
    given: Any = ["one", np.str_("two")]
    assert Label("x", "X", alternatives=given) == Label("x", "X", alternatives=("one", "two"))
    assert {type(text) for text in Label(np.str_("x"), "X", alternatives=given).alternatives} == {str}


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ([("id", "name")], "label 0 is a tuple, expected a Label"),
        ([Label("a", "A"), "b"], "label 1 is a str, expected a Label"),
        (Label("a", "A"), "expected a list of labels, got a Label"),
        ("abc", "expected a list of labels, got a str"),
    ],
)
def test_what_is_no_label(wrong: Any, expected: str, method: Any) -> None:
    for give in (LabelSet.of, method.add_labels):
        with pytest.raises(DataError, match=re.escape(expected)):
            give(wrong)
    assert len(method.labels_) == 2


def test_one_id_is_no_list_of_ids(method: Any) -> None:
    with pytest.raises(DataError, match="expected a list of label ids, got one label id"):
        method.remove_labels("sea")


@pytest.mark.parametrize("k", [2.5, "3", None])
def test_ranks_are_counted_in_whole_numbers(k: Any, method: Any) -> None:
    with pytest.raises(DataError, match="k must be a whole number"):
        method.rank(TEXTS, k)
    assert method.rank(TEXTS, np.int64(2)).ids.shape == (2, 2)
