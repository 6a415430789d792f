"""Annif's full-text folders: a `.txt` a document, its subjects in a `.tsv` (`<uri><TAB>name`) or `.key` (names only).

The folder is one split, or has the folders `train`, `dev`, `test`. A document without a subject file is unlabelled.
`.json` documents, one a file, are read as well; and so are the other kinds of files.py, which Annif does not know.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from everylabel.data.formats import files, vocabulary
from everylabel.data.formats.annif import NameIndex, json_document
from everylabel.data.formats.json_lines import parse
from everylabel.data.formats.lines import content_of
from everylabel.data.formats.reading import Reader
from everylabel.data.formats.rows import SPLIT_NAMES, WHOLE, Entry, Row, Source, decoded
from everylabel.data.formats.vocabulary import bare_uri

NAME = "annif-folder"
NUMBERED = False


def detect(path: Path) -> bool:
    return path.is_dir() and any(is_corpus(folder) for folder in folders(path).values())


def is_corpus(folder: Path) -> bool:
    return any(subject_file(file) is not None for file in text_files(folder))


def folders(path: Path) -> dict[str, Path]:
    named = {split: path / name for split, names in SPLIT_NAMES.items() for name in names if (path / name).is_dir()}
    return named or {WHOLE: path}


def text_files(folder: Path) -> list[Path]:
    documents = (file for file in folder.iterdir() if file.suffix.lower() in files.SUFFIXES and file.is_file())
    return sorted(file for file in documents if not file.name.startswith("."))


def subject_file(text_file: Path) -> Path | None:
    return next((file for file in (text_file.with_suffix(s) for s in (".tsv", ".key")) if file.is_file()), None)


def splits(path: Path) -> list[str]:
    return list(folders(path))


def read_labels(source: Source) -> Iterator[Entry] | None:
    """Only a thesaurus or a file named like a vocabulary counts: other .tsv files belong to documents."""
    return vocabulary.found_labels(source)


def read_documents(source: Source, split: str) -> Iterator[Row]:
    folder = folders(source.path)[split]
    names = NameIndex(source)
    with Reader() as reader:
        for file in sorted([*text_files(folder), *folder.glob("*.json")]):
            if file.suffix == ".json":
                value = parse(content_of(file), f"{file.name}:1", source.bad)
                row = (
                    None
                    if value is None
                    else json_document({"document_id": file.stem, **value}, file.name, 1, names, source.bad)
                )
            else:
                row = text_document(file, names, reader, source)
            if row is not None:
                yield row


def text_document(file: Path, names: NameIndex, reader: Reader, source: Source) -> Row | None:
    found = files.content(file, file.name, reader, source)
    subjects = subject_file(file)
    if found is None or subjects is None:
        return None if found is None else Row(file.stem, found.text, found.title, None, None, file.name, 1)
    listed = decoded(content_of(subjects), f"{subjects.name}:1", source.bad)
    if listed is None:
        return None
    rows = [line.partition("\t")[0].strip() for line in listed.splitlines() if line.strip()]
    labels = [bare_uri(first) if first.startswith("<") else names.id_of(first) for first in rows]
    return Row(file.stem, found.text, found.title, labels, None, file.name, 1)
