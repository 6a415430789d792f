"""`everylabel history`: what a tagger was fitted on, and what became of it since."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run, write_lines

import everylabel


def test_the_fit_and_what_came_after_it(run: Run, tagger: Path, tmp_path: Path) -> None:
    write_lines(tmp_path / "new.jsonl", [{"id": "steamers", "name": "Paddle steamers"}])
    assert run("labels", "add", tagger, tmp_path / "new.jsonl").exit_code == 0
    assert run("labels", "remove", tagger, "steamers").exit_code == 0
    found = json.loads(run("history", tagger, "--json").stdout)
    assert found == everylabel.load(tagger).history()
    assert [event["what"] for event in found] == ["fitted", "labels added", "labels removed"]
    result = run("history", tagger)
    assert result.exit_code == 0, result.output
    columns, fitted, added, removed = result.stdout.splitlines()
    assert columns.split() == ["when", "what", "about"]
    assert found[0]["when"] in fitted
    assert "documents 252, labels 126, seconds " in fitted
    assert added.split()[1:] == ["labels", "added", "labels", "1"]
    assert removed.split()[1:] == ["labels", "removed", "labels", "1"]


def test_other_methods_have_none(run: Run, model: Path, data: Path) -> None:
    result = run("history", model)
    assert (result.exit_code, result.stdout) == (4, "")
    assert f"{model}: method 'popularity' keeps no history; a tagger does" in result.stderr
    assert run("history", data).exit_code == 5
