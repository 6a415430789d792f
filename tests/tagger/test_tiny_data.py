"""Data with next to nothing in them: an expert that cannot be fitted is left out and says why, and a model is there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from tests.listening import Recorder

import everylabel
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.errors import ConfigError, DataError, EverylabelError
from everylabel.methods.traits import Traits
from everylabel.methods.words.popularity import Popularity
from everylabel.registry import METHODS, register
from everylabel.run import Run
from everylabel.tagger.candidates import EXPERT_COLUMNS
from everylabel.tagger.tagger import Tagger
from everylabel.text.views import Views

NAMED = LabelSet.of(
    [Label("sea", "Seafaring"), Label("rail", "Railways"), Label("sky", "Aviation"), Label("new", "Gardens")]
)
NUMBERED = LabelSet.of([Label(str(i), str(i)) for i in range(4)])
NAMELESS = LabelSet.of([Label(f"x{i}", "") for i in range(4)])
TEXTS = ["a boat sailed over the sea", "the train stopped on its rails", "the plane left the airport"]
TWELVE = [f"{text} {i}" for i in range(4) for text in TEXTS]
WORDS = ("tfidf", "knn", "svm", "zestxml")


def data_of(texts: list[str], lists: list[list[int]], labels: LabelSet = NAMED) -> Dataset:
    return Dataset(Documents.of(texts), labels, pairs_from_lists(lists, len(labels)), name="tiny")


TINY = {
    "one document": data_of(TEXTS[:1], [[0]]),
    "two documents": data_of(TEXTS[:2], [[0], [1]]),
    "three documents": data_of(TEXTS, [[0], [1], [2]]),
    "one label for two documents": data_of(TEXTS[:2], [[0], [0]]),
    "one label for all documents": data_of(TWELVE, [[0]] * 12),
    "all labels for all documents": data_of(TWELVE, [[0, 1, 2, 3]] * 12),
    "a vocabulary of one label": data_of(TWELVE, [[0]] * 12, NAMED[:1]),
    "one document, one label": data_of(TEXTS[:1], [[0]], NAMED[:1]),
    "one document again and again": data_of(TEXTS[:1] * 12, [[i % 3] for i in range(12)]),
    "documents without words": data_of([""] * 12, [[i % 3] for i in range(12)]),
    "documents of punctuation": data_of(["!!! ..."] * 12, [[i % 3] for i in range(12)]),
    "labels without texts": data_of(TWELVE, [[i % 3] for i in range(12)], NAMELESS),
    "labels that are numbers": data_of(TWELVE, [[i % 3] for i in range(12)], NUMBERED),
    "one labelled document of twelve": data_of(TWELVE, [[0]] + [[]] * 11),
    "just enough to hold some out": data_of(TWELVE[:10], [[i % 3] for i in range(10)]),
}


def assert_usable(tagger: Tagger, folder: Path) -> None:
    """It ranks, says why, is saved and loaded, and tells what it is made of."""
    found = tagger.rank([*TEXTS, ""], 3)
    assert found.ids.shape == (4, 3)
    assert tagger.tag(TEXTS, 2) is not None
    tagger.save(folder / "model")
    np.testing.assert_array_equal(everylabel.load(folder / "model").rank([*TEXTS, ""], 3).ids, found.ids)
    assert list(tagger.experts_) == tagger.plan_.names
    left_out = {event["expert"]: event["why"] for event in tagger.history() if event["what"] == "left out"}
    assert left_out.items() <= dict(tagger.plan_.left_out).items()
    assert not set(left_out) & set(tagger.experts_)


@pytest.mark.parametrize("case", TINY)
def test_there_is_a_tagger_of_what_can_be_fitted(case: str, tmp_path: Path) -> None:
    assert_usable(Tagger(experts=WORDS).fit(TINY[case]), tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("case", TINY)
def test_of_all_experts(case: str, tmp_path: Path) -> None:
    assert_usable(Tagger().fit(TINY[case]), tmp_path)


@pytest.mark.parametrize("case", TINY)
@pytest.mark.parametrize("name", ["knn", "svm", "xr-linear", "tfidf", "bm25", "zestxml", "popularity"])
def test_a_method_by_itself_is_fitted_or_says_why_not(name: str, case: str) -> None:
    method = everylabel.method(name)
    with suppress(DataError):
        method.fit(TINY[case])
        assert method.rank(TEXTS, 3).ids.shape == (3, 3)


# --- experts that fail


@dataclass(kw_only=True)
class Failing(Popularity):
    """Fails in a way that a test sets."""

    name: ClassVar[str] = "failing"
    traits: ClassVar[Traits] = Traits(why="to fail")
    error: ClassVar[Exception] = ValueError()

    def _fit(self, dataset: Dataset, run: Run) -> None:  # noqa: ARG002
        raise self.error


@pytest.fixture
def failing() -> Iterator[type[Failing]]:
    register(Failing)
    yield Failing
    del METHODS["failing"]


class SomethingDivergedError(ConfigError):
    """As a training's."""


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("too few samples\nin the data"), "(ValueError: too few samples in the data)"),
        (DataError("no word is left"), "(no word is left)"),
        (SomethingDivergedError("the loss is nan"), "(the loss is nan)"),
        (TypeError("'NoneType' object"), "(TypeError: 'NoneType' object)"),  # a fault of ours: said, and not hidden
        (AssertionError(), "(AssertionError)"),
        (ZeroDivisionError("division by zero"), "(ZeroDivisionError: division by zero)"),
        (MemoryError(), "(MemoryError)"),
        (ValueError("x" * 10_000), "xxx"),
    ],
)
def test_it_is_left_out_and_the_reason_is_said(
    error: Exception, said: str, failing: type[Failing], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failing, "error", error)
    listener = Recorder()
    tagger = Tagger(experts=("tfidf", "failing", "knn")).fit(TINY["three documents"], run=Run(listener))
    assert list(tagger.experts_) == ["tfidf", "knn"]
    (why,) = (why for name, why in tagger.plan_.left_out if name == "failing")
    assert why.startswith("cannot be fitted on these data (")
    assert said in why
    assert len(why) < 400
    assert f"failing: {why}" in listener.said
    assert any(line.split()[:3] == ["failing", "left", "out:"] for line in tagger.plan_.lines())
    assert [event["why"] for event in tagger.history() if event["what"] == "left out"] == [why]


