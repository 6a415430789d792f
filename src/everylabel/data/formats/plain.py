"""Documents to be tagged, from a file or a stream: JSON lines, or plain text with one document a line.

The first byte that is not a space decides: '{' means JSON lines. Blank lines are passed over; a document without an id
gets the number of its line, counted from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, TypeAlias

from everylabel.data.formats.arriving import batches
from everylabel.data.formats.json_lines import document, parse
from everylabel.data.formats.lines import lines, readable
from everylabel.data.formats.rows import BadRows, Row, decoded
from everylabel.run import Run

ReadRow: TypeAlias = Callable[[bytes, str, int, BadRows], Row | None]


def read_file(path: Path, bad: BadRows, run: Run) -> Iterator[Row]:
    return read_lines(lines(path, run), path.name, bad)


def read_stream(stream: BinaryIO, bad: BadRows, size: int, name: str = "<stdin>") -> Iterator[list[Row]]:
    """Documents as they arrive, at most `size` at a time; the stream may be compressed."""
    row_of: ReadRow | None = None
    with readable(name):
        for batch in batches(stream, size, name):
            rows: list[Row] = []
            for number, raw in batch:
                if not raw or raw.isspace():
                    continue
                row_of = row_of or kind_of(raw)
                row = row_of(raw, name, number, bad)
                if row is not None:
                    rows.append(row)
            if rows:
                yield rows


def read_lines(content: Iterable[bytes], name: str, bad: BadRows) -> Iterator[Row]:
    row_of: ReadRow | None = None
    for number, raw in enumerate(content, 1):
        if not raw or raw.isspace():
            continue
        row_of = row_of or kind_of(raw)
        row = row_of(raw, name, number, bad)
        if row is not None:
            yield row


def kind_of(first: bytes) -> ReadRow:
    """How rows are read, by the first line that is not blank."""
    return json_row if first.lstrip().startswith(b"{") else text_row


def json_row(raw: bytes, name: str, number: int, bad: BadRows) -> Row | None:
    value = parse(raw, f"{name}:{number}", bad)
    return None if value is None else document(value, name, number, bad)


def text_row(raw: bytes, name: str, number: int, bad: BadRows) -> Row | None:
    text = decoded(raw, f"{name}:{number}", bad)
    return None if text is None else Row(str(number - 1), text, "", None, None, name, number)
