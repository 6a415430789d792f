"""RIS records, by rispy (extra `catalogue`): TI or T1, AB or N2, KW; new keywords are lines KW after the last ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from everylabel.data.formats import catalogue, vocabulary
from everylabel.data.formats.catalogue import Given, Record, Subjects, Tagging
from everylabel.data.formats.lines import created, first_lines
from everylabel.data.formats.rows import WHOLE, Row, Source, suffix_of
from everylabel.errors import DataError

NAME = "ris"
NUMBERED = False
SUFFIXES = (".ris",)
START = re.compile(r"TY  -( |$)")
TAG = re.compile(r"([A-Z][A-Z0-9])  -")
TITLES, TEXTS = ("title", "primary_title", "translated_title"), ("abstract", "notes_abstract")

read_labels = vocabulary.found_labels


def detect(path: Path) -> bool:
    if not path.is_file():
        return False
    if suffix_of(path) in SUFFIXES:
        return True
    return suffix_of(path) == ".txt" and any(START.match(line) for line in first_lines(path))


def splits(_path: Path) -> list[str]:
    return [WHOLE]


def read_documents(source: Source, _split: str) -> Iterator[Row]:
    return catalogue.rows_of(read_records(source), source)


def read_records(source: Source) -> Iterator[Record]:
    return _records(catalogue.text_in(source.path), source)


def write_subjects(source: Source, target: Path, subjects: Subjects, _tagging: Tagging) -> int:
    text, n_added = catalogue.text_in(source.path), 0
    lines = text.splitlines(keepends=True)
    insertions: dict[int, list[str]] = {}
    for record, (start, end) in zip(_records(text, source), _places(lines), strict=True):
        new = catalogue.missing(record, subjects)
        keywords = [at for at in range(start, end) if lines[at].startswith("KW  -")]
        at = _end_of_field(lines, keywords[-1], end) if keywords else end
        line_end = lines[start][len(lines[start].rstrip("\r\n")) :] or "\n"
        insertions.setdefault(at, []).extend(f"KW  - {' '.join(one.name.split())}{line_end}" for one in new)
        n_added += len(new)
    with created(target) as out:
        for at, line in enumerate(lines):
            out.write("".join([*insertions.get(at, ()), line]).encode())
    return n_added


def _places(lines: list[str]) -> list[tuple[int, int]]:
    """The first line and the one that ends it, of each record."""
    places, start = [], None
    for at, line in enumerate(lines):
        if start is None and line.startswith("TY"):
            start = at
        elif start is not None and line.startswith("ER  -"):
            places.append((start, at))
            start = None
    return places


def _end_of_field(lines: list[str], at: int, end: int) -> int:
    """After the lines that go on with it."""
    return next((i for i in range(at + 1, end) if TAG.match(lines[i])), end)


def _records(text: str, source: Source) -> Iterator[Record]:
    catalogue.require("rispy", source.path)
    import rispy

    lines = text.splitlines(keepends=True)
    for number, (start, end) in enumerate(_places(lines), 1):
        try:
            (found,) = rispy.loads("".join(line.rstrip("\r\n") + "\n" for line in lines[start : end + 1]))
        except Exception as error:  # rispy fails in any way on what it does not expect
            problem = f"expected a RIS record, and it is damaged ({type(error).__name__}: {error})"
            raise DataError(f"{catalogue.where(source.path, number)}: {problem}; correct it") from None
        yield _record(found, number)
    n_starts = sum(line.startswith("TY  -") for line in lines)
    if n_starts != len(_places(lines)):
        place = catalogue.where(source.path, len(_places(lines)))
        source.bad.add(place, f"{n_starts:,} records begin (TY), and {len(_places(lines)):,} end (ER)", "correct it")


def _record(found: dict[str, Any], number: int) -> Record:
    def first(*keys: str) -> str:
        return next((str(found[key]) for key in keys if found.get(key)), "")

    given = [Given(one.strip()) for one in found.get("keywords", ()) if one.strip()]
    return Record(number, first("id", "accession_number") or str(number), first(*TITLES), first(*TEXTS), given)
