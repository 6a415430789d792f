"""A table of labels."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import everylabel
from everylabel.data import load_dataset
from everylabel.errors import ConfigError
from everylabel.workflow.evaluate import evaluate
from everylabel.workflow.per_label import LabelScore, per_label, write_table


def test_each_labels_hits_and_misses(model: Path, data: Path) -> None:
    """Popularity suggests the same labels for all three documents."""
    method = everylabel.load(model)
    found = evaluate(method, load_dataset(data, "test"))
    rows = {row.id: row for row in per_label(found, method.labels_, k=1)}
    assert rows["sea"] == LabelScore("sea", "Seafaring", "tail", 3, 1, 2, 0, pytest.approx(1 / 3), 1.0, 0.5)  # type: ignore[arg-type]
    assert rows["rail"] == LabelScore("rail", "Railways", "tail", 1, 0, 0, 1, 0.0, 0.0, 0.0)
    assert rows["new"][2:7] == ("unseen", 0, 0, 0, 1)
    assert list(rows) == list(method.labels_.ids)
    all_of_them = per_label(found, method.labels_, k=100)
    assert sum(row.true_positives + row.false_negatives for row in all_of_them) == 3
    nothing = per_label(found, method.labels_, k=100, threshold=1.0)
    assert sum(row.true_positives + row.false_positives for row in nothing) <= 3


@pytest.mark.parametrize(("name", "delimiter"), [("labels.csv", ","), ("labels.TSV", "\t")])
def test_the_table_can_be_read(model: Path, data: Path, tmp_path: Path, name: str, delimiter: str) -> None:
    method = everylabel.load(model)
    rows = per_label(evaluate(method, load_dataset(data, "test")), method.labels_, k=2)
    rows = [rows[0]._replace(name='a "quoted",\ttext\nof two lines'), *rows[1:]]
    write_table(rows, tmp_path / name)
    with (tmp_path / name).open(encoding="utf-8", newline="") as file:
        header, *read = csv.reader(file, delimiter=delimiter)
    assert tuple(header) == LabelScore._fields
    assert [row[:3] for row in read] == [list(row[:3]) for row in rows]
    assert [int(value) for value in read[0][3:7]] == list(rows[0][3:7])


def test_other_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"ends in \.csv or \.tsv"):
        write_table([], tmp_path / "labels.xlsx")
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(ConfigError, match="is a folder"):
        write_table([], tmp_path / "a.csv")
