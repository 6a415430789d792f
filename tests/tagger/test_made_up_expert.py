"""An expert that nobody has heard of, in one file: planned, fitted, blended, explained, saved and listed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.cli.conftest import Run as RunCommand
from tests.cli.conftest import run as run_command

import everylabel
from everylabel.data.dataset import Dataset, LabelSet
from everylabel.errors import ConfigError
from everylabel.methods.base import Method, State
from everylabel.methods.evidence import Clue
from everylabel.methods.facts import Facts, Work
from everylabel.methods.traits import Traits
from everylabel.registry import METHODS, method_class, register
from everylabel.run import Run
from everylabel.tagger.choice import cost
from everylabel.tagger.plan import choose_plan
from everylabel.tagger.tagger import Tagger
from everylabel.text.views import Views
from everylabel.types import Ranking

run = run_command


@dataclass(kw_only=True)
class FirstLetters(Method):
    """Score = the share of a document's words that begin as some word of the label's name does."""

    name: ClassVar[str] = "first-letters"
    summary: ClassVar[str] = "labels whose names begin as words of the document do"
    traits: ClassVar[Traits] = Traits(
        why="beginnings of words",
        pairs="unused",
        reads_label_texts=True,
        ranks_unseen=True,
        worth=15,
    )

    letters: int = 3

    @classmethod
    def cost(cls, facts: Facts) -> Work:
        return Work(reading=1e-6 * facts.all_words)

    @classmethod
    def settings_for(cls, facts: Facts) -> dict[str, Any]:
        return {"letters": 4 if facts.language == "en" else 3}

    def _fit(self, dataset: Dataset, run: Run) -> None:  # noqa: ARG002
        self.beginnings_ = [sorted(self._begin(name)) for name in dataset.labels.names]

    def _rank(self, views: Views, k: int) -> Ranking:
        found = []
        for text in views.full_texts:
            words = [word[: self.letters].lower() for word in text.split()]
            shares = [sum(word in own for word in words) / max(len(words), 1) for own in self.beginnings_]
            found.append(shares)
        scores = np.array(found, np.float32)
        ids = np.broadcast_to(np.arange(scores.shape[1], dtype=np.int32), scores.shape)
        return Ranking.best_of(np.where(scores > 0, ids, -1), scores, k)

    def _with_labels(self, labels: LabelSet, first: int) -> None:
        fresh = [sorted(self._begin(labels[i].name)) for i in range(first, len(labels))]
        self.beginnings_ = [*self.beginnings_, *fresh]

    def evidence(self, views: Views, label: int) -> Iterator[Clue]:
        own = self.beginnings_[label]
        for word in views.full_texts[0].split():
            if word[: self.letters].lower() in own:
                yield Clue("beginnings", word, 0.5)

    def _begin(self, name: str) -> set[str]:
        return {word[: self.letters].lower() for word in name.split()}

    def _state(self) -> State:
        return {"beginnings": self.beginnings_}

    def _restore(self, state: State) -> None:
        self.beginnings_ = state["beginnings"]


@pytest.fixture
def known() -> Iterator[type[FirstLetters]]:
    """For one test: other tests have only the methods that come with everylabel."""
    register(FirstLetters)
    try:
        yield FirstLetters
    finally:
        del METHODS[FirstLetters.name]


def some_facts(**given: Any) -> Facts:
    counts: dict[str, Any] = {"n_docs": 500, "n_labelled": 500, "n_pairs": 900, "n_labels": 50, "n_seen": 40}
    return Facts(**(counts | {"n_dev": 0, "words": 100.0} | given))


@pytest.mark.usefixtures("known")
def test_it_is_planned_by_its_worth_for_data_that_it_is_for() -> None:
    plan = choose_plan(some_facts(), 3_600.0)
    assert plan.names[:3] == ["tfidf", "first-letters", "knn"]
    (own,) = (choice for choice in plan.experts if choice.name == "first-letters")
    assert (own.why, own.settings, own.kind) == ("beginnings of words", {"letters": 4}, "reading")
    assert own.seconds == pytest.approx(cost(FirstLetters, some_facts(), "folds"), abs=0.1)
    assert "needs label texts" in dict(choose_plan(some_facts(label_texts=False)).left_out)["first-letters"]
    assert "bag of words" in dict(choose_plan(some_facts(texts=False)).left_out)["first-letters"]
    assert dict(choose_plan(some_facts(), without=("first-letters",)).left_out)["first-letters"] == "switched off"


@pytest.mark.usefixtures("known")
def test_it_is_fitted_blended_explained_and_saved(corpus: Any, tmp_path: Path) -> None:
    tagger = Tagger(experts=("tfidf", "knn", "first-letters"), settings={"first-letters": {"letters": 5}})
    tagger.fit(corpus.train)
    assert list(tagger.experts_) == ["tfidf", "knn", "first-letters"]
    assert tagger.costs_["first-letters"] >= 0
    expert = tagger.experts_["first-letters"]
    assert isinstance(expert, FirstLetters)
    assert expert.letters == 5
    assert tagger.blend_ is not None
    assert {name for name in tagger.blend_.gains if name.startswith("first-letters: ")}
    label = tagger.labels_[3]
    evidence = [item for tag in tagger.tag([f"All about {label.name}."], 30)[0] for item in tag.evidence]
    assert {item.source for item in evidence if item.kind == "beginnings"} == {"first-letters"}
    tagger.add_labels([everylabel.Label("new", "Zeppelinology")])
    tagger.save(tmp_path / "model")
    loaded = everylabel.load(tmp_path / "model")
    assert isinstance(loaded, Tagger)
    for texts in (["zeppelinology and a museum"], corpus.test.documents.texts[:20]):
        before, after = tagger.rank(texts, 20), loaded.rank(texts, 20)
        np.testing.assert_array_equal(before.ids, after.ids)
        np.testing.assert_array_equal(before.scores, after.scores)
    found = loaded.experts_["first-letters"].rank(["zeppelinology"], 1)
    assert loaded.labels_[int(found.ids[0, 0])].id == "new"


@pytest.mark.usefixtures("known")
def test_it_is_listed(run: RunCommand) -> None:
    listed = {entry["name"]: entry for entry in json.loads(run("methods", "--json").stdout)}
    assert listed["first-letters"] == {
        "name": "first-letters",
        "needs": "label texts",
        "summary": "labels whose names begin as words of the document do",
    }


@pytest.mark.usefixtures("known")
def test_a_name_is_of_one_method() -> None:
    assert register(FirstLetters) is FirstLetters  # again, as when a module is imported anew
    assert everylabel.method("first-letters", letters=2) == FirstLetters(letters=2)

    @dataclass(kw_only=True)
    class Other(FirstLetters):
        pass

    with pytest.raises(ConfigError, match="there is a method 'first-letters' already"):
        register(Other)
    assert method_class("first-letters") is FirstLetters


def test_it_is_unknown_before() -> None:
    with pytest.raises(ConfigError, match="unknown method 'first-letters'"):
        method_class("first-letters")


@pytest.mark.parametrize("names", [("matchxml", "lan"), ("classifier", "ova-clf", "xr-transformer"), ("popularity",)])
def test_experts_that_know_labels_by_their_documents_alone_are_no_readers_of_unseen_labels(
    names: tuple[str, ...],
) -> None:
    for name in names:
        traits = method_class(name).traits
        assert (traits.ranks_unseen, traits.reads_label_texts, traits.needs_pairs) == (False, False, True)
    assert choose_plan(some_facts(), only=names).names == list(names)
