"""Commands that write: what is not theirs stays, and what cannot be written is said before the work."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, bytes_of, write_lines

NOWHERE = "no such data"  # a command that read its data first would stumble over it


def add_card(model: Path) -> None:
    (model / ".git").mkdir()
    (model / ".git" / "HEAD").write_text("main")
    (model / "README.md").write_text("a card")


def has_card(model: Path) -> bool:
    return [(model / name).read_text() for name in (".git/HEAD", "README.md")] == ["main", "a card"]


def test_a_folder_that_is_no_model_is_refused_before_the_fit(run: Run, tmp_path: Path) -> None:
    app = tmp_path / "app"
    (app / "src").mkdir(parents=True)
    (app / "src" / "app.py").write_text("years of work")
    (app / "manifest.json").write_text("{}")
    before = bytes_of(app)
    done = run("fit", tmp_path / NOWHERE, "-m", "svm", "-o", app)
    assert done.exit_code == 5
    assert done.stderr.splitlines() == [
        f"everylabel: {app}: exists and is not a model; nothing was written: choose another folder"
    ]
    assert bytes_of(app) == before


def test_a_model_s_card_and_history_stay(run: Run, tagger: Path, sampled: Path, data: Path, tmp_path: Path) -> None:
    add_card(tagger)
    write_lines(tmp_path / "new.jsonl", [{"id": "mead", "name": "Mead"}])
    write_lines(tmp_path / "pairs.jsonl", [{"text": "how to brew mead", "labels": ["mead"]}])
    for command in (
        ("labels", "add", tagger, tmp_path / "new.jsonl"),
        ("learn", tagger, tmp_path / "pairs.jsonl"),
        ("labels", "remove", tagger, "mead"),
        ("fit", data, "-m", "popularity", "-o", tagger),
    ):
        done = run(*command)
        assert done.exit_code == 0, done.output
        assert has_card(tagger), command
    own = shutil.copytree(sampled, tmp_path / "sample")
    add_card(own)
    for overwriting in (("sample", own), ("convert", data, own)):
        assert run(*overwriting, "--overwrite").exit_code == 0
        assert has_card(own), overwriting
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.jsonl", "pairs.jsonl", "sample", "tagger"]


@pytest.mark.parametrize(
    "command",
    [
        ("fit", NOWHERE, "-m", "svm", "-o", "{place}"),
        ("fit", NOWHERE, "-m", "svm", "-o", "{free}", "--curves", "{place}"),
        ("report", NOWHERE, NOWHERE, "-o", "{place}"),
        ("evaluate", NOWHERE, NOWHERE, "--plots", "{place}"),
        ("compare", NOWHERE, "-m", "svm,knn", "--plots", "{place}"),
        ("curves", "{data}", "--plots", "{place}"),
        ("convert", "{data}", "{place}"),
        ("sample", "{place}"),
    ],
    ids=lambda command: f"{command[0]} {command[-2]}",
)
def test_a_place_where_nothing_can_be_written_is_said_before_the_work(
    run: Run, data: Path, tmp_path: Path, unwritable: Path, command: tuple[str, ...]
) -> None:
    place, free = unwritable / "new" / "place", tmp_path / "parent" / "model"
    done: Any = run(*(part.format(place=place, free=free, data=data) for part in command))
    assert done.exit_code in (1, 5)
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"everylabel: {place}")
    assert "cannot be written" in done.stderr
    assert not free.parent.exists()


def test_what_is_no_file_is_left_alone(run: Run, model: Path, data: Path, tmp_path: Path) -> None:
    """As `-o /dev/null`, which is not tried here: root would lose it if this failed."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done = run("report", model, data, "-o", pipe)
    assert done.exit_code == 1
    assert done.stderr.startswith(f"everylabel: {pipe}: cannot be written (is no file and no folder); nothing was done")
    assert pipe.is_fifo()
