"""Tables and JSON show what is in the data, whatever it looks like."""

from __future__ import annotations

import json
import math

import pytest

from everylabel.cli.output import print_json, print_table


def test_a_table_shows_names_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("label", "score"), [("[bold]x[/bold] :smile:", "0.5"), ("[/]", "0.4")])
    header, first, second = capsys.readouterr().out.splitlines()
    assert header.split() == ["label", "score"]
    assert first.split() == ["[bold]x[/bold]", ":smile:", "0.5"]
    assert second.split() == ["[/]", "0.4"]


def test_json_has_no_nan(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": [math.nan, 1.0], "b": "é"})
    out = capsys.readouterr().out
    assert json.loads(out) == {"a": [None, 1.0], "b": "é"}
    assert "é" in out
