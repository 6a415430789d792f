"""A full fit with what people decided; and the commands around decisions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli import conftest as cli
from tests.cli.conftest import Run
from tests.feedback.conftest import Decide

import everylabel
from everylabel.data import sample
from everylabel.data.dataset import Label
from everylabel.feedback.decisions import IN_FULL_FIT, NewDecision
from everylabel.feedback.learning import learn_waiting
from everylabel.feedback.store import DecisionStore
from everylabel.feedback.versions import Versions
from everylabel.tagger.tagger import Tagger

run, data = cli.run, cli.data


def test_a_full_fit_has_the_decisions(run: Run, data: Path, sqlite_store: DecisionStore, tmp_path: Path) -> None:
    """A document that is in the data has the labels of the decision, one that is not comes along."""
    assert run("fit", data, "--method", "knn", "--set", "neighbours=1", "-o", tmp_path / "model").exit_code == 0
    model = everylabel.load(tmp_path / "model")
    model.add_labels([Label("later", "Added later")])
    model.save(tmp_path / "model")
    changed = "a boat sailed over the sea"
    undone = sqlite_store.add("p", NewDecision(text="the plane left the airport", accepted=("sea",)))
    sqlite_store.undo("p", undone.id)
    for text, labels in ((changed, ("rail",)), (changed, ("sky", "unknown")), ("quux", ("later",))):
        sqlite_store.add("p", NewDecision(text=text, accepted=labels))
    sqlite_store.add("p", NewDecision(text="zounds", accepted=("sea",), complete=False))
    url = f"sqlite:///{tmp_path / 'decisions.sqlite'}"
    result = run("refit", tmp_path / "model", data, "--decisions", url, "--project", "p", "-o", tmp_path / "new")
    assert result.exit_code == 0, result.output
    assert "on 5 documents, 2 of them with labels that people decided" in result.output
    assert "1 labels of decisions are in no vocabulary" in result.output
    new = everylabel.load(tmp_path / "new")
    assert new.neighbours == 1  # with the settings of the model
    found = [new.labels_[int(i)].id for i in new.rank([changed, "quux", "the plane left the airport"], 1).ids.ravel()]
    assert found == ["sky", "later", "sky"]
    plain = run("refit", tmp_path / "model", data, "-o", tmp_path / "plain", "-q")
    assert plain.exit_code == 0
    assert everylabel.load(tmp_path / "plain").n_train_ == 4
    assert run("refit", tmp_path / "model", data, "--project", "p", "-o", tmp_path / "x").exit_code == 2


@pytest.mark.timeout(300)
def test_what_a_full_fit_has_is_not_learned_again(
    run: Run, sqlite_store: DecisionStore, corpus: Any, decide: Decide, tmp_path: Path
) -> None:
    Tagger(experts=("tfidf", "knn")).fit(corpus.train.subset(range(0, 252, 2))).save(tmp_path / "model")
    versions = Versions(tmp_path / "state", tmp_path / "model")
    for one in decide(0, 40):
        sqlite_store.add("p", one)
    learn_waiting(sqlite_store, versions, "p", least=1)
    assert versions.current[0] == 1
    url, folder = f"sqlite:///{tmp_path / 'decisions.sqlite'}", sample(tmp_path / "sample")
    command = (
        "refit",
        tmp_path / "model",
        folder,
        "--decisions",
        url,
        "--project",
        "p",
        "-o",
        tmp_path / "model",
        "-q",
    )
    result = run(*command)
    assert result.exit_code == 0, result.output
    assert versions.current[0] == 0  # the new fit
    assert learn_waiting(sqlite_store, versions, "p", least=1) is None
    assert {one.learned_in for one in sqlite_store.list("p")} == {IN_FULL_FIT}
    assert "ids" not in run("history", tmp_path / "model").output
    for one in decide(40, 60):
        sqlite_store.add("p", one)
    outcome = learn_waiting(sqlite_store, versions, "p", least=1)
    assert outcome is not None
    assert min(outcome.learned) > 40
    assert outcome.version == 2


def test_list_and_export(run: Run, sqlite_store: DecisionStore, tmp_path: Path) -> None:
    sqlite_store.add("p", NewDecision(text="one", accepted=("a",), by="me"))
    sqlite_store.undo("p", sqlite_store.add("p", NewDecision(text="two")).id)
    url = f"sqlite:///{tmp_path / 'decisions.sqlite'}"
    result = run("decisions", "list", url, "p")
    assert result.exit_code == 0, result.output
    assert "one" in result.output
    assert "two" not in result.output
    assert "undone" in run("decisions", "list", url, "p", "--undone").output
    assert [one["text"] for one in json.loads(run("decisions", "list", url, "p", "--json").stdout)] == ["one"]
    assert run("decisions", "export", url, "p", "-o", tmp_path / "out.jsonl").exit_code == 0
    assert json.loads((tmp_path / "out.jsonl").read_text())["labels"] == ["a"]
    wrong = run("decisions", "list", "nonsense", "p")
    assert wrong.exit_code == 4
    assert "expected sqlite:///FILE" in wrong.output
