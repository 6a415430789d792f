"""The sample corpus, and one tagger fitted on it for all tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import everylabel
from everylabel.data import load_dataset, sample
from everylabel.data.dataset import Dataset
from everylabel.tagger.tagger import Tagger

EXPERTS = ("tfidf", "knn", "svm")  # quick, and different from each other


class Corpus(NamedTuple):
    train: Dataset
    test: Dataset


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Trees of a few thousand rows are grown many times faster so, where other processes have the other cores."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVERYLABEL_THREADS", "1")
        yield


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = sample(tmp_path_factory.mktemp("corpus") / "sample")
    return Corpus(load_dataset(folder, "train"), load_dataset(folder, "test"))


@pytest.fixture(scope="session")
def fitted(corpus: Corpus) -> Tagger:
    """Only to be read."""
    return Tagger(experts=EXPERTS).fit(corpus.train)


@pytest.fixture
def copied(fitted: Tagger, tmp_path: Path) -> Callable[[], Any]:
    """`copied()`: the fitted one saved and loaded, to be changed."""

    def copy() -> Any:
        fitted.save(tmp_path / "fitted")
        return everylabel.load(tmp_path / "fitted")

    return copy
