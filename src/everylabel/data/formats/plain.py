"""Documents to be tagged, from a file or a stream: JSON lines, or plain text with one document a line.

The first byte that is not a space decides: '{' means JSON lines. Blank lines are passed over; a document without an id
gets the number of its line, counted from 0. Where columns are named, or the format is said to be csv, lines that are no
JSON are a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import BinaryIO

from everylabel.data.formats.arriving import batches
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
    """Documents as they arrive, at most `size` at a time; the stream may be compressed. A table comes in full parts."""
    wanted, name = source.options.format, source.path.name
    if wanted not in (None, *FORMATS):
        raise ConfigError(f"{name}: expected the format {' or '.join(FORMATS)}, got {wanted!r}; give a file instead")
    with readable(name):
        arriving, begun, first = batches(stream, size, name), [], b""
        while not first and (batch := next(arriving, None)) is not None:
            begun.append(batch)
            first = next((raw for _, raw in batch if raw.strip()), b"")
        is_json = first.lstrip().startswith(b"{")
        if first and (wanted == "csv" or (source.options.named_columns and not is_json)):
            content = (raw + b"\n" for batch in chain(begun, arriving) for _, raw in batch)
            rows = table_rows(table_of(content, source.path, source.bad), source.path, source.options)
            while part := list(islice(rows, size)):
                yield part
            return
        for batch in chain(begun, arriving):
            if part := list(rows_of(batch, source, is_json)):
                yield part


def read_lines(content: Iterable[bytes], source: Source) -> Iterator[Row]:
    numbered = ((number, raw) for number, raw in enumerate(content, 1) if raw and not raw.isspace())
    first = next(numbered, None)
    if first is not None:
        yield from rows_of(chain([first], numbered), source, first[1].lstrip().startswith(b"{"))


def rows_of(numbered: Iterable[tuple[int, bytes]], source: Source, as_json: bool) -> Iterator[Row]:
    keys = source.options.keys
    for number, raw in numbered:
        if not raw or raw.isspace():
            continue
        row = json_row(raw, number, source, keys) if as_json else text_row(raw, source.path.name, number, source.bad)
        if row is not None:
            yield row


def json_row(raw: bytes, number: int, source: Source, keys: Columns) -> Row | None:
    name = source.path.name
    value = parse(raw, f"{name}:{number}", source.bad)
    return None if value is None else document(value, name, number, source.bad, keys, source.options.label_separator)


def text_row(raw: bytes, name: str, number: int, bad: BadRows) -> Row | None:
    text = decoded(raw, f"{name}:{number}", bad)
    return None if text is None else Row(str(number - 1), text, "", None, None, name, number)
