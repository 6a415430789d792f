"""Parquet, read by pyarrow, which is imported on use: a text column and a label column (a list, or text to be split).

A folder has `train.parquet` or parts such as `train-00000-of-00002.parquet`, and a vocabulary if there is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from everylabel.data.formats import native, vocabulary
from everylabel.data.formats.csv_file import missing_column, split_labels
from everylabel.data.formats.json_lines import strings
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


def read_documents(source: Source, split: str) -> Iterator[Row]:
    number = 0
    for file in [source.path] if source.path.is_file() else parts(source.path)[split]:
        for line, cells in enumerate(records(file, source), 1):
            row = document(cells, number, file.name, line, source)
            number += 1
            if row is not None:
                yield row


def records(file: Path, source: Source) -> Iterator[dict[str, Any]]:
    """The rows of one file as dictionaries, a batch at a time; damage becomes a DataError."""
    pyarrow = pyarrow_for(file)
    try:
        with pyarrow.parquet.ParquetFile(file) as content:
            columns = list(content.schema_arrow.names)
            if source.options.text_column not in columns:
                raise DataError(missing_column(file, source.options, columns))
            wanted = {"id", "title", source.options.text_column, source.options.label_column}
            for batch in content.iter_batches(BATCH, columns=[name for name in columns if name in wanted]):
                yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"{file}: expected a whole Parquet file ({reason}); write or fetch it again") from error


def document(cells: dict[str, Any], number: int, file: str, line: int, source: Source) -> Row | None:
    options = source.options
    text, given, title = cells[options.text_column], cells.get(options.label_column), cells.get("title") or ""
    labels = split_labels(given, options.label_separator) if isinstance(given, str) else strings(given)
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
    options, string = target.options, pyarrow.string()
    names = ["id", "title", options.text_column, options.label_column]
    schema = pyarrow.schema(list(zip(names, [string, string, string, pyarrow.list_(string)], strict=True)))
    with pyarrow.parquet.ParquetWriter(target.path, schema) as writer:
        batch: list[dict[str, Any]] = []
        for row in rows:
            batch.append(dict(zip(names, [row.id, row.title, row.text, row.labels], strict=True)))
            if len(batch) == BATCH:
                writer.write_table(pyarrow.Table.from_pylist(batch, schema))
                batch = []
        writer.write_table(pyarrow.Table.from_pylist(batch, schema))
