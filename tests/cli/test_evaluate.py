"""`everylabel evaluate` and `everylabel compare`: tables for people, JSON for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run, write_data, write_lines


def test_the_tables(run: Run, model: Path, data: Path) -> None:
    result = run("evaluate", model, data)
    assert result.exit_code == 0
    assert "popularity on test: 3 documents, 4 labels" in result.stdout
    for word in ("P@1", "nDCG@5", "head", "middle", "tail", "unseen", "all"):
        assert word in result.stdout


def test_the_json(run: Run, model: Path, data: Path) -> None:
    result = run("evaluate", model, data, "--json", "--quiet")
    found = json.loads(result.stdout)
    assert result.stderr == ""
    assert found["values"]["P@1"] == pytest.approx(1 / 3)  # of three documents only the first has the frequent label
    assert found["bands"]["unseen"]["R@10"] == 0
    assert set(found["bands"]) == {"head", "middle", "tail", "unseen", "all"}
    assert (found["method"], found["split"], found["n_docs"], found["n_labels"]) == ("popularity", "test", 3, 4)


def test_labels_are_matched_by_id_and_unknown_ones_count_as_missed(run: Run, model: Path, tmp_path: Path) -> None:
    data = write_data(tmp_path / "data")
    labels = [{"id": "other", "name": "Not in the model"}, {"id": "rail", "name": "R"}, {"id": "sea", "name": "S"}]
    write_lines(data / "labels.jsonl", labels)
    rows = [{"id": "0", "text": "a", "labels": ["sea"]}, {"id": "1", "text": "b", "labels": ["sea", "other"]}]
    write_lines(data / "test.jsonl", rows)
    table = run("evaluate", model, data)
    assert table.exit_code == 0
    assert "1 labels of the data are not in the model's vocabulary; their 1 pairs count as missed" in table.stderr
    found = json.loads(run("evaluate", model, data, "--json").stdout)
    assert (found["n_unknown_labels"], found["n_unknown_pairs"], found["n_labels"]) == (1, 1, 5)
    assert found["values"]["P@1"] == 1
    assert found["values"]["R@10"] == pytest.approx(0.75)


def test_a_split_that_is_not_there(run: Run, model: Path, data: Path) -> None:
    result = run("evaluate", model, data, "--split", "dev")
    assert result.exit_code == 3
    assert "dev" in result.stderr


def test_compare_prints_a_row_a_method(run: Run, data: Path) -> None:
    result = run("compare", data, "--methods", "popularity")
    assert result.exit_code == 0
    heading, columns, row = result.stdout.splitlines()
    assert "fitted on 4 documents, evaluated on test: 3 documents" in heading
    assert columns.split()[:3] == ["method", "P@1", "P@5"]
    assert row.split()[:2] == ["popularity", "33.3"]


def test_compare_as_json_is_a_line_a_method(run: Run, tmp_path: Path) -> None:
    assert run("sample", tmp_path / "sample").exit_code == 0
    result = run("compare", tmp_path / "sample", "--methods", "popularity, knn", "--json", "--quiet")
    assert result.exit_code == 0, result.output
    first, second = (json.loads(line) for line in result.stdout.splitlines())
    assert (first["method"], second["method"]) == ("popularity", "knn")
    assert first["difference"] is None
    assert second["difference"]["first"] == "popularity"
    assert set(second["difference"]["nDCG@5"]) == {"difference", "low", "high", "p_value"}
    assert second["fit_seconds"] >= 0


@pytest.mark.parametrize(
    ("methods", "code"), [("popularity,popularity", 2), ("", 2), ("popularity,nonsense", 4), (",", 2)]
)
def test_compare_refuses_bad_lists_before_it_starts(run: Run, data: Path, methods: str, code: int) -> None:
    result = run("compare", data, "--methods", methods)
    assert (result.exit_code, result.stdout) == (code, "")
