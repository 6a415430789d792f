"""A vocabulary and no documents: a SKOS file, Annif's TSV or CSV, `labels.jsonl`; or a folder with nothing else.

Labels are found by their texts then (`everylabel fit vocabulary.ttl`). A folder of `labels.jsonl` alone is native.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from everylabel.data.formats import skos, vocabulary
from everylabel.data.formats.delimited import columns_of
from everylabel.data.formats.json_lines import first_object
from everylabel.data.formats.lines import first_lines
from everylabel.data.formats.rows import Entry, Row, Source, existing, stem_of, suffix_of
from everylabel.errors import DataError

NAME = "vocabulary"
NUMBERED = False
CSV_COLUMNS = {"id", "uri", "name", "label", "notation", "description"}


def detect(path: Path) -> bool:
    if path.is_dir():
        files = [file for file in path.iterdir() if not file.name.startswith(".")]
        return (
            bool(files) and not existing(path, "labels.jsonl") and all(vocabulary.is_named_like_one(f) for f in files)
        )
    suffix = suffix_of(path)
    if suffix == ".jsonl":
        first = first_object(path)
        return "id" in first and "text" not in first and ("name" in first or stem_of(path) in vocabulary.STEMS)
    if suffix == ".tsv":
        return any(line.startswith("<") and line.partition("\t")[0].endswith(">") for line in first_lines(path))
    if suffix == ".csv":
        columns = set(columns_of(path))
        rest = {name for name in columns - CSV_COLUMNS if not name.startswith("label_")}
        return not rest and ("uri" in columns or ({"id", "name"} <= columns and "label" not in columns))
    return suffix in skos.SUFFIXES


def splits(_path: Path) -> list[str]:
    return []


def read_labels(source: Source) -> Iterator[Entry] | None:
    file = vocabulary.find(source.path) if source.path.is_dir() else source.path
    return None if file is None else vocabulary.read(file, source.bad, source.run, source.options.language)


def read_documents(source: Source, _split: str) -> Iterator[Row]:
    raise DataError(f"{source.path}: expected documents, got a vocabulary; name data that have some")
