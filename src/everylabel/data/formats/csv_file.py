"""CSV (or TSV with a header): a text column, a label column split on a separator, and perhaps `id` and `title`.

A label cell may also be a JSON list. A folder has `train.csv`, `dev.csv`, `test.csv`, and a vocabulary if there is one.
Where columns are named, any file of text is read as a table.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from everylabel.data.formats import native, vocabulary
from everylabel.data.formats.delimited import Table, columns_of, table
from everylabel.data.formats.json_lines import split_labels
from everylabel.data.formats.layout import COLUMNS, Options, columns_in
from everylabel.data.formats.lines import created
from everylabel.data.formats.rows import Row, Source, Target, split_file, split_files, suffix_of

NAME = "csv"
NUMBERED = False
SUFFIXES = (".csv", ".tsv")
USUAL_NAMES = {
    "id", "text", "title", "abstract", "body", "content", "description", "summary", "name", "label", "labels", "tag",
    "tags", "subject", "subjects", "keyword", "keywords", "category", "categories", "topic", "topics", "class",
}  # fmt: skip
FORMULAS = (*"=+-@\t\r\n", *"\uff1d\uff0b\uff0d\uff20")  # as a cell begins that is computed; also full-width

read_labels = vocabulary.found_labels


def detect(path: Path) -> bool:
    if path.is_dir():
        return any(detect(file) for file in split_files(path, SUFFIXES).values())
    return suffix_of(path) == ".csv" or (suffix_of(path) == ".tsv" and is_header(columns_of(path)))


def is_header(cells: list[str]) -> bool:
    """Whether the first line of a TSV names columns: else its words would be taken for labels and texts."""
    names = [cell.strip().casefold() for cell in cells]
    return "text" in names or (len(set(names)) == len(names) and sum(name in USUAL_NAMES for name in names) > 1)


def splits(path: Path) -> list[str]:
    return list(split_files(path, SUFFIXES))


def columns(path: Path) -> list[str]:
    """What there is to be named, in the first file."""
    return columns_of(next(iter(split_files(path, SUFFIXES).values())))


def read_documents(source: Source, split: str) -> Iterator[Row]:
    file = split_file(source.path, split, split_files(source.path, SUFFIXES))
    yield from table_rows(table(file, source.bad, source.run), file, source.options)


def table_rows(found: Table, file: Path, options: Options) -> Iterator[Row]:
    names = columns_in(found.header, options, file)
    for number, cells in found.rows:
        labels = None if names.labels is None else split_labels(cells[names.labels], options.separator)
        title = "" if names.title is None else cells[names.title]
        yield Row(cells.get("id") or str(number - 2), cells[names.text], title, labels, None, file.name, number)


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
        writer.writerow(["id", *COLUMNS.values()])
        for row in rows:
            cells = [row.id, row.title, row.text, joined(row, options.separator)]
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
