"""What is held out, what is hidden, and that neither depends on the order of the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from everylabel.data.bands import in_band
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.errors import DataError
from everylabel.tagger import rehearsal
from everylabel.tagger.rehearsal import LEAST_DEV, Rehearsal, in_vocabulary, labelled, rehearsals

N_LABELS = 60


def data(n_docs: int, *, seed: int = 0, every: int = 7, prefix: str = "d") -> Dataset:
    """Label 0 is frequent, label 59 has no document, and each `every`-th document has no label."""
    rng = np.random.default_rng(seed)
    lists = [[] if i % every == 0 else [0, *rng.integers(1, N_LABELS - 1, 3)] for i in range(n_docs)]
    documents = Documents.of([f"text {i}" for i in range(n_docs)])
    documents = Documents(
        [f"{prefix}{(i * 37) % n_docs:05}-{i}" for i in range(n_docs)], documents.texts, documents.titles
    )
    labels = LabelSet.of(Label(f"l{(i * 17) % N_LABELS:02}", f"label {i}") for i in range(N_LABELS))
    return Dataset(documents, labels, pairs_from_lists(lists, N_LABELS))


def shuffled(dataset: Dataset, seed: int = 5) -> Dataset:
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(len(dataset)), rng.permutation(len(dataset.labels))
    pairs = dataset.required_pairs[rows][:, columns]
    return Dataset(dataset.documents.subset(rows), dataset.labels.subset(columns), pairs)


def ids_of(dataset: Dataset, labels: Sequence[int] | Any) -> list[str]:
    return sorted(dataset.labels[int(i)].id for i in labels)


def drawn_by(found: list[Rehearsal]) -> list[Any]:
    """Everything by ids: who is held out, in which order; who learns; what is hidden."""
    return [
        (one.held.documents.ids, sorted(one.train.documents.ids), ids_of(one.train, one.hidden), one.outside)
        for one in found
    ]


def assert_rehearsal(one: Rehearsal, whole: Dataset) -> None:
    counts = one.train.counts
    assert not set(one.train.documents.ids) & set(one.held.documents.ids)
    assert labelled(one.held) == len(one.held) > 0
    assert one.train.required_pairs.nnz > 0
    assert (counts[one.hidden] == 0).all()
    assert len(set(one.hidden.tolist())) == len(one.hidden) > 0
    assert not in_band(whole.counts, "head")[one.hidden].any()  # the frequent ones are never hidden
    assert (whole.counts[one.hidden] > 0).all()
    assert one.held.required_pairs[:, one.hidden].nnz > 0  # and some of the held-out documents have them
    kept = np.setdiff1d(np.arange(len(counts)), one.hidden)
    rows = [whole.documents.ids.index(id) for id in one.train.documents.ids]
    np.testing.assert_array_equal(counts[kept], whole.subset(rows).counts[kept])  # no other label loses a pair


def test_a_large_dev_split_is_what_is_held_out() -> None:
    train, dev = data(400), data(500, seed=1, prefix="v")
    (one,) = rehearsals(train, dev, 0)
    assert_rehearsal(one, train)
    assert one.outside
    assert one.train.documents == train.documents
    assert set(one.held.documents.ids) == {id for i, id in enumerate(dev.documents.ids) if dev.required_pairs[i].nnz}


def test_a_dev_split_that_is_larger_than_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "MOST_HELD", 310)
    (one,) = rehearsals(data(300), data(700, prefix="v"), 0)
    assert len(one.held) == labelled(one.held) == 310


def test_a_small_dev_split_is_not_enough() -> None:
    train = data(200)
    dev = data(LEAST_DEV, prefix="v")  # not all of them have labels
    for small in (dev, dev.without_pairs(), None):
        assert drawn_by(list(rehearsals(train, small, 0))) == drawn_by(list(rehearsals(train, None, 0)))


def test_a_dev_split_of_another_vocabulary() -> None:
    train, dev = data(300), shuffled(data(400, seed=2, prefix="v"))
    extra = LabelSet.of([Label("elsewhere", "elsewhere"), *dev.labels.labels])
    wider = Dataset(dev.documents, extra, pairs_from_lists([[0]] * len(dev), len(extra)))
    lists = [[0, *(row.indices + 1)] for row in dev.required_pairs]
    both = Dataset(dev.documents, extra, pairs_from_lists(lists, len(extra)))
    (one,), (other,) = rehearsals(train, dev, 0), rehearsals(train, both, 0)
    assert one.held.labels == train.labels
    assert drawn_by([one]) == drawn_by([other])
    assert (one.held.required_pairs != other.held.required_pairs).nnz == 0
    assert labelled(in_vocabulary(train.labels, wider)) == 0
    with pytest.raises(DataError, match="no labelled pair"):
        in_vocabulary(train.labels, dev.without_pairs())


@pytest.mark.parametrize("n_docs", [30, 150, 400])
def test_of_few_documents_each_is_held_out_once(n_docs: int) -> None:
    train = data(n_docs)
    found = list(rehearsals(train, None, 0))
    assert len(found) > 1
    held = [id for one in found for id in one.held.documents.ids]
    rows = np.flatnonzero(np.diff(train.required_pairs.indptr))
    assert sorted(held) == sorted(train.documents.ids[i] for i in rows)
    for one in found:
        assert not one.outside
        assert len(one.train) + len(one.held) == len(train)  # documents without labels are always there to be read
        assert_rehearsal(one, train)
    assert len({tuple(one.hidden.tolist()) for one in found}) > 1  # not the same labels each time


def test_of_many_documents_some_are_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "CROSS_FITTED", 300)
    train = data(500)
    (one,) = rehearsals(train, None, 0)
    assert_rehearsal(one, train)
    assert 0 < len(one.held) < len(train) / 2
    monkeypatch.setattr(rehearsal, "MOST_HELD", 20)
    (one,) = rehearsals(train, None, 0)
    assert len(one.held) == 20


@pytest.mark.parametrize("cross_fitted", [100, 10_000])
@pytest.mark.parametrize("with_dev", [True, False])
def test_the_order_of_the_data_does_not_matter(
    cross_fitted: int, with_dev: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rehearsal, "CROSS_FITTED", cross_fitted)
    train, dev = data(300), data(400, seed=3, prefix="v") if with_dev else None
    other = list(rehearsals(shuffled(train), shuffled(dev, seed=8) if dev else None, 4))
    one = list(rehearsals(train, dev, 4))
    assert drawn_by(one) == drawn_by(other)
    for mine, theirs in zip(one, other, strict=True):
        pairs = in_vocabulary(mine.held.labels, theirs.held).required_pairs
        assert (mine.held.required_pairs != pairs).nnz == 0
    assert drawn_by(one) != drawn_by(list(rehearsals(train, dev, 6)))  # the seed does


def test_one_label_keeps_its_pairs() -> None:
    for n_labels in (1, 2):
        labels = LabelSet.of(Label(str(i), f"label {i}") for i in range(n_labels))
        train = Dataset(
            Documents.of([f"text {i}" for i in range(30)]),
            labels,
            pairs_from_lists([[i % n_labels] for i in range(30)], n_labels),
        )
        found = list(rehearsals(train, None, 0))
        assert len(found) > 1
        for one in found:
            assert one.train.required_pairs.nnz > 0
            assert len(one.hidden) < n_labels


def test_hidden_labels_that_are_all_rare_leave_something(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "HIDDEN_SHARE", 1.0)
    for one in rehearsals(data(60), None, 0):
        assert one.train.required_pairs.nnz > 0


@pytest.mark.parametrize("n_docs", [0, 1, 2, 3])
def test_too_little_to_hold_anything_out(n_docs: int) -> None:
    train = data(20, every=100).subset(range(1, 1 + n_docs))
    assert list(rehearsals(train, None, 0)) == []
    assert list(rehearsals(train.with_pairs(train.required_pairs * 0), None, 0)) == []


def test_labelled_documents() -> None:
    assert labelled(data(70)) == 60
    assert labelled(data(70).without_pairs()) == 0
    assert labelled(data(70).subset([])) == 0
