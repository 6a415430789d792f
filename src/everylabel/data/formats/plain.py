"""Documents to be tagged, from a file or a stream: JSON lines, or plain text with one document a line.

The first byte that is not a space decides: '{' means JSON lines. Blank lines are passed over; a document without an id
gets the number of its line, counted from 0. Where columns are named, or the format is said to be csv, lines that are no
JSON are a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import BinaryIO

from everylabel.data.formats.arriving import Batch, batches
from everylabel.data.formats.csv_file import table_rows
from everylabel.data.formats.delimited import table_of
from everylabel.data.formats.json_lines import document, parse
from everylabel.data.formats.layout import Columns
from everylabel.data.formats.lines import lines, readable
from everylabel.data.formats.rows import BadRows, Row, Source, decoded
from everylabel.errors import ConfigError

STREAM = "<stdin>"
FORMATS = ("native", "csv")  # that a stream may be said to have


def read_file(source: Source) -> Iterator[Row]:
    return read_lines(lines(source.path, source.run), source)


def read_stream(stream: BinaryIO, source: Source, size: int) -> Iterator[list[Row]]:
    """Documents as they arrive, at most `size` at a time; the stream may be compressed. Rows of a table come in full
    parts: one may span lines."""
    wanted, name = source.options.format, source.path.name
    if wanted not in (None, *FORMATS):
        raise ConfigError(f"{name}: expected the format {' or '.join(FORMATS)}, got {wanted!r}; give a file instead")
    with readable(name):
        arriving = batches(stream, size, name)
        start: list[Batch] = []
        first = b""
        while not first and (batch := next(arriving, None)) is not None:
            start.append(batch)
            first = next((raw for _, raw in batch if not is_blank(raw)), b"")
        as_json = is_json(first)
        if first and (wanted == "csv" or (source.options.named_columns and not as_json)):
            content = (raw + b"\n" for batch in chain(start, arriving) for _, raw in batch)
            rows = table_rows(table_of(content, source.path, source.bad), source.path, source.options)
            while part := list(islice(rows, size)):
                yield part
            return
        for batch in chain(start, arriving):
            found = (read_row(raw, number, source, as_json) for number, raw in batch if not is_blank(raw))
            if part := [row for row in found if row is not None]:
                yield part


def read_lines(content: Iterable[bytes], source: Source) -> Iterator[Row]:
    as_json: bool | None = None
    for number, raw in enumerate(content, 1):
        if is_blank(raw):
            continue
        if as_json is None:
            as_json = is_json(raw)
        row = read_row(raw, number, source, as_json)
        if row is not None:
            yield row


def is_blank(raw: bytes) -> bool:
    return not raw or raw.isspace()


def is_json(first: bytes) -> bool:
    """How rows are read, by the first line that is not blank."""
    return first.lstrip().startswith(b"{")


def read_row(raw: bytes, number: int, source: Source, as_json: bool) -> Row | None:
    if as_json:
        return json_row(raw, number, source, source.options.keys)
    return text_row(raw, source.path.name, number, source.bad)


def json_row(raw: bytes, number: int, source: Source, keys: Columns) -> Row | None:
    name = source.path.name
    value, options = parse(raw, f"{name}:{number}", source.bad), source.options
    if value is None:
        return None
    return document(value, name, number, source.bad, keys, options.label_separator, options.fields)


def text_row(raw: bytes, name: str, number: int, bad: BadRows) -> Row | None:
    text = decoded(raw, f"{name}:{number}", bad)
    return None if text is None else Row(str(number - 1), text, "", None, None, name, number)
