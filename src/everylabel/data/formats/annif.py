"""Annif's corpus files: TSV `text<TAB><uri> <uri>`, CSV with the columns `text` and `subject_uris`, JSON lines.

A folder has them by split, as `train.tsv.gz`, `test.csv`, ..., and a vocabulary beside them (see `vocabulary.py`).
A JSON line is {"document_id"?, "text", "subjects"?: [{"uri"} or {"label"}], "metadata"?: {"title"}}.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from everylabel.data.formats import vocabulary
from everylabel.data.formats.attentionxml import spaced
from everylabel.data.formats.delimited import columns_of, table
from everylabel.data.formats.json_lines import Object, first_object, objects
from everylabel.data.formats.lines import created, first_lines, lines
from everylabel.data.formats.rows import (
    BadRows,
    Row,
    Source,
    Target,
    decoded,
    shown,
    split_file,
    split_files,
    suffix_of,
)
from everylabel.data.formats.vocabulary import bare_uri, one_line
from everylabel.run import Run

NAME = "annif"
NUMBERED = False
SUFFIXES = (".tsv", ".csv", ".jsonl")

read_labels = vocabulary.found_labels


def detect(path: Path) -> bool:
    if path.is_dir():
        return any(detect(file) for file in split_files(path, SUFFIXES).values())
    suffix = suffix_of(path)
    if suffix == ".csv":
        return {"text", "subject_uris"} <= set(columns_of(path))
    if suffix == ".jsonl":
        return "subjects" in first_object(path)
    return suffix == ".tsv" and any(has_uris(line) for line in first_lines(path))


def has_uris(line: str) -> bool:
    words = line.partition("\t")[2].split()
    return bool(words) and all(word.startswith("<") and word.endswith(">") for word in words)


def splits(path: Path) -> list[str]:
    return list(split_files(path, SUFFIXES))


def read_documents(source: Source, split: str) -> Iterator[Row]:
    file = split_file(source.path, split, split_files(source.path, SUFFIXES))
    if suffix_of(file) == ".csv":
        return read_csv(file, source.bad, source.run)
    if suffix_of(file) == ".jsonl":
        return read_json_lines(file, source)
    return read_tsv(file, source.bad, source.run)


def read_tsv(file: Path, bad: BadRows, run: Run) -> Iterator[Row]:
    for number, raw in enumerate(lines(file, run), 1):
        line = decoded(raw, f"{file.name}:{number}", bad)
        if line is None or not line.strip():
            continue
        text, tab, uris = line.partition("\t")
        labels = [bare_uri(uri) for uri in uris.split()] if tab else None
        yield Row(str(number - 1), text, "", labels, None, file.name, number)


def read_csv(file: Path, bad: BadRows, run: Run) -> Iterator[Row]:
    for number, cells in table(file, bad, run).rows:
        if "text" not in cells:
            bad.add(f"{file.name}:{number}", f"expected a column 'text', got {shown(list(cells))}", "add it")
            continue
        labels = [bare_uri(uri) for uri in cells["subject_uris"].split()] if "subject_uris" in cells else None
        doc_id = cells.get("document_id") or cells.get("id") or str(number - 2)
        yield Row(doc_id, cells["text"], cells.get("title", ""), labels, None, file.name, number)


def read_json_lines(file: Path, source: Source) -> Iterator[Row]:
    names = NameIndex(source)
    for number, value in objects(file, source.bad, source.run):
        row = json_document(value, file.name, number, names, source.bad)
        if row is not None:
            yield row


class NameIndex:
    """Label ids by name, read from the vocabulary at the first name that asks for one."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.ids: dict[str, str] | None = None

    def id_of(self, name: str) -> str:
        """The id of the label of this name; the name itself when no vocabulary knows it."""
        if self.ids is None:
            options, run, lenient = self.source.options, self.source.run, BadRows("skip")
            file = options.vocabulary_file
            if file is None:
                entries = vocabulary.found_labels(replace(self.source, bad=lenient))
            else:
                entries = vocabulary.read(file, lenient, run, options.language)
            self.ids = {entry.label.name: entry.label.id for entry in entries or ()}
        return self.ids.get(name, name)


def json_document(value: Object, file: str, line: int, names: NameIndex, bad: BadRows) -> Row | None:
    text, subjects, metadata = value.get("text", ""), value.get("subjects"), value.get("metadata") or {}
    title = metadata.get("title") or "" if isinstance(metadata, dict) else None
    labels = None if subjects is None else subject_ids(subjects, names)
    if not isinstance(text, str) or not isinstance(title, str):
        problem = f'expected texts under "text" and "metadata": {{"title"}}, got {shown(text)} and {shown(title)}'
    elif subjects is not None and labels is None:
        problem = f'expected "subjects" as a list of {{"uri"}} or {{"label"}}, got {shown(subjects)}'
    else:
        wanted = names.source.options.fields
        fields = {name: metadata[name] for name in wanted if isinstance(metadata.get(name), str)} if wanted else None
        return Row(str(value.get("document_id", line - 1)), text, title, labels, None, file, line, fields)
    bad.add(f"{file}:{line}", problem, "correct it")
    return None


def subject_ids(subjects: object, names: NameIndex) -> list[str] | None:
    if not isinstance(subjects, list) or not all(isinstance(subject, dict) for subject in subjects):
        return None
    found: list[str] = []
    for subject in subjects:
        uri, name = subject.get("uri"), subject.get("label")
        if isinstance(uri, str):
            found.append(bare_uri(uri))
        elif isinstance(name, str):
            found.append(names.id_of(name))
        else:
            return None
    return found


def write_labels(target: Target) -> None:
    with created(target.path / "vocabulary.tsv") as out:  # Annif reads vocabularies uncompressed only
        for label in target.labels.labels:
            notation = f"\t{one_line(label.notation)}" if label.notation else ""
            out.write(f"<{label.id}>\t{one_line(label.name)}{notation}\n".encode())


def write_split(target: Target, split: str, rows: Iterable[Row]) -> None:
    write_file(target.into(f"{split}.tsv"), rows)


def write_file(target: Target, rows: Iterable[Row]) -> None:
    with created(target.path) as out:
        for row in rows:
            uris = " ".join(f"<{uri}>" for uri in spaced(row, NAME).split())
            out.write(f"{one_line(row.full_text)}\t{uris}\n".encode())