def test_only_if_none_is_left_it_is_an_error(failing: type[Failing], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failing, "error", DataError("no word is left"))
    tagger = Tagger(experts=("failing", "knn"))
    with pytest.raises(DataError, match=r"tiny: no expert is left: failing cannot .*; knn cannot be fitted .*no word"):
        tagger.fit(TINY["documents without words"])
    with pytest.raises(EverylabelError, match="not fitted"):
        tagger.rank(TEXTS)


def test_a_setting_that_cannot_work_is_an_error(failing: type[Failing], monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks for a device that is not there must not get a model without what it was for."""
    monkeypatch.setattr(failing, "error", ConfigError("device is 'cuda:7', and there is none"))
    with pytest.raises(ConfigError, match="cuda:7"):
        Tagger(experts=("tfidf", "failing")).fit(TINY["three documents"])


def test_an_interrupt_is_none(failing: type[Failing], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failing, "error", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        Tagger(experts=("tfidf", "failing")).fit(TINY["three documents"])


def test_a_mean_of_ranks_does_not_count_the_words_of_a_title_twice() -> None:
    """Trees learn what a title is worth; without them it would count as much as the text that it is a part of."""
    labels = LabelSet.of([Label(f"{i}", f"word{i}") for i in range(40)])
    texts = [f"word{i % 40} word{(i + 7) % 40}. And more of it" for i in range(120)]
    data = Dataset(Documents.of(texts), labels, pairs_from_lists([[i % 40] for i in range(120)], 40), name="titles")
    opinions = {}
    for n in (30, 120):
        tagger = Tagger(experts=("tfidf", "knn")).fit(data.subset(range(n)))
        assert tagger.blend_ is not None
        opinions[tagger.blend_.trees is not None] = tagger.model_._table(Views.of(texts[:3])).columns.shape[1]
    assert opinions[True] - opinions[False] == len(EXPERT_COLUMNS)
