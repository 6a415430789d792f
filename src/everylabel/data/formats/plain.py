"""Documents to be tagged, from a file or a stream: JSON lines, or plain text with one document a line.

The first byte that is not a space decides: '{' means JSON lines. Blank lines are passed over; a document without an id
gets the number of its line, counted from 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from everylabel.data.formats.json_lines import document, parse
from everylabel.data.formats.lines import lines, readable, unpacked, without_mark
from everylabel.data.formats.rows import BadRows, Row, decoded
from everylabel.run import Run


def read_file(path: Path, bad: BadRows, run: Run) -> Iterator[Row]:
    return read_lines(lines(path, run), path.name, bad)


def read_stream(stream: BinaryIO, bad: BadRows, name: str = "<stdin>") -> Iterator[Row]:
    """Documents as they arrive; the stream may be compressed."""
    with readable(name):
        content = without_mark(unpacked(stream), name)
        yield from read_lines((line.rstrip(b"\r\n") for line in content), name, bad)


def read_lines(content: Iterable[bytes], name: str, bad: BadRows) -> Iterator[Row]:
    numbered = ((number, raw) for number, raw in enumerate(content, 1) if raw and not raw.isspace())
    first = next(numbered, None)
    if first is None:
        return
    as_json = first[1].lstrip().startswith(b"{")
    for number, raw in chain([first], numbered):
        row = json_row(raw, name, number, bad) if as_json else text_row(raw, name, number, bad)
        if row is not None:
            yield row


def json_row(raw: bytes, name: str, number: int, bad: BadRows) -> Row | None:
    value = parse(raw, f"{name}:{number}", bad)
    return None if value is None else document(value, name, number, bad)


def text_row(raw: bytes, name: str, number: int, bad: BadRows) -> Row | None:
    text = decoded(raw, f"{name}:{number}", bad)
    return None if text is None else Row(str(number - 1), text, "", None, None, name, number)
