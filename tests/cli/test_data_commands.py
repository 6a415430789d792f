"""`everylabel inspect`, `convert`, `sample`, `methods`, and the help of every command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from everylabel.registry import METHODS

COMMANDS = ["demo", "sample", "inspect", "convert", "methods", "plan", "fit", "refit", "tag", "learn", "info", "check"]
COMMANDS += ["history", "evaluate", "optimize", "compare", "report", "curves", "serve", "mcp", "push", "pull"]
GROUPS = {
    "labels": ["describe", "add", "remove", "list"],
    "decisions": ["list", "export"],
    "keys": ["add", "list", "remove"],
}


@pytest.mark.parametrize("command", COMMANDS + [f"{group} {name}" for group in GROUPS for name in GROUPS[group]])
def test_every_command_has_help_with_an_example(run: Run, command: str) -> None:
    result = run(*command.split(), "--help")
    assert result.exit_code == 0
    assert "Example: " in result.stdout
    assert f"everylabel {command}" in result.stdout


def test_help_lists_every_command(run: Run) -> None:
    def listed(*group: str) -> list[str]:
        names = run(*group, "--help").stdout.partition("Commands:")[2]
        return [line.split()[0] for line in names.splitlines() if line.strip()]

    assert listed() == [*COMMANDS, *GROUPS]
    assert {group: listed(group) for group in GROUPS} == GROUPS


def test_an_unknown_command_suggests_the_nearest(run: Run) -> None:
    result = run("evalute")
    assert result.exit_code == 2
    assert "evaluate" in result.stderr


def test_methods(run: Run) -> None:
    shown = run("methods").stdout
    assert "base forms, pieces of words" in shown
    assert "Chinese, Japanese, Korean" in shown
    listed = json.loads(run("methods", "--json").stdout)
    assert [entry["name"] for entry in listed] == list(METHODS)
    assert all(name in shown for name in METHODS)
    assert all(entry["needs"] and entry["summary"] for entry in listed)


def test_inspect(run: Run, data: Path) -> None:
    shown = run("inspect", data).stdout
    found = json.loads(run("inspect", data, "--json", "--quiet").stdout)
    assert "native data, 4 labels" in shown
    assert found["splits"]["train"]["n_docs"] == 4
    assert found["n_unseen_labels"] == 1


def test_inspect_shows_suspicious_rows(run: Run, data: Path, tmp_path: Path) -> None:
    (tmp_path / "labels.jsonl").write_bytes((data / "labels.jsonl").read_bytes())
    (tmp_path / "train.jsonl").write_text('{"id": "a", "text": "", "labels": ["sea", "unheard of"]}\n')
    result = run("inspect", tmp_path)
    assert result.exit_code == 0
    assert "Suspicious" in result.stdout
    assert "train.jsonl:1: 'unheard of'" in result.stdout


def test_convert_there_and_back(run: Run, data: Path, tmp_path: Path) -> None:
    there = run("convert", data, tmp_path / "train.csv", "--split", "train")
    assert there.exit_code == 0
    assert there.stdout == ""
    assert "4 labels; documents: 4 train" in there.stderr
    back = run("convert", tmp_path / "train.csv", tmp_path / "back", "--quiet")
    assert (back.exit_code, back.output) == (0, "")
    documents = [json.loads(line) for line in (tmp_path / "back" / "train.jsonl").read_text().splitlines()]
    assert documents[2]["labels"] == ["rail", "sea"]


def test_convert_does_not_overwrite_unless_told_to(run: Run, data: Path, tmp_path: Path) -> None:
    assert run("convert", data, tmp_path / "copy").exit_code == 0
    refused = run("convert", data, tmp_path / "copy")
    assert refused.exit_code == 3
    assert "--overwrite" in refused.stderr
    assert run("convert", data, tmp_path / "copy", "--overwrite").exit_code == 0


def test_convert_to_an_unknown_format(run: Run, data: Path, tmp_path: Path) -> None:
    result = run("convert", data, tmp_path / "out", "--to", "nonsense")
    assert result.exit_code == 4
    assert "native" in result.stderr


def test_sample_is_data(run: Run, tmp_path: Path) -> None:
    result = run("sample", tmp_path / "sample")
    assert result.exit_code == 0, result.output
    assert json.loads(run("inspect", tmp_path / "sample", "--json").stdout)["n_unseen_labels"] >= 15
    assert run("sample", tmp_path / "sample").exit_code == 3
    assert run("sample", tmp_path / "sample", "--overwrite").exit_code == 0
