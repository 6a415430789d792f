"""A tiny fitted method, saved; and a method whose state is whatever a test wants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import everylabel
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.methods.base import Method, State
from everylabel.methods.traits import Traits
from everylabel.run import Run
from everylabel.text.views import Views
from everylabel.types import Ranking

TEXTS = ["a boat on the sea", "a train on rails", "a boat and a train", "the harbour at night"]
LABELS = LabelSet.of(Label(f"l{i}", f"label {i}", alternatives=("other",), parents=("l0",)) for i in range(4))
DATA = Dataset(Documents.of(TEXTS), LABELS, pairs_from_lists([[0, 1], [0, 2], [0, 1], [3]], 4))

Save = Callable[..., Path]


def fitted(name: str = "popularity") -> Method:
    return everylabel.method(name).fit(DATA)


def same_as_fitted(path: Path) -> bool:
    want, got = fitted().rank(TEXTS, k=3), everylabel.load(path).rank(TEXTS, k=3)
    return np.array_equal(want.ids, got.ids) and np.array_equal(want.scores, got.scores)


@dataclass(kw_only=True)
class Arbitrary(Method):
    """Its state is what it was given."""

    name: ClassVar[str] = "any-for-tests"
    summary: ClassVar[str] = "a state for tests"
    traits: ClassVar[Traits] = Traits(pairs="unused")

    def _fit(self, dataset: Dataset, run: Run) -> None:  # noqa: ARG002
        self.values_: State = {}

    def _rank(self, views: Views, k: int) -> Ranking:
        return Ranking.empty(len(views), k)

    def _state(self) -> State:
        return self.values_

    def _restore(self, state: State) -> None:
        self.values_ = state


@pytest.fixture
def model(tmp_path: Path) -> Path:
    fitted().save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Save:
    """`saved(a=array, ...)`: a model with this state; `state_of` gives it back."""
    monkeypatch.setattr("everylabel.store.read.method_class", lambda _name: Arbitrary)

    def save(state: State | None = None, **more: Any) -> Path:
        method = Arbitrary().fit(DATA)
        method.model_.values_ = {**(state or {}), **more}
        method.save(tmp_path / "model")
        return tmp_path / "model"

    return save


def state_of(path: Path, *, verify: bool = False) -> State:
    from everylabel.store import load

    method = load(path, verify=verify)
    assert isinstance(method, Arbitrary)
    return method.values_
