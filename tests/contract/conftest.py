"""A toy problem with a provable answer: every label has its own words, and documents are made of their labels' words.

Fourteen labels with different numbers of documents (so that the most popular ones are known), one that no document has.
Every registered method, fitted on it once.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.contract.cases import CASES, Case, Fit, with_model
from tests.encoders.conftest import make_folder

import everylabel
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.methods.base import Method

N_LABELS = 14
COMMON = ["a", "often", "rarely", "sometimes", "unused", "heading"]
LATER = ["penguin", "colony", "steam", "engine", "paddle", "wheel"]  # words of labels that come after the fit
SYLLABLES = ["ba", "de", "fi", "go", "ku", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "zo"]


def words_of(label: int) -> list[str]:
    """Five words that no other label has."""
    return [f"{SYLLABLES[label]}{ending}" for ending in ("rtan", "lmis", "nkor", "ssel", "ndra")]


def text_of(labels: tuple[int, ...], rng: random.Random) -> str:
    words = [word for label in labels for word in rng.sample(words_of(label), 4)]
    rng.shuffle(words)
    return " ".join([*words, rng.choice(["often", "rarely", "sometimes"])])


@dataclass(frozen=True)
class Toy:
    """`train`, and documents with their answers: of one label's words (`single`), and of two labels' (`double`)."""

    train: Dataset
    single: list[str]
    double: list[str]
    double_answers: list[set[int]]
    n_labels: int = N_LABELS

    def bag_of_words(self, texts: list[str]) -> Documents:
        """The same documents without their texts: which labels' words occur in each."""
        columns = {word: i for i, word in enumerate(word for label in range(N_LABELS) for word in words_of(label))}
        lists = [[columns[word] for word in text.split() if word in columns] for text in texts]
        n = len(texts)
        return Documents([str(i) for i in range(n)], [""] * n, [""] * n, pairs_from_lists(lists, len(columns)))

    def shuffled(self, seed: int) -> tuple[Dataset, Any]:
        """The same data with documents and vocabulary in another order, and where each new label was before."""
        rng = np.random.default_rng(seed)
        docs, labels = rng.permutation(len(self.train)), rng.permutation(len(self.train.labels))
        pairs = self.train.required_pairs[docs][:, labels]
        return Dataset(self.train.documents.subset(docs), self.train.labels.subset(labels), pairs), labels


@pytest.fixture(scope="session")
def toy() -> Toy:
    return make_toy()


def make_toy() -> Toy:
    rng = random.Random(0)
    answers: list[tuple[int, ...]] = []
    for label in range(N_LABELS):
        answers += [(label,)] * (4 + label)
        answers += [(label, (label + step) % N_LABELS) for step in (1, 3, 5)]
    names = [" ".join(words_of(label)[:2]) for label in range(N_LABELS)]
    labels = [Label(f"q{(5 * i) % N_LABELS:02}", name, description=name) for i, name in enumerate(names)]
    labels.append(Label("unseen", "unused heading"))
    texts = [text_of(answer, rng) for answer in answers]
    train = Dataset(Documents.of(texts), LabelSet.of(labels), pairs_from_lists(answers, len(labels)), name="toy")
    doubles = [(label, (label + 2) % N_LABELS) for label in range(N_LABELS)]
    return Toy(
        train=train,
        single=[" ".join(words_of(label)) for label in range(N_LABELS)],
        double=[text_of(answer, rng) for answer in doubles],
        double_answers=[set(answer) for answer in doubles],
    )


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_folder(tmp_path_factory.mktemp("tiny"))


def make_tiny_folder(parent: Path, dim: int = 128) -> Path:
    """A model that knows the toy's words, each by itself."""
    words = [word for label in range(N_LABELS) for word in words_of(label)]
    return make_folder(parent, COMMON + words + LATER, dim=dim, spread=0.02)


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    """A method's name and settings."""
    name, settings = request.param
    filled = with_model(settings, str(tiny_folder))
    if filled != settings:
        monkeypatch.setenv("EVERYLABEL_CACHE", str(tiny_folder.parent / "cache"))  # not the user's own
        monkeypatch.setenv("EVERYLABEL_THREADS", "1")  # tensors of a few numbers
    return name, filled


@pytest.fixture
def new(case: Case) -> Fit:
    """`new()` is an unfitted method."""
    return lambda: everylabel.method(case[0], **case[1])


@pytest.fixture(scope="session")
def fit_once(toy: Toy) -> Callable[[str, str], Method]:
    return cache(lambda name, settings: everylabel.method(name, **json.loads(settings)).fit(toy.train))


@pytest.fixture
def fitted(case: Case, fit_once: Callable[[str, str], Method]) -> Method:
    """Fitted once for all tests: only to be read."""
    return fit_once(case[0], json.dumps(case[1]))
