"""CSV (or TSV with a header): a text column, a label column split on a separator, and perhaps `id` and `title`.

A label cell may also be a JSON list. A folder has `train.csv`, `dev.csv`, `test.csv`, and a vocabulary if there is one.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from everylabel.data.formats import native, vocabulary
from everylabel.data.formats.delimited import columns_of, table
from everylabel.data.formats.json_lines import strings
from everylabel.data.formats.lines import created
from everylabel.data.formats.rows import Options, Row, Source, Target, split_file, split_files, suffix_of
from everylabel.errors import DataError

NAME = "csv"
NUMBERED = False
SUFFIXES = (".csv", ".tsv")
FORMULAS = (*"=+-@\t\r\n", *"\uff1d\uff0b\uff0d\uff20")  # as a cell begins that is computed; also full-width

read_labels = vocabulary.found_labels


def detect(path: Path) -> bool:
    if path.is_dir():
        return any(detect(file) for file in split_files(path, SUFFIXES).values())
    return suffix_of(path) == ".csv" or (suffix_of(path) == ".tsv" and "text" in columns_of(path))


def splits(path: Path) -> list[str]:
    return list(split_files(path, SUFFIXES))


def read_documents(source: Source, split: str) -> Iterator[Row]:
    file = split_file(source.path, split, split_files(source.path, SUFFIXES))
    options = source.options
    for number, cells in table(file, source.bad, source.run):
        text, listed = cells.get(options.text_column), cells.get(options.label_column)
        if text is None:
            raise DataError(missing_column(file, options, list(cells)))
        labels = None if listed is None else split_labels(listed, options.label_separator)
        yield Row(cells.get("id") or str(number - 2), text, cells.get("title", ""), labels, None, file.name, number)


def missing_column(file: Path, options: Options, columns: list[str]) -> str:
    return (
        f"{file}: expected a column {options.text_column!r} with the texts, got the columns {', '.join(columns)}; "
        "name it with text_column (and the labels' with label_column)"
    )


def split_labels(cell: str, separator: str) -> list[str]:
    if cell.startswith("["):
        try:
            listed = strings(json.loads(cell))
        except (ValueError, RecursionError):
            listed = None
        if listed is not None:
            return listed
    return [label.strip() for label in cell.split(separator) if label.strip()]


def write_labels(target: Target) -> None:
    native.write_labels(target)  # a table has no room for alternatives and parents


def write_split(target: Target, split: str, rows: Iterable[Row]) -> None:
    write_file(target.into(f"{split}.csv"), rows)


def write_file(target: Target, rows: Iterable[Row]) -> None:
    options = target.options
    with (
        created(target.path) as out,
        io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=True) as text_out,
    ):
        writer = csv.writer(text_out)
        writer.writerow(["id", "title", options.text_column, options.label_column])
        for row in rows:
            cells = [row.id, row.title, row.text, joined(row, options.label_separator)]
            writer.writerow(map(safe_cell, cells) if target.safe_cells else cells)


def safe_cell(cell: str) -> str:
    """With an apostrophe before what a spreadsheet would take for a formula, and compute or send somewhere.

    On request: who reads the file with a program finds the apostrophe in it.
    """
    return f"'{cell}" if cell.startswith(FORMULAS) or cell.lstrip().startswith(FORMULAS) else cell


def joined(row: Row, separator: str) -> str:
    labels = row.labels or []
    # JSON where the separator would tear a label apart, as readers understand both.
    torn = any(not label or separator in label or label.strip() != label or label.startswith("[") for label in labels)
    return json.dumps(labels, ensure_ascii=False) if torn else separator.join(labels)
