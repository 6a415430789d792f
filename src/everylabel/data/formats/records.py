"""Catalogue records of one file for a person to work through: read with their subjects, and written again with more.

For files that strangers send: called in the process of reading.py, which has bounds of time and memory.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from everylabel.data.dataset import LabelSet
from everylabel.data.formats import bibtex, dublin_core, marc, marcxml, ris
from everylabel.data.formats.catalogue import Subject, Tagging
from everylabel.data.formats.layout import Options
from everylabel.data.formats.registry import Catalogue
from everylabel.data.formats.rows import BadRows, Source

MODULES = (marc, marcxml, ris, bibtex, dublin_core)
FORMATS = tuple(cast(Catalogue, module) for module in MODULES)
SUFFIXES = tuple(dict.fromkeys(suffix for module in MODULES for suffix in module.SUFFIXES))
MOST_RECORDS = 2_000
MOST_CHARACTERS = 20_000_000  # of all titles and texts


def read(file: Path) -> dict[str, Any]:
    module, source = _opened(file)
    records: list[dict[str, Any]] = []
    characters = 0
    for record in module.read_records(source):
        characters += len(record.title) + len(record.text)
        if len(records) == MOST_RECORDS or characters > MOST_CHARACTERS:
            raise ValueError(
                f"it has more than {MOST_RECORDS:,} records, or {MOST_CHARACTERS:,} characters; open it in parts"
            )
        subjects = [{"name": one.name, "ids": list(one.ids)} for one in record.subjects]
        own = {"number": record.number, "id": record.id, "title": record.title, "text": record.text}
        records.append({**own, "subjects": subjects})
    if not records:
        raise ValueError("it has no records; check what it is")
    return {"format": module.NAME, "records": records, "left_out": source.bad.count}


def write(file: Path, target: Path, subjects: dict[str, list[list[Any]]], code: str, date: str) -> dict[str, int]:
    """`subjects`: name, id, URI and probability (None: a person's own) of labels that a person took, by the record's
    number. A record that cannot take them is written as it is, and counted."""
    module, source = _opened(file)
    for _ in module.read_records(source):
        pass  # the damaged ones are counted
    again = replace(source, bad=BadRows("skip"))
    wanted = {int(number): [Subject(*one) for one in found] for number, found in subjects.items()}
    added = module.write_subjects(again, target, wanted, Tagging(code, date=date, by_person=True))
    return {"added": added, "left_out": again.bad.count - source.bad.count}


def _opened(file: Path) -> tuple[Catalogue, Source]:
    module = next((one for one in FORMATS if one.detect(file)), None)
    if module is None:
        raise ValueError("it has no catalogue records; MARC, MARCXML, RIS, BibTeX and Dublin Core are read")
    nothing = LabelSet.of(())  # no subject is looked for in a vocabulary here
    return module, Source(file, Options(), BadRows("skip"), labels=nothing)
