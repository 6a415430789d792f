"""A model goes to a hub and comes back the same; what comes from there is checked, and taken whole or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.integrations.hub import TOKEN, Hub, running_hub

import everylabel
from everylabel.data.dataset import Label
from everylabel.store import read_manifest
from everylabel.store.card import is_card
from everylabel.store.manifest import write_manifest
from everylabel.workflow.demo import sample_splits

SOURCE = str(Path(everylabel.__file__).parents[1])
Command = Callable[..., subprocess.CompletedProcess[str]]
TEXTS = ["the lifeboat and the wreck", "a lighthouse"]


@pytest.fixture
def hub() -> Iterator[Hub]:
    with running_hub() as found:
        yield found
    assert found.unknown == [], "the stand-in lacks what the library asks"


@pytest.fixture
def command(hub: Hub, tmp_path: Path) -> Command:
    """`everylabel ARGUMENTS` in a process of its own: the library reads its settings when it is loaded."""
    settings = {"HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN, "HF_HUB_DISABLE_XET": "1", "HF_HOME": str(tmp_path / "hf")}
    quiet = {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "NO_PROXY": "127.0.0.1"}

    def run(*arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "everylabel.cli.main", *map(str, arguments)]
        environment = {**os.environ, "PYTHONPATH": SOURCE, **settings, **quiet, **more}
        return subprocess.run(line, capture_output=True, text=True, check=False, env=environment, timeout=100)

    return run


@pytest.fixture
def model(tmp_path: Path) -> Path:
    train, _, _ = sample_splits()
    everylabel.method("knn").fit(train).save(tmp_path / "model")
    return tmp_path / "model"


def ranked(path: Path) -> Any:
    return everylabel.load(path).rank(TEXTS, 5)


def test_there_and_back(command: Command, hub: Hub, model: Path, tmp_path: Path) -> None:
    (model / "notes.txt").write_text("mine alone")
    (model / ".git").mkdir()
    (model / ".git" / "config").write_text("mine alone")
    sent = command("push", model, "me/tags", "--json")
    assert sent.returncode == 0, sent.stderr
    commit, files = hub.files("me/tags") or ("", {})
    assert json.loads(sent.stdout)["commit"] == commit
    listed = {"manifest.json", *read_manifest(model)["files"], "README.md"}
    assert set(files) == listed | {".gitattributes"}
    assert hub.private == {"me/tags": True}
    assert hub.stored, "arrays went by LFS"
    got = command("pull", "me/tags", "-o", tmp_path / "pulled")
    assert got.returncode == 0, got.stderr
    assert "knn with" in got.stdout
    pulled = tmp_path / "pulled"
    found = {file.relative_to(pulled).as_posix() for file in pulled.rglob("*") if file.is_file()}
    assert found == listed
    assert all((pulled / name).read_bytes() == (model / name).read_bytes() for name in listed)
    assert np.array_equal(ranked(model).ids, ranked(pulled).ids)


def test_the_next_version_replaces_the_one_before_and_that_one_can_still_be_had(
    command: Command, hub: Hub, model: Path, tmp_path: Path
) -> None:
    first = json.loads(command("push", model, "me/tags", "--public", "--json").stdout)["commit"]
    everylabel.load(model).add_labels([Label("new", "A lighthouse of our own")]).save(model)
    assert command("push", model, "me/tags").returncode == 0
    _, files = hub.files("me/tags") or ("", {})
    assert set(files) - {".gitattributes"} == {"manifest.json", *read_manifest(model)["files"], "README.md"}
    assert hub.private == {"me/tags": False}
    place = tmp_path / "pulled"
    assert command("pull", "me/tags", "-o", place, "--revision", first).returncode == 0
    assert "new" not in everylabel.load(place).labels_.index
    (place / "README.md").write_text("my own words")
    assert command("pull", "me/tags", "-o", place).returncode == 0
    assert "new" in everylabel.load(place).labels_.index
    assert (place / "README.md").read_text() == "my own words"


def pushed(command: Command, model: Path) -> None:
    assert command("push", model, "me/tags").returncode == 0


def refused(command: Command, place: Path, said: str) -> None:
    """With one line, and what was there before stays."""
    before = {file: file.read_bytes() for file in place.rglob("*") if file.is_file()} if place.exists() else {}
    got = command("pull", "me/tags", "-o", place)
    assert got.returncode == 5
    assert said in got.stderr
    assert len(got.stderr.splitlines()) == 1
    assert {file: file.read_bytes() for file in place.rglob("*") if file.is_file()} == before
    assert place.exists() == bool(before)


def test_what_lies_beside_a_model_is_not_fetched(command: Command, hub: Hub, model: Path, tmp_path: Path) -> None:
    pushed(command, model)
    _, files = hub.files("me/tags") or ("", {})
    hub.commit("me/tags", files | {"evil.py": b"raise SystemExit", "arrays/x.pkl": b"\x80", "sub/setup.py": b""})
    assert command("pull", "me/tags", "-o", tmp_path / "pulled").returncode == 0
    assert not [name for name in hub.asked if name.startswith("GET") and name.endswith((".py", ".pkl"))]
    assert sorted(one.name for one in (tmp_path / "pulled").iterdir()) == [
        "README.md",
        "arrays",
        "manifest.json",
        "plain.json",
    ]


def test_damaged_and_crafted_models_are_refused(command: Command, hub: Hub, model: Path, tmp_path: Path) -> None:
    pushed(command, model)
    _, files = hub.files("me/tags") or ("", {})
    place = tmp_path / "pulled"
    hub.commit("me/tags", files | {"plain.json": files["plain.json"][:-2] + b" \n"})
    refused(command, place, "is damaged")
    hub.commit("me/tags", {name: content for name, content in files.items() if name != "plain.json"})
    refused(command, place, "is missing")
    hub.commit("me/tags", {"config.json": b"{}", "pytorch_model.bin": b"\x80"})
    refused(command, place, "is no model of everylabel")
    everylabel.method("popularity").fit(sample_splits()[0]).save(place)
    for name, change in (("outside", {"files": {"../../x.npy": {}}}), ("other", {"n_labels": 7})):
        crafted = tmp_path / name
        crafted.mkdir()
        write_manifest(crafted, read_manifest(model) | change)
        hub.commit("me/tags", files | {"manifest.json": (crafted / "manifest.json").read_bytes()})
        refused(command, place, "../../x.npy" if name == "outside" else "do not fit together")
    assert is_card(place / "README.md")


def test_what_the_hub_says_no_to_is_one_line(command: Command, hub: Hub, model: Path, tmp_path: Path) -> None:
    nobody = command("push", model, "me/tags", HF_TOKEN="hf_wrong")
    assert (nobody.returncode, nobody.stdout) == (5, "")
    assert "log in (hf auth login, or HF_TOKEN)" in nobody.stderr
    absent = command("pull", "me/absent", "-o", tmp_path / "pulled")
    assert absent.returncode == 5
    assert "there is no such repository" in absent.stderr
    gone = command("pull", "me/absent", "-o", tmp_path / "pulled", HF_ENDPOINT="http://127.0.0.1:9")
    assert gone.returncode == 5
    assert "Traceback" not in gone.stderr
    (model / "plain.json").write_text("{}")
    assert command("push", model, "me/tags").returncode == 5
    assert hub.commits == {}
    wrong = command("push", model, "a/b/c")
    assert "Traceback" not in wrong.stderr
