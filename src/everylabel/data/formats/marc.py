"""MARC 21 records in ISO 2709 (`.mrc`), by pymarc (extra `catalogue`): 245 is the title, 520 the text, 650, 651 and 653
the subjects.

New subjects are 650 _7 with $a, $2 and $0, and for each an 883 that says by what, how surely and when, linked by $8.
The first indicator of 883 says whether a person has taken it from the machine (1), or nobody has looked at it (0). They
are put into the record's bytes: its other fields stay as they are, also those in MARC-8, where letters that are
not ASCII are written as character references, as the Library of Congress has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from everylabel.data.formats import catalogue, vocabulary
from everylabel.data.formats.catalogue import Given, Record, Subject, Subjects, Tagging
from everylabel.data.formats.lines import created, opened
from everylabel.data.formats.rows import WHOLE, Row, Source, suffix_of
from everylabel.errors import DataError

if TYPE_CHECKING:
    import pymarc

NAME = "marc"
NUMBERED = False
SUFFIXES = (".mrc", ".marc", ".iso2709")
LEADER = re.compile(rb"\d{5}[a-z ].{6}\d{5}.{3}45..", re.DOTALL)
FIELD_END, RECORD_END, MARK = b"\x1e", b"\x1d", b"\x1f"
TITLE, SUBJECTS = ("a", "b", "n", "p"), ("650", "651", "653")
MOST_FIELD, MOST_RECORD = 9_999, 99_999  # bytes

read_labels = vocabulary.found_labels


class NewField(NamedTuple):
    """Indicators, and codes with their values."""

    tag: str
    indicators: str
    subfields: list[tuple[str, str]]


def detect(path: Path) -> bool:
    if not path.is_file():
        return False
    if suffix_of(path) in SUFFIXES:
        return True
    with path.open("rb") as start:
        return LEADER.match(start.read(24)) is not None


def splits(_path: Path) -> list[str]:
    return [WHOLE]


def read_documents(source: Source, _split: str) -> Iterator[Row]:
    return catalogue.rows_of(read_records(source), source)


def read_records(source: Source) -> Iterator[Record]:
    return (record for record, _, _ in _records(source) if record is not None)


def write_subjects(source: Source, target: Path, subjects: Subjects, tagging: Tagging) -> int:
    """The number of subjects that were added. Records that cannot be read are written as they are."""
    n_added = 0
    with created(target) as out:
        for record, found, chunk in _records(source):
            new = [] if record is None else catalogue.missing(record, subjects)
            if record is not None and new:
                fields = new_fields(new, tagging, first_link(found))
                try:
                    chunk = with_fields(chunk, fields)
                    n_added += len(new)
                except ValueError as error:
                    source.bad.add(catalogue.where(source.path, record.number), str(error), "ask for fewer labels")
            out.write(chunk)
    return n_added


def _records(source: Source) -> Iterator[tuple[Record | None, Any, bytes]]:
    """Each record, as pymarc has it too, with its bytes; None for one that was reported as bad."""
    catalogue.require("pymarc", source.path)
    from pymarc import MARCReader
    from pymarc.exceptions import FatalReaderError

    with opened(source.path) as (_, content):
        reader = MARCReader(content, hide_utf8_warnings=True, utf8_handling="replace")
        number = 0
        for found in reader:
            chunk = reader.current_chunk or b""
            if found is None and not chunk.strip(b"\r\n\x1a\0 "):
                continue  # what some programs write after the last record
            number += 1
            if found is None:
                what = type(reader.current_exception).__name__
                place = catalogue.where(source.path, number)
                if isinstance(reader.current_exception, FatalReaderError):
                    raise DataError(f"{place}: expected a MARC record, and it is damaged ({what}); export it again")
                source.bad.add(place, f"expected a MARC record, and it is damaged ({what})", "export it again")
                yield None, None, chunk
            else:
                yield record_of(found, number), found, chunk


def record_of(found: pymarc.Record, number: int) -> Record:
    control = found.get("001")
    title = " ".join(" ".join(found["245"].get_subfields(*TITLE)).split()).rstrip(" /:;=,") if "245" in found else ""
    text = "\n".join(" ".join(field.get_subfields("a", "b")).strip() for field in found.get_fields("520"))
    own_id = (control.data or "").strip() if control is not None else ""
    return Record(number, own_id or str(number), title, text, list(_subjects(found)))


def _subjects(found: pymarc.Record) -> Iterator[Given]:
    for field in found.get_fields(*SUBJECTS):
        numbers = [value.strip() for value in field.get_subfields("0", "1")]
        bare = [re.sub(r"^\([^)]*\)\s*", "", value) for value in numbers]
        names = [value.strip() for value in field.get_subfields("a")]
        for name in names if field.tag == "653" else [" ".join(names)]:
            ids = tuple(dict.fromkeys(one for one in (*bare, *numbers) if one))
            if name or ids:
                yield Given(name, ids)


def first_link(found: pymarc.Record) -> int:
    """The next number of $8 that the record does not use."""
    links = (value for field in found.fields if not field.control_field for value in field.get_subfields("8"))
    used = (re.match(r"\d+", value) for value in links)
    return max((int(one[0]) for one in used if one), default=0) + 1


def new_fields(subjects: Sequence[Subject], tagging: Tagging, link: int) -> list[NewField]:
    headings, provenance = [], []
    for number, subject in enumerate(subjects, link):
        about = [("0", subject.uri)] if subject.uri else []
        heading = [("a", subject.name), ("2", tagging.source), *about]
        if subject.score is None:  # a person's own: no machine is to be told of
            headings.append(NewField("650", " 7", heading))
            continue
        linked = ("8", f"{number}\\p")
        headings.append(NewField("650", " 7", [linked, *heading]))
        surely = [linked, ("a", tagging.process), ("c", f"{subject.score:.4g}"), ("d", tagging.date)]
        indicators = "1 " if tagging.by_person else "0 "
        provenance.append(NewField("883", indicators, [(code, value) for code, value in surely if value]))
    return headings + provenance


def with_fields(chunk: bytes, fields: Sequence[NewField]) -> bytes:
    """The record with these fields after those of lower or the same tag. ValueError: it gets too long."""
    base, in_utf8 = int(chunk[12:17]), chunk[9:10] == b"a"
    listed, data = chunk[24 : base - 1], chunk[base:-1]
    entries = [listed[at : at + 12] for at in range(0, len(listed), 12)]
    for field in fields:
        raw = _encoded(field, in_utf8)
        if len(raw) > MOST_FIELD:
            raise ValueError(f"a field of {len(raw):,} bytes does not fit into MARC")
        tag = field.tag.encode()
        at = max((i + 1 for i, entry in enumerate(entries) if entry[:3] <= tag), default=0)
        entries.insert(at, tag + f"{len(raw):04d}{len(data):05d}".encode())
        data += raw
    base = 24 + 12 * len(entries) + 1
    length = base + len(data) + 1
    if length > MOST_RECORD:
        raise ValueError(f"with the subjects it has {length:,} bytes, and MARC holds {MOST_RECORD:,}")
    leader = f"{length:05d}".encode() + chunk[5:12] + f"{base:05d}".encode() + chunk[17:24]
    return leader + b"".join(entries) + FIELD_END + data + RECORD_END


def _encoded(field: NewField, in_utf8: bool) -> bytes:
    raw = field.indicators.encode()
    for code, value in field.subfields:
        clean = re.sub(r"[\x00-\x1f]+", " ", value)
        letters = (
            clean.encode() if in_utf8 else "".join(c if c < "\x80" else f"&#x{ord(c):04X};" for c in clean).encode()
        )
        raw += MARK + code.encode() + letters
    return raw + FIELD_END
