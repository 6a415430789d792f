"""Tables as text: rows of a CSV file as dictionaries, with bad bytes and bad quotes reported by line."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from everylabel.data.formats.limits import longest_line
from everylabel.data.formats.lines import first_lines, lines
from everylabel.data.formats.rows import BadRows, shown
from everylabel.errors import DataError
from everylabel.run import Run


def delimiter_of(path: Path) -> str:
    return "\t" if path.name.removesuffix(".gz").lower().endswith(".tsv") else ","


def columns_of(path: Path) -> list[str]:
    """The header, to tell formats apart; empty when there is none that can be read."""
    csv.field_size_limit(longest_line())  # its own limit of 128 kB is less than a long document
    try:
        return next(csv.reader(first_lines(path), delimiter=delimiter_of(path)), [])
    except csv.Error:
        return []


def table(path: Path, bad: BadRows, run: Run) -> Iterator[tuple[int, dict[str, str]]]:
    """Line numbers and rows by column; a row may span lines, and its number is that of its last one."""
    csv.field_size_limit(longest_line())
    # Bad bytes pass through as surrogates: only the reader knows which row they belong to.
    text = (line.decode("utf-8", "surrogateescape") for line in lines(path, run, keep_ends=True))
    reader = csv.reader(text, delimiter=delimiter_of(path), strict=True)
    header: list[str] | None = None
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if header is None:
                raise DataError(f"{path}: expected a header of column names ({error}); correct line 1") from None
            bad.add(f"{path.name}:{reader.line_num}", f"expected well-formed quotes ({error})", "correct the row")
            continue
        where = f"{path.name}:{reader.line_num}"
        if not cells or not checked(cells, where, bad):
            continue
        if header is None:
            header = cells
        elif len(cells) != len(header):
            problem = f"expected {len(header)} columns {shown(header)}, got {len(cells)}"
            bad.add(where, problem, "quote cells that hold the separator or a line break")
        else:
            yield reader.line_num, dict(zip(header, cells, strict=True))


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
