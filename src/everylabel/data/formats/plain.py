"""Documents to be tagged, from a file or a stream: JSON lines, or plain text with one document a line.

The first byte that is not a space decides: '{' means JSON lines. Blank lines are passed over; a document without an id
gets the number of its line, counted from 0. Where columns are named, or the format is said to be csv, lines that are no
JSON are a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import BinaryIO

from everylabel.data.formats.csv_file import table_rows
from everylabel.data.formats.delimited import leading, table_of
from everylabel.data.formats.json_lines import document, parse
from everylabel.data.formats.layout import Columns
from everylabel.data.formats.lines import lines, readable, unpacked, without_mark
from everylabel.data.formats.rows import BadRows, Row, Source, decoded
from everylabel.errors import ConfigError

STREAM = "<stdin>"
FORMATS = ("native", "csv")  # that a stream may be said to have


def read_file(source: Source) -> Iterator[Row]:
    return read_lines(lines(source.path, source.run), source)


def read_stream(stream: BinaryIO, source: Source) -> Iterator[Row]:
    """Documents as they arrive; the stream may be compressed."""
    wanted, name = source.options.format, source.path.name
    if wanted not in (None, *FORMATS):
        raise ConfigError(f"{name}: expected the format {' or '.join(FORMATS)}, got {wanted!r}; give a file instead")
    with readable(name):
        content = without_mark(unpacked(stream), name)
        start = leading(content)
        is_json = bool(start) and start[-1].lstrip().startswith(b"{")
        if start and (wanted == "csv" or (source.options.named_columns and not is_json)):
            found = table_of(chain(start, content), source.path, source.bad)
            yield from table_rows(found, source.path, source.options)
        else:
            yield from read_lines((line.rstrip(b"\r\n") for line in chain(start, content)), source)


def read_lines(content: Iterable[bytes], source: Source) -> Iterator[Row]:
    numbered = ((number, raw) for number, raw in enumerate(content, 1) if raw and not raw.isspace())
    first = next(numbered, None)
    if first is None:
        return
    as_json, keys = first[1].lstrip().startswith(b"{"), source.options.keys
    for number, raw in chain([first], numbered):
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
