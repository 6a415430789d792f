"""What all formats of catalogue records share: subjects as records have them, as labels, and labels as new subjects.

A record's title and abstract are a document; its subjects are labels where the vocabulary has them, by identifier or
by name, whatever its capitals. A format's module is written so that nothing but the new subjects differs from the
record that was read, to the byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from everylabel.data.formats import vocabulary
from everylabel.data.formats.lines import content_of
from everylabel.data.formats.rows import BadRows, Row, Source
from everylabel.data.label import Label
from everylabel.errors import DataError

SHOWN = 3


class Given(NamedTuple):
    """A subject that a record has."""

    name: str
    ids: tuple[str, ...] = ()


class Record(NamedTuple):
    number: int  # in its file, from 1
    id: str
    title: str
    text: str
    subjects: list[Given]


class Subject(NamedTuple):
    """A label that a record is to get."""

    name: str
    id: str
    uri: str = ""
    score: float | None = 1.0  # None: a person thought of it


class Tagging(NamedTuple):
    """What is written with the labels, where a format has a place for it."""

    source: str = "local"  # code of the vocabulary, as MARC lists them
    process: str = "everylabel"
    date: str = ""  # as 20270131
    by_person: bool = False  # whether somebody has looked at the labels and taken them


Subjects = Mapping[int, Sequence[Subject]]  # by the number of the record


def require(library: str, file: Path) -> None:
    if find_spec(library) is None:
        raise DataError(f"{file}: reading it needs {library}; pip install 'everylabel[catalogue]'")


def text_in(file: Path) -> str:
    try:
        return content_of(file).decode()
    except UnicodeDecodeError as error:
        raise DataError(f"{file}: expected UTF-8; {error}; save it as UTF-8") from None


def where(file: Path, number: int) -> str:
    return f"{file.name}: record {number}"


def missing(record: Record, wanted: Subjects) -> list[Subject]:
    """Those of the labels that the record does not have yet, each once."""
    names = {_folded(one.name) for one in record.subjects}
    ids = {one for given in record.subjects for one in given.ids}
    found = []
    for subject in wanted.get(record.number, ()):
        if _folded(subject.name) not in names and not {subject.id, subject.uri} & ids:
            names.add(_folded(subject.name))
            found.append(subject)
    return found


def rows_of(records: Iterable[Record], source: Source) -> Iterator[Row]:
    """Documents with the labels that are known; the others are counted, and said at the end."""
    known, unknown, n_unknown = Known(source), dict[str, None](), 0
    for record in records:
        labels: dict[str, None] = {}
        for given in record.subjects:
            label = known.id_of(given)
            if label is None:
                n_unknown += 1
                if len(unknown) < SHOWN:
                    unknown[given.name or given.ids[0]] = None
            else:
                labels[label] = None
        name = source.path.name
        yield Row(record.id, record.text, record.title, list(labels) or None, None, name, record.number)
    if n_unknown:
        source.run.say(
            f"{source.path}: {n_unknown:,} subjects are not in the vocabulary, and are left out: {', '.join(unknown)}"
            f"{', ...' if n_unknown > len(unknown) else ''}"
        )


class Known:
    """The vocabulary by ids, URIs and names, read at the first subject. Without one, a subject is its id or name."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._found: tuple[dict[str, str], dict[str, str]] | None = None

    def id_of(self, given: Given) -> str | None:
        if self._found is None:
            self._found = self._read()
        ids, names = self._found
        if not ids:
            return next(iter(given.ids), given.name) or None
        by_id = next((ids[one] for one in given.ids if one in ids), None)
        return by_id or names.get(_folded(given.name)) or ids.get(given.name)

    def _read(self) -> tuple[dict[str, str], dict[str, str]]:
        ids: dict[str, str] = {}
        names: dict[str, str] = {}
        others: dict[str, str] = {}
        for label in self._labels():
            ids[label.id] = label.id
            if label.uri:
                ids.setdefault(label.uri, label.id)
            names.setdefault(_folded(label.name), label.id)
            for other in (*label.alternatives, *(one.text for one in label.translations if one.kind != "description")):
                others.setdefault(_folded(other), label.id)
        return ids, others | names

    def _labels(self) -> Iterable[Label]:
        if self._source.labels is not None:
            return self._source.labels
        lenient, options = BadRows("skip"), self._source.options
        file = options.vocabulary_file
        if file is None:
            entries = vocabulary.found_labels(replace(self._source, bad=lenient))
        else:
            entries = vocabulary.read(file, lenient, self._source.run, options.language)
        return (entry.label for entry in entries or ())


def _folded(name: str) -> str:
    return re.sub(r"\s+", " ", name).strip().rstrip(".").casefold()
