"""The models of a project: forth, back, and whole at any moment."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import everylabel
from everylabel.errors import ModelError
from everylabel.feedback.versions import KEPT, Versions
from everylabel.store import arrays, check
from everylabel.store.known import knows

KILLS = 6
TAKER = """
import sys
from pathlib import Path
import everylabel
from everylabel.feedback.versions import Versions

versions, model = Versions(Path(sys.argv[1]), Path(sys.argv[2])), everylabel.load(sys.argv[2])
print("ready", flush=True)
while True:
    print(versions.take(model, {"decisions": [1]}), flush=True)
"""


def next_model(versions: Versions, text: str) -> Any:
    model = versions.load(versions.current[0])
    return model.with_pairs([(text, [model.labels_[0].id])])[0]


def test_a_project_begins_with_its_model(versions: Versions, fitted_folder: Path) -> None:
    assert versions.current == (0, fitted_folder)
    assert versions.history() == []
    assert versions.kept() == [0]


def test_taken_and_taken_back(versions: Versions, fitted_folder: Path) -> None:
    assert versions.take(next_model(versions, "a"), {"decisions": [1, 2], "why": "test"}) == 1
    assert versions.take(next_model(versions, "b"), {"decisions": [3]}) == 2
    assert versions.current == (2, versions.folder / "000002")
    model = everylabel.load(versions.current[1])
    assert model.learned_ == 2
    assert versions.back_to(1) == versions.folder / "000001"
    assert Versions(versions.folder, fitted_folder).current[0] == 1  # as another process sees it
    assert everylabel.load(versions.current[1]).learned_ == 1
    assert versions.take(next_model(versions, "c"), {"decisions": [4]}) == 3  # no number twice
    assert [event["decisions"] for event in versions.line_of(3)] == [[4], [1, 2]]
    assert versions.back_to(0) == fitted_folder
    assert versions.current == (0, fitted_folder)
    assert [(event["what"], event["version"]) for event in versions.history()] == [
        ("taken", 1),
        ("taken", 2),
        ("back", 1),
        ("taken", 3),
        ("back", 0),
    ]
    with pytest.raises(ModelError, match=r"version 9 is not kept; there are 0, 1, 2, 3"):
        versions.back_to(9)


def test_what_stays_the_same_is_stored_once(versions: Versions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "SMALL", 500)  # so that the sample has arrays with a file of their own
    versions.take(next_model(versions, "a"), {})
    versions.take(next_model(versions, "b"), {})
    old, new = ({file.name: file for file in (versions.path_of(i) / "arrays").iterdir()} for i in (1, 2))
    same = (old.keys() & new.keys()) - {"small.npy"}
    assert len(same) > 5
    assert len(same) < len(new)  # something was learned
    for name in same:
        assert new[name].samefile(old[name])
    check(versions.path_of(2))
    assert knows(versions.path_of(1))  # not looked through again when they are opened
    assert knows(versions.path_of(2))
    shutil.rmtree(versions.path_of(1))
    assert everylabel.load(versions.path_of(2), verify=True).learned_ == 2


def test_of_a_model_that_is_not_known_nothing_is_linked(
    versions: Versions, fitted_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody may have changed its files."""
    monkeypatch.setattr(arrays, "SMALL", 500)
    model = everylabel.load(fitted_folder)
    model.save(tmp_path / "model")
    copied = Path(shutil.copytree(tmp_path / "model", tmp_path / "copied"))
    assert not knows(copied)
    strange = Versions(versions.folder, copied)
    strange.take(model, {})
    assert {file.stat().st_nlink for file in strange.current[1].rglob("*.npy")} == {1}


def test_old_ones_go(versions: Versions) -> None:
    model = next_model(versions, "a")
    for _ in range(KEPT + 2):
        versions.take(model, {})
    assert versions.kept() == [0, *range(3, KEPT + 3)]
    versions.back_to(3)
    for _ in range(2):
        versions.take(model, {})
    assert versions.kept() == [0, *range(5, KEPT + 5)]
    assert len(versions.history()) == KEPT + 5
    assert knows(versions.current[1])


def test_another_model_in_the_place_of_the_first(versions: Versions, fitted_folder: Path, tmp_path: Path) -> None:
    """A full fit has all that was learned on the old one, or more: what was learned on that is no longer used."""
    own = Path(shutil.copytree(fitted_folder, tmp_path / "own"))
    project = Versions(versions.folder, own)
    project.take(next_model(project, "a"), {"decisions": [1]})
    assert project.current[0] == 1
    next_model(project, "full fit").save(own)
    assert project.current == (0, own)
    assert project.take(next_model(project, "b"), {"decisions": [2]}) == 2
    assert [event["decisions"] for event in project.line_of(2)] == [[2]]


def test_what_was_made_of_the_model_before_does_not_come_before_another(fitted_folder: Path, tmp_path: Path) -> None:
    """A learning takes seconds. Who puts a full fit in the model's place meanwhile wants that served."""
    place = Path(shutil.copytree(fitted_folder, tmp_path / "model"))
    versions = Versions(tmp_path / "state", place)
    versions.take(next_model(versions, "a"), {"decisions": [1]})
    with versions.changing():
        late = next_model(versions, "b")
        next_model(versions, "a full fit").save(place)
        with pytest.raises(ModelError, match="was replaced by another model meanwhile"):
            versions.take(late, {"decisions": [2]})
    assert versions.current == (0, place)
    assert versions.take(next_model(versions, "b"), {"decisions": [2]}) == 2
    assert everylabel.load(versions.current[1]).learned_ == 3


def test_a_damaged_one_does_not_come_back(versions: Versions) -> None:
    versions.take(next_model(versions, "a"), {})
    versions.take(next_model(versions, "b"), {})
    (versions.folder / "000001" / "plain.json").write_text("{")
    with pytest.raises(ModelError):
        versions.back_to(1)
    assert versions.current[0] == 2
    (versions.folder / "current").write_text("{")
    with pytest.raises(ModelError, match="remove it for version 0"):
        _ = versions.current


@pytest.mark.timeout(300)
def test_killed_writers_leave_a_model_that_opens(versions: Versions, fitted_folder: Path) -> None:
    rng, last = random.Random(1), 0
    for _ in range(KILLS):
        command = [sys.executable, "-c", TAKER, str(versions.folder), str(fitted_folder)]
        writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0.0, 0.4))
        writer.send_signal(signal.SIGKILL)
        said = [int(line) for line in writer.communicate()[0].split("\n")[:-1] if line]
        version, path = versions.current
        assert version >= max([last, *said])
        everylabel.load(path, verify=True)
        assert all(event["decisions"] == [1] for event in versions.line_of(version))
        last = version
    versions.take(everylabel.load(fitted_folder), {})
    assert len(versions.kept()) == KEPT + 1
    names = {path.name for path in versions.folder.iterdir()}
    assert names == {"current", "history.jsonl"} | {f"{version:06d}" for version in versions.kept()[1:]}
