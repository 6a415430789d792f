"""One file of documents to one of JSON lines: a line a document, in their order, written whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Unpack

from everylabel.atomic import replaced
from everylabel.data import stream_documents
from everylabel.data.dataset import Documents
from everylabel.data.formats.layout import Layout
from everylabel.data.formats.rows import BadRows, OnBadRow
from everylabel.run import QUIET, Run
from everylabel.workflow.lines import json_text
from everylabel.workflow.tag import BATCH, Suggestions

Suggesting = Callable[[Documents], list[Suggestions]]


class TaggedFile(NamedTuple):
    n_docs: int
    n_bad: int  # rows that were skipped


def tagged_lines(documents: Documents, found: list[Suggestions]) -> Iterator[str]:
    """What is printed of each document, too."""
    for doc_id, one in zip(documents.ids, found, strict=True):
        yield json_text({"id": doc_id, **one.to_json()})


def tag_file(
    source: Path,
    target: Path,
    suggesting: Suggesting,
    *,
    on_bad_row: OnBadRow = "error",
    run: Run = QUIET,
    **layout: Unpack[Layout],
) -> TaggedFile:
    """Memory: a batch of documents, whatever the file's size."""
    n_docs, bad = 0, BadRows(on_bad_row)
    with (
        replaced(target) as fresh,
        fresh.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream,
        run.task("tagging") as advance,
    ):
        for documents in stream_documents(source, size=BATCH, bad_rows=bad, run=run, **layout):
            stream.writelines(f"{line}\n" for line in tagged_lines(documents, suggesting(documents)))
            n_docs += len(documents)
            advance(len(documents))
    return TaggedFile(n_docs, bad.count)
