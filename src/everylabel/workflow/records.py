"""Catalogue records with the labels of a model as subjects: read, tagged, written again; nothing else changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Unpack

from everylabel.atomic import replaced
from everylabel.data.dataset import Documents, LabelSet
from everylabel.data.formats.catalogue import Subject, Tagging
from everylabel.data.formats.layout import Layout, Options
from everylabel.data.formats.opening import open_source, rows_of
from everylabel.data.formats.registry import FORMATS, Catalogue
from everylabel.data.formats.rows import BadRows, OnBadRow, Row, suffix_of
from everylabel.data.overwrite import check_target
from everylabel.errors import DataError
from everylabel.run import QUIET, Run
from everylabel.workflow.tag import Suggestions

AT_ONCE = 256  # records


class TaggedRecords(NamedTuple):
    n_records: int
    n_subjects: int  # that were added


def tag_records(
    file: Path,
    target: Path,
    suggesting: Callable[[Documents], list[Suggestions]],
    *,
    code: str = "local",
    overwrite: bool = False,
    on_bad_row: OnBadRow = "error",
    run: Run = QUIET,
    **layout: Unpack[Layout],
) -> TaggedRecords:
    """The records of a file into another of the same format, each with the labels that `suggesting` gives it.

    A subject that a record has is not added again. `code`: of the vocabulary, for MARC's $2. The file is read twice;
    memory holds the labels of all records, and of XML the file.
    """
    bad = BadRows(on_bad_row)
    module, source = open_source(file, Options(**layout), bad, run)
    source = replace(source, labels=LabelSet.of(()))  # no subject is looked for in a vocabulary
    if not isinstance(module, Catalogue):
        able = ", ".join(name for name, one in FORMATS.items() if isinstance(one, Catalogue))
        raise DataError(
            f"{file}: expected catalogue records ({able}) to be written again, got {module.NAME} data; leave --output "
            "out, and redirect what is printed"
        )
    if suffix_of(target) != suffix_of(file):
        raise DataError(
            f"{target}: records are written in the format they come in; name it with {suffix_of(file) or 'no suffix'}"
        )
    check_target(target, file, overwrite, as_file=True)
    subjects: dict[int, list[Subject]] = {}
    with run.task("tagging") as advance:
        for rows in _parts(rows_of(module, source, module.splits(file)[0])):
            documents = Documents([row.id for row in rows], [row.text for row in rows], [row.title for row in rows])
            for row, found in zip(rows, suggesting(documents), strict=True):
                subjects[row.line] = [
                    Subject(label["name"], label["id"], label.get("uri", ""), label["score"]) for label in found.labels
                ]
            advance(len(rows))
    bad.report(run)
    tagging = Tagging(source=code, date=datetime.now(UTC).strftime("%Y%m%d"))
    again = replace(source, bad=BadRows(on_bad_row), run=QUIET)
    with replaced(target) as partial:
        added = module.write_subjects(again, partial, subjects, tagging)
    return TaggedRecords(len(subjects), added)


def _parts(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while part := list(islice(rows, AT_ONCE)):
        yield part
