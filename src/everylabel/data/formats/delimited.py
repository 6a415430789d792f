"""Tables as text: rows of a CSV file as dictionaries, with bad bytes and bad quotes reported by line.

What stands between two cells is told by the header, as programs differ: Excel writes semicolons where a comma is part
of a number, and may say so in a first line `sep=;`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeVar

from everylabel.data.formats.limits import longest_line
from everylabel.data.formats.lines import first_lines, lines
from everylabel.data.formats.rows import BadRows, shown, suffix_of
from everylabel.errors import DataError
from everylabel.run import Run

DELIMITERS = ",;\t|"
ANNOUNCED = "sep="  # Excel's first line
T = TypeVar("T", str, bytes)


class Table(NamedTuple):
    """The names of the columns; line numbers and rows by column. A row may span lines: its number is its last one's."""

    header: list[str]
    rows: Iterator[tuple[int, dict[str, str]]]


def delimiter_of(first_line: str, path: Path) -> str:
    """What splits the header into most columns; what the file's name says where it is one column anyway."""
    usual = "\t" if suffix_of(path) == ".tsv" else ","
    csv.field_size_limit(longest_line())
    try:
        found: dict[str, int] = {
            one: len(next(csv.reader([first_line], delimiter=one), [])) for one in (usual, *DELIMITERS)
        }
    except csv.Error:
        return usual
    return max(found, key=found.__getitem__)


def columns_of(path: Path) -> list[str]:
    """The header, to tell formats apart; empty when there is none that can be read."""
    csv.field_size_limit(longest_line())  # its own limit of 128 kB is less than a long document
    found = first_lines(path, 2)
    start = found[1:] if found and found[0].startswith(ANNOUNCED) else found
    try:
        return next(csv.reader(start, delimiter=delimiter_of(start[0], path)), []) if start else []
    except csv.Error:
        return []


def table(path: Path, bad: BadRows, run: Run) -> Table:
    return table_of(lines(path, run, keep_ends=True), path, bad)


def table_of(raw: Iterable[bytes], path: Path, bad: BadRows) -> Table:
    """Of lines with their ends, from wherever; `path` is for messages, and its suffix a hint."""
    csv.field_size_limit(longest_line())
    # Bad bytes pass through as surrogates: only the reader knows which row they belong to.
    text = (line.decode("utf-8", "surrogateescape") for line in raw)
    start = leading(text)
    delimiter, skipped = delimiter_of(start[-1] if start else "", path), 0
    if start and start[-1].startswith(ANNOUNCED) and start[-1].rstrip("\r\n")[len(ANNOUNCED) :] in tuple(DELIMITERS):
        delimiter, skipped = start[-1][len(ANNOUNCED)], len(start)
        start = []
    cells = _cells(chain(start, text), delimiter, skipped, path, bad)
    header = next(cells, (0, []))[1]
    return Table(header, _rows(cells, header, path, bad))


def leading(content: Iterator[T]) -> list[T]:
    """The lines up to the first that is not blank, by which the kind of the rest is told."""
    start: list[T] = []
    for line in content:
        start.append(line)
        if line.strip():
            break
    return start


def _cells(
    text: Iterable[str], delimiter: str, skipped: int, path: Path, bad: BadRows
) -> Iterator[tuple[int, list[str]]]:
    """The lines' numbers and cells that can be read, the header first; `skipped` lines came before."""
    reader, first = csv.reader(text, delimiter=delimiter, strict=True), True
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if first:
                raise DataError(f"{path}: expected a header of column names ({error}); correct line 1") from None
            where = f"{path.name}:{reader.line_num + skipped}"
            bad.add(where, f"expected well-formed quotes ({error})", "correct the row")
            continue
        number = reader.line_num + skipped
        if cells and checked(cells, f"{path.name}:{number}", bad):
            first = False
            yield number, cells


def _rows(
    cells: Iterable[tuple[int, list[str]]], header: list[str], path: Path, bad: BadRows
) -> Iterator[tuple[int, dict[str, str]]]:
    for number, row in cells:
        if len(row) > 1 and not any(cell.strip() for cell in row):
            continue  # spreadsheets end in rows of nothing but separators
        if len(row) == len(header):
            yield number, dict(zip(header, row, strict=True))
        else:
            problem = f"expected {len(header)} columns {shown(header)}, got {len(row)}"
            bad.add(f"{path.name}:{number}", problem, "quote cells that hold the separator or a line break")


def checked(cells: list[str], where: str, bad: BadRows) -> bool:
    """Whether every byte was UTF-8."""
    for cell in cells:
        if not cell.isascii():
            try:
                cell.encode()
            except UnicodeEncodeError as error:
                byte = ord(cell[error.start]) & 0xFF
                problem = f"expected UTF-8, got byte 0x{byte:02x} at character {error.start + 1} of a cell"
                bad.add(where, problem, "save the file as UTF-8")
                return False
    return True
