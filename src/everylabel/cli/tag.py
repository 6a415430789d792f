"""`everylabel tag`: the best labels of new texts, one line of JSON a document, or tables on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from everylabel.cli.guard import guarded
from everylabel.cli.options import Model, OnBadRow, Quiet
from everylabel.cli.output import is_terminal, note, print_json, print_table
from everylabel.cli.progress import progress

if TYPE_CHECKING:
    from everylabel.data.dataset import Documents
    from everylabel.methods.base import Method

BATCH = 256


@guarded
def tag(
    model: Model,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE|-]",
            help="JSON lines of documents, plain text (a line is a document), or a data folder; gzip too. "
            "Without FILE, or with -, the standard input.",
        ),
    ] = None,
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="How many labels.")] = 10,
    json: Annotated[bool, typer.Option("--json", help="JSON lines even on a terminal; elsewhere always.")] = False,
    split: Annotated[
        str | None, typer.Option("--split", metavar="NAME", help="Part of a data folder. [default: test]")
    ] = None,
    whole: Annotated[bool, typer.Option("--whole", help="The whole input is one text, not a text a line.")] = False,
    on_bad_row: OnBadRow = "error",
    quiet: Quiet = False,
) -> None:
    """Print the best labels of each text, best first.

    Example: echo "A history of lighthouses" | everylabel tag MODEL --k 5
    """
    from everylabel.progress import task
    from everylabel.store import load

    source = None if file is None or str(file) == "-" else file
    if split and not (source and source.is_dir()):
        raise typer.BadParameter("only a data folder has parts: give the folder as FILE", param_hint="--split")
    typing = source is None and sys.stdin.isatty()
    if typing and not quiet:
        note("type or paste texts, one a line; end with Ctrl-D")
    show = _print_lines if json or not is_terminal() else _print_tables
    method = load(model)
    with progress(quiet or is_terminal()), task("tagging") as advance:  # tables and bars would mix on one screen
        for documents in _batches(source, split, whole, on_bad_row, 1 if typing else BATCH):
            show(method, documents, k)
            advance(len(documents))


def _batches(
    source: Path | None, split: str | None, whole: bool, on_bad_row: Literal["error", "skip"], size: int
) -> Iterator[Documents]:
    from everylabel.data import stream_documents

    if whole:
        yield _one_text(source)
    elif source is None:
        yield from stream_documents(sys.stdin.buffer, size=size, on_bad_row=on_bad_row)
    else:
        part = (split or "test") if source.is_dir() else None
        yield from stream_documents(source, part, size=size, on_bad_row=on_bad_row)


def _one_text(source: Path | None) -> Documents:
    from everylabel.data.dataset import Documents
    from everylabel.data.formats.lines import content_of, unpacked
    from everylabel.errors import DataError

    content = unpacked(sys.stdin.buffer).read() if source is None else content_of(source)
    try:
        return Documents.of([content.decode("utf-8-sig")])
    except UnicodeDecodeError as error:
        raise DataError(f"{source or 'standard input'}: expected UTF-8 text; {error}; save it as UTF-8") from None


def _print_lines(method: Method, documents: Documents, k: int) -> None:
    for doc_id, labels in zip(documents.ids, _tags(method, documents, k), strict=True):
        print_json({"id": doc_id, "labels": labels}, indent=None)
    sys.stdout.flush()  # a reader at the other end of the pipe gets each batch at once


def _print_tables(method: Method, documents: Documents, k: int) -> None:
    for i, labels in enumerate(_tags(method, documents, k)):
        start = " ".join((documents.titles[i] or documents.texts[i]).split())[:70]
        rows = [(label["name"], label["id"], f"{label['score']:.3f}") for label in labels]
        print(f"{documents.ids[i]}: {start}")
        print_table(("label", "id", "score"), rows, left=(0, 1))
        print()


def _tags(method: Method, documents: Documents, k: int) -> list[list[dict[str, Any]]]:
    ids, scores = method.rank(documents, k)
    vocabulary = method.labels_
    return [
        [
            {"id": vocabulary[label].id, "name": vocabulary[label].name, "score": round(score, 6)}
            for label, score in zip(row_ids, row_scores, strict=True)
            if label >= 0
        ]
        for row_ids, row_scores in zip(ids.tolist(), scores.tolist(), strict=True)
    ]
