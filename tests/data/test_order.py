"""Data in the order of their ids: the same, whatever order they came in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.data.splits import in_order_of_ids

IDS, LABEL_IDS = ["d10", "d2", "d1", "d3"], ["z", "a", "m"]


@pytest.fixture
def dataset() -> Dataset:
    documents = Documents(IDS, [f"text of {i}" for i in IDS], [f"title of {i}" for i in IDS])
    labels = LabelSet.of(Label(i, f"name of {i}") for i in LABEL_IDS)
    return Dataset(documents, labels, pairs_from_lists([[0], [1, 2], [], [0, 2]], 3), name="data")


def known(dataset: Dataset) -> dict[str, tuple[str, str, set[str]]]:
    """What is known of each document, by ids alone."""
    documents = dataset.documents
    rows = [set(np.array(dataset.labels.ids)[row.indices].tolist()) for row in dataset.required_pairs]
    return {documents.ids[i]: (documents.titles[i], documents.texts[i], row) for i, row in enumerate(rows)}


def test_sorted_and_nothing_else_changed(dataset: Dataset) -> None:
    ordered = in_order_of_ids(dataset)
    assert ordered.documents.ids == ["d1", "d10", "d2", "d3"]
    assert ordered.labels.ids == ["a", "m", "z"]
    assert ordered.labels.names == ["name of a", "name of m", "name of z"]
    assert known(ordered) == known(dataset)
    assert known(ordered)["d3"] == ("title of d3", "text of d3", {"z", "m"})
    assert ordered.name == "data"
    assert dataset.documents.ids == IDS


@pytest.mark.parametrize("seed", range(4))
def test_any_order_gives_the_same(dataset: Dataset, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(len(IDS)), rng.permutation(len(LABEL_IDS))
    pairs = dataset.required_pairs[rows][:, columns]
    shuffled = Dataset(dataset.documents.subset(rows), dataset.labels.subset(columns), pairs)
    one, other = in_order_of_ids(dataset), in_order_of_ids(shuffled)
    assert (one.documents, one.labels) == (other.documents, other.labels)
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(one.pairs, part), getattr(other.pairs, part))


def test_without_pairs_and_without_documents(dataset: Dataset) -> None:
    assert in_order_of_ids(dataset.without_pairs()).pairs is None
    empty = in_order_of_ids(Dataset(Documents.of([]), dataset.labels))
    assert len(empty) == 0
    assert empty.labels.ids == ["a", "m", "z"]


def test_features_go_with_their_documents(dataset: Dataset) -> None:
    features = csr_matrix(np.diag([1.0, 2, 3, 4]))
    bag = replace(dataset, documents=replace(dataset.documents, features=features))
    ordered = in_order_of_ids(bag).documents.features
    assert ordered is not None
    np.testing.assert_array_equal(ordered.toarray(), np.diag([1.0, 2, 3, 4])[[2, 0, 1, 3]])


def test_equal_ids_stay_as_they_stand() -> None:
    documents = Documents(["b", "a", "b", "a"], ["1", "2", "3", "4"], [""] * 4)
    assert in_order_of_ids(Dataset(documents, LabelSet.of([]))).documents.texts == ["2", "4", "1", "3"]
