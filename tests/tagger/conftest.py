"""The sample corpus, taggers fitted on it for all tests, and how good they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import everylabel
from everylabel.data import load_dataset, sample
from everylabel.data.dataset import Dataset
from everylabel.metrics.ranking import find_hits, ndcg
from everylabel.tagger.tagger import Tagger
from everylabel.types import Ranking

Copy = Callable[[], Tagger]
EXPERTS = ("tfidf", "knn", "svm")  # quick, and different from each other
SMALL = ("tfidf", "knn")


class Corpus(NamedTuple):
    train: Dataset
    test: Dataset


def quality(ranking: Ranking, test: Dataset) -> float:
    return ndcg(find_hits(ranking, test.required_pairs), 5).value


def place(tagger: Tagger, texts: list[str], label: str) -> list[float]:
    """Where the label stands; infinity: nowhere."""
    ids = tagger.rank(texts, len(tagger.labels_)).ids.tolist()
    at = tagger.labels_.index[label]
    return [row.index(at) if at in row else np.inf for row in ids]


def assert_identical(one: Ranking, other: Ranking) -> None:
    np.testing.assert_array_equal(one.ids, other.ids)
    np.testing.assert_array_equal(one.scores, other.scores)


@contextmanager
def on_one_thread() -> Iterator[None]:
    """Trees of a few thousand rows are grown many times faster so, where other processes have the other cores."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVERYLABEL_THREADS", "1")
        yield


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    with on_one_thread():
        yield


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = sample(tmp_path_factory.mktemp("corpus") / "sample")
    return Corpus(load_dataset(folder, "train"), load_dataset(folder, "test"))


@pytest.fixture(scope="session")
def fitted(corpus: Corpus) -> Tagger:
    """Only to be read."""
    with on_one_thread():
        return Tagger(experts=EXPERTS).fit(corpus.train)


@pytest.fixture(scope="session")
def readers(corpus: Corpus) -> Tagger:
    """Of experts that say nothing of words that they do not know. Only to be read."""
    with on_one_thread():
        return Tagger(experts=SMALL).fit(corpus.train)


@pytest.fixture
def copied(fitted: Tagger, tmp_path: Path) -> Callable[[], Any]:
    """`copied()`: the fitted one saved and loaded, to be changed."""

    def copy() -> Any:
        fitted.save(tmp_path / "fitted")
        return everylabel.load(tmp_path / "fitted")

    return copy
