"""The native layout: `labels.jsonl` and `train.jsonl`, `dev.jsonl`, `test.jsonl`, each also as .gz.

A label is {"id", "name", "description"?, "alternatives"?, "parents"?} and whatever else a `Label` has, by the names of
its fields; a translation is {"language", "text", "kind"}. A document is {"id", "title"?, "text", "labels"?}.
A single file of documents uses the `labels.jsonl` beside it, if there is one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from everylabel.data.dataset import Label
from everylabel.data.formats.json_lines import Object, document, first_keys, objects, strings
from everylabel.data.formats.layout import USUAL, columns_in
from everylabel.data.formats.lines import created
from everylabel.data.formats.rows import (
    BadRows,
    Entry,
    Row,
    Source,
    Target,
    existing,
    shown,
    split_file,
    split_files,
    suffix_of,
)
from everylabel.errors import DataError
from everylabel.run import Run

NAME = "native"
SUFFIXES = (".jsonl",)
NUMBERED = False
LISTS = ("alternatives", "parents", "types", "schemes", "related", "replaced_by")
_MORE = frozenset(("notation", "uri", "language", "deprecated", "translations"))  # that few labels have


def detect(path: Path) -> bool:
    if path.is_file():
        return suffix_of(path) in SUFFIXES
    return bool(splits(path)) or (
        vocabulary_file(path) is not None and not split_files(path, (".csv", ".tsv", ".txt", ".parquet"))
    )


def splits(path: Path) -> list[str]:
    return list(split_files(path, SUFFIXES))


def columns(path: Path) -> list[str]:
    """What there is to be named, in the first file: the keys of its objects."""
    return first_keys(next(iter(split_files(path, SUFFIXES).values())))


def vocabulary_file(path: Path) -> Path | None:
    return existing(path if path.is_dir() else path.parent, "labels.jsonl")


def read_labels(source: Source) -> Iterator[Entry] | None:
    file = vocabulary_file(source.path)
    return None if file is None else read_vocabulary(file, source.bad, source.run)


def read_vocabulary(file: Path, bad: BadRows, run: Run) -> Iterator[Entry]:
    name = file.name
    for number, value in objects(file, bad, run):
        where = f"{name}:{number}"
        label = label_of(value, where, bad)
        if label is not None:
            yield Entry(label, where)


def label_of(value: Object, where: str, bad: BadRows) -> Label | None:
    label_id, name, description = value.get("id"), value.get("name") or "", value.get("description") or ""
    lists = {key: strings(value[key]) for key in LISTS if value.get(key)}
    if type(label_id) is not str and type(label_id) is not int:
        problem = f'expected a label with a text under "id", got {shown(value)}'
    elif not isinstance(name, str) or not isinstance(description, str):
        problem = f'expected texts under "name" and "description", got {shown(name)} and {shown(description)}'
    elif any(own is None for own in lists.values()):
        wrong = " and ".join(f'"{key}"' for key, own in lists.items() if own is None)
        problem = f"expected lists of texts under {wrong}"
    else:
        try:
            listed: dict[str, Any] = {key: tuple(own) for key, own in lists.items() if own}
            return Label(str(label_id), name, description, **listed, **more_of(value))
        except DataError as error:
            problem = str(error)
    bad.add(where, problem, "correct the line")
    return None


def more_of(value: Object) -> dict[str, Any]:
    """What few labels have, as it is given: a `Label` says what is wrong with it."""
    if _MORE.isdisjoint(value):
        return {}
    found: dict[str, Any] = {key: value[key] for key in ("notation", "uri", "language") if value.get(key) is not None}
    if value.get("deprecated") is not None:
        found["deprecated"] = value["deprecated"]
    if (given := value.get("translations")) is not None:
        if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
            raise DataError(f'expected "translations" as a list of {{"language", "text", "kind"}}, got {shown(given)}')
        found["translations"] = tuple((one.get("language"), one.get("text"), one.get("kind", "name")) for one in given)
    return found


def read_documents(source: Source, split: str) -> Iterator[Row]:
    file = split_file(source.path, split, split_files(source.path, SUFFIXES))
    options = source.options
    keys = columns_in(columns(file), options, file) if options.named_columns else USUAL
    for number, value in objects(file, source.bad, source.run):
        row = document(value, file.name, number, source.bad, keys, options.label_separator, options.fields)
        if row is not None:
            yield row


def write_labels(target: Target) -> None:
    with created(target.into("labels.jsonl").path) as out:
        for label in target.labels.labels:
            out.write(json_line(label_object(label)))


def label_object(label: Label) -> Object:
    """All that it has; what is empty is left out."""
    value: Object = {"id": label.id, "name": label.name}
    for field in fields(label)[2:]:
        own = getattr(label, field.name)
        if own and field.name == "translations":
            value[field.name] = [one._asdict() for one in own]
        elif own:
            value[field.name] = list(own) if isinstance(own, tuple) else own
    return value


def write_split(target: Target, split: str, rows: Iterable[Row]) -> None:
    write_file(target.into(f"{split}.jsonl"), rows)


def write_file(target: Target, rows: Iterable[Row]) -> None:
    with created(target.path) as out:
        for row in rows:
            out.write(json_line(document_object(row)))


def document_object(row: Row) -> Object:
    value: Object = {"id": row.id}
    if row.title:
        value["title"] = row.title
    value["text"] = row.text
    if row.labels is not None:
        value["labels"] = row.labels
    return value


def json_line(value: Object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"
