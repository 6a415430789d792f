"""New labelled documents: how they are read, what is refused, and when a full fit is worth it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.errors import DataError
from everylabel.tagger.update import MOST_LEARNED, MOST_NEW_LABELS, as_dataset, measured, refit_due
from everylabel.types import Ranking

LABELS = LabelSet.of([Label("f", "fish"), Label("t", "tax"), Label("m", "milk")])
VISIBLE = np.zeros(len(LABELS), np.bool_)


def test_texts_and_ids() -> None:
    found = as_dataset(LABELS, VISIBLE, [("the sea", ["f"]), ("a levy on milk", ["m", "t", "m"]), ("nothing", [])])
    assert found.labels is LABELS
    assert found.documents.texts == ["the sea", "a levy on milk", "nothing"]
    assert found.required_pairs.toarray().tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 0]]
    once = as_dataset(LABELS, VISIBLE, iter([("the sea", ("f",))]))  # read once
    assert once.required_pairs.toarray().tolist() == [[1, 0, 0]]


def test_data_of_another_vocabulary() -> None:
    other = LabelSet.of([Label("x", "unused"), Label("m", "milk"), Label("f", "fish")])
    given = Dataset(Documents.of(["sea", "cow"], ["A title", ""]), other, pairs_from_lists([[2], [1, 2]], 3))
    found = as_dataset(LABELS, VISIBLE, given)
    assert found.labels == LABELS
    assert found.documents == given.documents
    assert found.required_pairs.toarray().tolist() == [[1, 0, 0], [1, 0, 1]]


@pytest.mark.parametrize("as_data", [True, False])
def test_a_label_that_is_not_there(as_data: bool) -> None:
    other = LabelSet.of([Label("f", "fish"), Label("zoo", "zoo"), Label("ape", "ape")])
    lists = [["f"], ["zoo", "ape"]]
    given: Any = [("text", own) for own in lists]
    if as_data:
        pairs = pairs_from_lists([[other.index[label] for label in own] for own in lists], 3)
        given = Dataset(Documents.of(["a", "b"]), other, pairs)
    with pytest.raises(
        DataError, match="label 'ape' is not in the vocabulary, and 1 more; nothing was learned: add new"
    ):
        as_dataset(LABELS, VISIBLE, given)


@pytest.mark.parametrize("given", [[], [("text", [])], Dataset(Documents.of(["text"]), LABELS)])
def test_nothing_to_learn(given: Any) -> None:
    with pytest.raises(DataError, match="none of these documents has a label, so there is nothing to learn; give"):
        as_dataset(LABELS, VISIBLE, given)


def test_how_good_it_was() -> None:
    truth = pairs_from_lists([[0], [2]], 3)
    assert measured(Ranking(np.array([[0, 1], [2, 1]], np.int32), np.full((2, 2), 0.5, np.float32)), truth) == 1
    assert measured(Ranking.empty(2, 5), truth) == 0


def test_a_full_fit_is_due_after_many_documents_or_many_new_labels() -> None:
    counts = np.concatenate([np.ones(100, np.int64), np.zeros(50, np.int64)])
    few, many = int(1_000 * MOST_LEARNED), int(100 * MOST_NEW_LABELS)
    assert refit_due(0, 1_000, 100, counts) == ""
    assert refit_due(few, 1_000, 100 + many, counts) == ""
    documents, labels = refit_due(few + 1, 1_000, 100, counts), refit_due(few, 1_000, 101 + many, counts)
    assert f"{few + 1:,} documents were learned since the fit on 1,000" in documents
    assert f"{many + 1} labels got their first documents" in labels
    for why in (documents, labels):
        assert "fit again" in why
    assert refit_due(1, 0, 1, counts * 0)  # a tagger that was fitted without any pair
