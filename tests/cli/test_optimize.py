"""`everylabel optimize`, and what `evaluate` says in Annif's words and of each label."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run, write_lines


def test_the_best_cut_is_the_one_that_evaluate_measures(run: Run, fitted_tagger: Path, sampled: Path) -> None:
    found = json.loads(run("optimize", fitted_tagger, sampled, "--json", "--quiet").stdout)
    assert (found["split"], len(found["rows"])) == ("dev", 300)
    assert set(found["best"]) == {"doc avg", "subj avg", "weighted subj avg", "microavg"}
    best = found["best"]["doc avg"]
    assert 1 <= best["limit"] <= 15
    same = ("--annif-limit", best["limit"], "--threshold", best["threshold"])
    measured = json.loads(run("evaluate", fitted_tagger, sampled, "--split", "dev", "--annif", *same, "--json").stdout)
    assert measured["annif"]["F1 score (doc avg)"] == pytest.approx(best["f1"])
    assert max(row["doc avg"]["f1"] for row in found["rows"]) == best["f1"]


def test_the_table(run: Run, fitted_tagger: Path, sampled: Path) -> None:
    lines = run("optimize", fitted_tagger, sampled, "--quiet").stdout.splitlines()
    assert lines[0].split()[:4] == ["limit", "threshold", "precision", "recall"]
    assert sum(line.startswith("best F1 (") for line in lines) == 4
    assert "documents" in lines[-1]


def test_annifs_metrics_and_a_table_of_labels(run: Run, model: Path, data: Path, tmp_path: Path) -> None:
    file = tmp_path / "labels.tsv"
    result = run("evaluate", model, data, "--annif", "--per-label", file, "--f1-at", "1")
    assert result.exit_code == 0, result.output
    shown = dict(
        line.rsplit(":", 1) for line in result.stdout.splitlines() if line.startswith(("F1 s", "Docu", "True"))
    )
    assert int(shown["Documents evaluated"]) == 3
    assert "F1 score (weighted subj avg)" in shown
    with file.open(encoding="utf-8", newline="") as opened:
        rows = {row["id"]: row for row in csv.DictReader(opened, delimiter="\t")}
    assert (rows["sea"]["true_positives"], rows["sea"]["false_positives"], rows["rail"]["false_negatives"]) == (
        "1",
        "2",
        "1",
    )


def test_a_wrong_file_name_is_said_before_any_work(run: Run, model: Path, data: Path, tmp_path: Path) -> None:
    result = run("evaluate", model, data, "--per-label", tmp_path / "labels.xlsx")
    assert result.exit_code == 4
    assert "ends in .csv or .tsv" in result.stderr


def test_transforms_are_those_of_tagging(run: Run, model: Path, data: Path) -> None:
    for command in ("evaluate", "optimize"):
        assert run(command, model, data, "--split", "test", "--transform", "first=5", "--quiet").exit_code == 0
    result = run("evaluate", model, data, "--transform", "last=5")
    assert result.exit_code == 4
    assert "expected a transform first=N" in result.stderr


def test_a_model_is_fitted_on_what_is_read_later(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    write_lines(folder / "labels.jsonl", [{"id": "sea", "name": "Sea"}, {"id": "sky", "name": "Sky"}])
    rows = [{"abstract": "boats and harbours", "labels": ["sea"]}, {"abstract": "planes and clouds", "labels": ["sky"]}]
    write_lines(folder / "train.jsonl", rows * 3)
    write_lines(folder / "test.jsonl", rows)
    chosen = ("--transform", "fields=abstract", "--quiet")
    assert run("fit", folder, "--method", "knn", "-o", tmp_path / "model", *chosen).exit_code == 0
    result = run("evaluate", tmp_path / "model", folder, "--json", *chosen)
    assert json.loads(result.stdout)["values"]["P@1"] == 1
