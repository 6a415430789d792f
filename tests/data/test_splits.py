"""Splits: the right sizes, the same for the same seed, and independent of the order of rows."""

from __future__ import annotations

import numpy as np
import pytest

from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.data.splits import hold_out_documents, hold_out_labels, keep_label_share, keep_pair_share
from everylabel.errors import ConfigError, DataError

N_DOCS, N_LABELS = 60, 20


@pytest.fixture
def dataset() -> Dataset:
    rng = np.random.default_rng(1)
    documents = Documents.of([f"text {i}" for i in range(N_DOCS)])
    lists = [rng.choice(N_LABELS - 2, 3, replace=False).tolist() for _ in range(N_DOCS)]  # the last two stay unseen
    labels = LabelSet.of(Label(f"l{i}", f"name {i}") for i in range(N_LABELS))
    return Dataset(documents, labels, pairs_from_lists(lists, N_LABELS))


def test_hold_out_documents(dataset: Dataset) -> None:
    train, held = hold_out_documents(dataset, share=0.25, seed=3)
    assert (len(train), len(held)) == (45, 15)
    assert set(train.documents.ids) | set(held.documents.ids) == set(dataset.documents.ids)
    assert hold_out_documents(dataset, count=15, seed=3)[1].documents == held.documents
    assert hold_out_documents(dataset, count=15, seed=4)[1].documents != held.documents
    turned = dataset.subset(np.random.default_rng(0).permutation(N_DOCS))
    assert set(hold_out_documents(turned, share=0.25, seed=3)[1].documents.ids) == set(held.documents.ids)


def test_hold_out_labels(dataset: Dataset) -> None:
    rest, chosen = hold_out_labels(dataset, count=5, seed=3)
    assert len(chosen) == 5
    assert (dataset.counts[chosen] > 0).all()
    assert (rest.counts[chosen] == 0).all()
    others = np.setdiff1d(np.arange(N_LABELS), chosen)
    np.testing.assert_array_equal(rest.counts[others], dataset.counts[others])
    assert len(rest) == N_DOCS
    assert len(rest.labels) == N_LABELS


def test_few_shot_by_labels_keeps_all_pairs_of_some_labels(dataset: Dataset) -> None:
    few, chosen = keep_label_share(dataset, 0.25, seed=3)
    assert len(chosen) == 5
    np.testing.assert_array_equal(few.counts[chosen], dataset.counts[chosen])
    assert few.required_pairs.nnz == dataset.counts[chosen].sum()


def test_few_shot_by_pairs_keeps_some_pairs(dataset: Dataset) -> None:
    few = keep_pair_share(dataset, 0.1, seed=3)
    assert few.required_pairs.nnz == round(0.1 * dataset.required_pairs.nnz)
    assert few.required_pairs.multiply(dataset.required_pairs).nnz == few.required_pairs.nnz
    order = np.random.default_rng(0).permutation(N_DOCS)
    turned = keep_pair_share(dataset.subset(order), 0.1, seed=3)
    np.testing.assert_array_equal(turned.required_pairs.toarray(), few.required_pairs.toarray()[order])


def test_a_small_share_is_at_least_one_and_nothing_is_changed(dataset: Dataset) -> None:
    before = dataset.required_pairs.copy()
    assert len(keep_label_share(dataset, 0.001)[1]) == 1
    hold_out_labels(dataset, share=0.5)
    assert (before != dataset.required_pairs).nnz == 0
    assert len(hold_out_documents(dataset, share=0.0)[1]) == 0
    assert len(hold_out_documents(dataset, share=1.0)[0]) == 0


def test_wrong_sizes_are_explained(dataset: Dataset) -> None:
    with pytest.raises(ConfigError, match="either a share or a count"):
        hold_out_documents(dataset)
    with pytest.raises(ConfigError, match=r"between 0 and 1, got 1\.5"):
        keep_pair_share(dataset, 1.5)
    with pytest.raises(ConfigError, match="between 0 and 60"):
        hold_out_documents(dataset, count=61)
    with pytest.raises(DataError, match="needs labelled documents"):
        keep_label_share(dataset.without_pairs(), 0.5)
