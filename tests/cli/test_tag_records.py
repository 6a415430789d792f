"""`everylabel tag MODEL records -o tagged`: catalogue records with the model's labels as subjects."""

from __future__ import annotations

import json
from pathlib import Path

import pymarc
import pytest
from tests.cli.conftest import Run
from tests.data.test_catalogue import FILES, mrc, written

from everylabel.data import load_documents


@pytest.mark.parametrize("name", FILES)
def test_records_are_tagged_and_written(run: Run, model: Path, tmp_path: Path, name: str) -> None:
    file = written(tmp_path, name)
    out = tmp_path / f"out{file.suffix}"
    result = run("tag", model, file, "--k", 1, "-o", out)
    assert result.exit_code == 0, result.output
    assert "2 subjects added to 2 records" in result.stderr
    assert out.read_bytes().count(b"Seafaring") == 2
    assert load_documents(out).texts == load_documents(file).texts
    printed = run("tag", model, file, "--k", 1)
    assert [json.loads(line)["labels"][0]["name"] for line in printed.stdout.splitlines()] == ["Seafaring"] * 2


def test_source_and_confidence_of_marc(run: Run, model: Path, tmp_path: Path) -> None:
    file = written(tmp_path, "marc", mrc(300))
    assert run("tag", model, file, "--k", 2, "-o", tmp_path / "o.mrc", "--subject-source", "gnd").exit_code == 0
    records = list(pymarc.MARCReader((tmp_path / "o.mrc").read_bytes()))
    assert len(records) == 300
    for record in records:
        assert record.get_fields("650")[1].get_subfields("a", "2") == ["Seafaring", "gnd"]
        assert record["883"]["c"] == "0.75"


def test_what_cannot_be_written_is_said_and_nothing_is_lost(run: Run, model: Path, tmp_path: Path) -> None:
    file, other = written(tmp_path, "ris"), tmp_path / "there.ris"
    other.write_text("mine")
    assert "exists already" in run("tag", model, file, "-o", other).stderr
    assert other.read_text() == "mine"
    assert run("tag", model, file, "-o", other, "--overwrite").exit_code == 0
    assert "format they come in" in run("tag", model, file, "-o", tmp_path / "x.mrc").stderr
    (tmp_path / "x.jsonl").write_text('{"text": "a"}\n')
    assert "expected catalogue records" in run("tag", model, tmp_path / "x.jsonl", "-o", tmp_path / "y.jsonl").stderr
    assert run("tag", model, "-o", tmp_path / "z.mrc", input="a text").exit_code == 2
