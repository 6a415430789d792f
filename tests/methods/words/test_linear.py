"""What is particular to the linear methods: xr-linear is svm without a tree; unseen labels; settings."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.errors import ConfigError, DataError
from everylabel.methods.base import Method
from everylabel.methods.words.linear import Svm, XrLinear
from everylabel.text.tfidf import TfidfConfig

N_LABELS = 24


@pytest.fixture(scope="module")
def data() -> Dataset:
    rng = random.Random(0)
    answers = [[label, rng.randrange(N_LABELS)] for label in range(N_LABELS) for _ in range(8)]
    texts = [
        " ".join(rng.sample([f"word{label}{letter}" for label in answer for letter in "abcde"], 6))
        for answer in answers
    ]
    labels = LabelSet.of(Label(f"id{i}", f"label {i}") for i in range(N_LABELS + 2))
    return Dataset(Documents.of(texts), labels, pairs_from_lists(answers, N_LABELS + 2))


def assert_identical(one: Method, other: Method, texts: Any) -> None:
    for mine, yours in zip(one.rank(texts, 8), other.rank(texts, 8), strict=True):
        np.testing.assert_array_equal(mine, yours)


@pytest.mark.parametrize("leaf_size", [N_LABELS, 1000])
def test_with_all_labels_in_one_leaf_it_is_svm(data: Dataset, leaf_size: int) -> None:
    assert_identical(XrLinear(leaf_size=leaf_size).fit(data), Svm().fit(data), data.documents)


def test_with_more_labels_than_a_leaf_holds_there_is_a_tree(data: Dataset) -> None:
    tree, svm = XrLinear(leaf_size=5, arity=3).fit(data), Svm().fit(data)
    texts = data.documents
    assert not np.array_equal(tree.rank(texts, 8).scores, svm.rank(texts, 8).scores)
    same = tree.rank(texts, 1).ids == svm.rank(texts, 1).ids
    assert same.mean() > 0.9


def test_labels_without_documents_are_not_ranked(data: Dataset) -> None:
    for method in (XrLinear(leaf_size=5).fit(data), Svm().fit(data)):
        found = method.rank(["word1a word2b"], N_LABELS + 2).ids[0]
        assert sorted(found.tolist()) == [-1, -1, *range(N_LABELS)]


@pytest.mark.parametrize("method", [XrLinear(leaf_size=5, arity=2), Svm()], ids=["tree", "flat"])
def test_the_order_of_the_vocabulary_changes_no_score(data: Dataset, method: XrLinear | Svm) -> None:
    order = np.random.default_rng(0).permutation(len(data.labels))
    other = Dataset(data.documents, data.labels.subset(order), data.required_pairs[:, order])

    def scores(data: Dataset) -> list[dict[str, float]]:
        ids, scores = method.fit(data).rank(data.documents, N_LABELS)
        return [{data.labels[i].id: s for i, s in zip(*row, strict=True)} for row in zip(ids, scores, strict=True)]

    assert scores(other) == scores(data)


def test_the_seed_matters_only_where_there_is_chance(data: Dataset) -> None:
    texts = data.documents
    one, other = (XrLinear(leaf_size=5, random_state=seed).fit(data).rank(texts, 1) for seed in (1, 2))
    assert (one.ids == other.ids).mean() > 0.9


def test_title_weight_makes_titles_count(data: Dataset) -> None:
    """Where title and text speak for different labels, a heavy title wins."""
    titled = Documents.of(data.documents.texts, titles=data.documents.texts)
    method = Svm(tfidf=TfidfConfig(ngrams=1, min_df=1, title_weight=10.0)).fit(Dataset(titled, data.labels, data.pairs))
    words = [" ".join(f"word{label}{letter}" for letter in "abcde") for label in (3, 7)]
    mixed = Documents.of(words, titles=words[::-1])
    assert method.rank(mixed, 1).ids.ravel().tolist() == [7, 3]


@pytest.mark.parametrize("settings", [{"leaf_size": 1}, {"arity": 1}, {"beam": 0}])
def test_settings_that_cannot_work(data: Dataset, settings: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="at least"):
        XrLinear(**settings).fit(data)  # type: ignore[arg-type]


def test_texts_without_words(data: Dataset) -> None:
    empty = Dataset(Documents.of([""] * len(data)), data.labels, data.pairs)
    for method in (XrLinear(), Svm()):
        with pytest.raises(DataError, match="are their texts empty"):
            method.fit(empty)


def test_selected_labels_are_found_below_any_branch() -> None:
    """A narrow beam follows few branches; those of selected labels are followed however deep they stand."""
    names = [f"topic{i}" for i in range(60)]
    texts = [f"{name} {name}s and more of {name}" for name in names for _ in range(3)]
    pairs = pairs_from_lists([[i // 3] for i in range(len(texts))], len(names))
    data = Dataset(Documents.of(texts), LabelSet.of(Label(name, name) for name in names), pairs)
    narrow = XrLinear(leaf_size=5, arity=4, beam=1).fit(data)
    wide = XrLinear(leaf_size=5, arity=4, beam=100).fit(data)
    wanted = np.arange(len(names)) % 9 == 4
    assert (narrow.rank(texts[:9], 60).ids >= 0).sum(axis=1).max() < 20
    found, expected = narrow.selecting(wanted).rank(texts[:9], 7), wide.selecting(wanted).rank(texts[:9], 7)
    assert (found.ids >= 0).all()
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.scores, expected.scores)
