"""`everylabel labels add`, `remove` and `list`: no training, the very next ranking, and nothing changed by an error."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import LABELS, bytes_of, write_lines

Run = Callable[..., Any]


@pytest.fixture
def own(run: Run, data: Path, tmp_path: Path) -> Path:
    """A model that a test may change."""
    assert run("fit", data, "--method", "xr-linear", "-o", tmp_path / "model", "--quiet").exit_code == 0
    return tmp_path / "model"


@pytest.fixture
def vocabulary(tmp_path: Path) -> Path:
    rows = [{"id": "bird", "name": "Penguin colonies"}, {"id": "ice", "name": "Ice shelves"}]
    write_lines(tmp_path / "new.jsonl", rows)
    return tmp_path / "new.jsonl"


def listed(run: Run, model: Path) -> list[str]:
    return [label["id"] for label in json.loads(run("labels", "list", model, "--json").stdout)]


def first_tag(run: Run, model: Path, text: str) -> str:
    found: str = json.loads(run("tag", model, "--json", input=text).stdout)["labels"][0]["id"]
    return found


def test_labels_are_found_in_the_very_next_ranking_and_can_go_again(run: Run, own: Path, vocabulary: Path) -> None:
    added = run("labels", "add", own, vocabulary)
    assert added.exit_code == 0, added.output
    assert added.stdout == f"added 2 labels; {own} has 6 now\n"
    assert listed(run, own) == [label for label, _ in LABELS] + ["bird", "ice"]
    assert first_tag(run, own, "penguin colonies") == "bird"
    removed = run("labels", "remove", own, "penguin COLONIES", "sea")
    assert removed.stdout == f"removed 2 labels; {own} has 4 now\n"
    assert listed(run, own) == ["rail", "sky", "new", "ice"]
    assert first_tag(run, own, "a boat on the sea") != "sea"


def test_a_label_that_is_named_twice_goes_once(run: Run, own: Path) -> None:
    removed = run("labels", "remove", own, "sea", "sea", "Seafaring")
    assert removed.stdout == f"removed 1 label; {own} has 3 now\n"
    assert listed(run, own) == ["rail", "sky", "new"]


def test_the_list_says_how_many_documents_a_label_has(run: Run, own: Path) -> None:
    header, *rows = run("labels", "list", own).stdout.splitlines()
    assert header.split() == ["id", "name", "documents"]
    assert [row.split()[-1] for row in rows] == ["3", "1", "1", "0"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"id": "sea", "name": "The sea"}], "'sea' is in the vocabulary already, as 'Seafaring'"),
        ([{"id": "moon", "name": "Moon"}, {"id": "sun", "name": " "}], "name"),
        ([{"id": "moon", "name": "Moon"}, {"id": "moon", "name": "Sun"}], "moon"),
    ],
)
def test_an_error_leaves_the_model_as_it_was(
    run: Run, own: Path, tmp_path: Path, rows: list[dict[str, str]], message: str
) -> None:
    before = bytes_of(own)
    write_lines(tmp_path / "wrong.jsonl", rows)
    result = run("labels", "add", own, tmp_path / "wrong.jsonl")
    assert result.exit_code == 3
    assert message in result.stderr
    assert bytes_of(own) == before
    assert run("labels", "remove", own, "sea", "nowhere").exit_code == 3
    assert listed(run, own) == [label for label, _ in LABELS]
