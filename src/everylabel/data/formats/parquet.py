"""Parquet, read by pyarrow, which is imported on use: a text column and a label column (a list, or text to be split).

A folder has `train.parquet` or parts such as `train-00000-of-00002.parquet`, and a vocabulary if there is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from everylabel.data.formats import native, vocabulary
from everylabel.data.formats.json_lines import split_labels, strings
from everylabel.data.formats.layout import COLUMNS, Columns, columns_in
from everylabel.data.formats.rows import SPLIT_NAMES, WHOLE, Row, Source, Target, shown, split_of, stem_of
from everylabel.errors import DataError

NAME = "parquet"
NUMBERED = False
BATCH = 1024  # rows held at a time

read_labels = vocabulary.found_labels


def pyarrow_for(path: Path) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DataError(f"{path}: Parquet needs pyarrow; pip install everylabel[parquet]") from None
    return pyarrow


def detect(path: Path) -> bool:
    return path.suffix == ".parquet" if path.is_file() else bool(parts(path))


def parts(path: Path) -> dict[str, list[Path]]:
    """The files of each split, in order."""
    if path.is_file():
        return {split_of(stem_of(path)) or WHOLE: [path]}
    found: dict[str, list[Path]] = {}
    for file in sorted(path.glob("*.parquet")):
        split = split_of(file.stem.partition("-")[0])
        if split:
            found.setdefault(split, []).append(file)
    return {split: found[split] for split in SPLIT_NAMES if split in found}


def splits(path: Path) -> list[str]:
    return list(parts(path))


def columns(path: Path) -> list[str]:
    """What there is to be named, in the first file."""
    file = next(iter(parts(path).values()))[0]
    with opened(file) as content:
        return list(content.schema_arrow.names)


def read_documents(source: Source, split: str) -> Iterator[Row]:
    number = 0
    for file in [source.path] if source.path.is_file() else parts(source.path)[split]:
        with opened(file) as content:
            names = columns_in(content.schema_arrow.names, source.options, file)
            for line, cells in enumerate(records(content, names), 1):
                row = document(cells, names, number, file.name, line, source)
                number += 1
                if row is not None:
                    yield row


@contextmanager
def opened(file: Path) -> Iterator[Any]:
    """The file, to be read while it is open; damage becomes a DataError."""
    pyarrow = pyarrow_for(file)
    try:
        with pyarrow.parquet.ParquetFile(file) as content:
            yield content
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"{file}: expected a whole Parquet file ({reason}); write or fetch it again") from error


def records(content: Any, names: Columns) -> Iterator[dict[str, Any]]:
    """The rows of one file as dictionaries, a batch at a time."""
    wanted = names.used() | {"id"}
    for batch in content.iter_batches(BATCH, columns=[one for one in content.schema_arrow.names if one in wanted]):
        yield from batch.to_pylist()


def document(cells: dict[str, Any], names: Columns, number: int, file: str, line: int, source: Source) -> Row | None:
    text = cells[names.text]
    given = None if names.labels is None else cells[names.labels]
    title = "" if names.title is None else cells[names.title] or ""
    labels = split_labels(given, source.options.separator) if isinstance(given, str) else strings(given)
    doc_id = str(number) if cells.get("id") is None else str(cells["id"])
    if isinstance(text, str) and isinstance(title, str) and (given is None or labels is not None):
        return Row(doc_id, text, title, labels, None, file, line)
    problem = f"expected a text and a list of label ids (or text to split), got {shown(text)} and {shown(given)}"
    source.bad.add(f"{file}:{line}", problem, "correct the row")
    return None


def write_labels(target: Target) -> None:
    native.write_labels(target)  # a table has no room for alternatives and parents


def write_split(target: Target, split: str, rows: Iterable[Row]) -> None:
    write_file(Target(target.path / f"{split}.parquet", target.labels, target.options), rows)


def write_file(target: Target, rows: Iterable[Row]) -> None:
    pyarrow = pyarrow_for(target.path)
    string, names = pyarrow.string(), ["id", *COLUMNS.values()]
    schema = pyarrow.schema(list(zip(names, [string, string, string, pyarrow.list_(string)], strict=True)))
    with pyarrow.parquet.ParquetWriter(target.path, schema) as writer:
        batch: list[dict[str, Any]] = []
        for row in rows:
            batch.append(dict(zip(names, [row.id, row.title, row.text, row.labels], strict=True)))
            if len(batch) == BATCH:
                writer.write_table(pyarrow.Table.from_pylist(batch, schema))
                batch = []
        writer.write_table(pyarrow.Table.from_pylist(batch, schema))
