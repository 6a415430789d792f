"""`everylabel tag`: the best labels of new texts, one line of JSON a document, or tables on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from everylabel.cli.groups import ungrouped
from everylabel.cli.guard import guarded
from everylabel.cli.options import Layout, Model, OnBadRow, OnRay, Quiet, Transforms, chosen_transforms
from everylabel.cli.output import is_terminal, note, print_json_text, print_line, print_table
from everylabel.cli.progress import progress
from everylabel.cli.selected import Selected

if TYPE_CHECKING:
    from everylabel.data.dataset import Documents
    from everylabel.data.formats.layout import Layout as Keywords
    from everylabel.run import Run
    from everylabel.workflow.tag import Suggestions

BATCH = 256
WHOLE_ALREADY = (".md", ".pdf", ".docx", ".odt", ".epub", ".html", ".htm", ".xhtml")


@guarded
@ungrouped
def tag(
    model: Model,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE|-]",
            help="JSON lines of documents, plain text (.txt: a line is a document), CSV, a .md, .html, .epub, .pdf, "
            ".docx or .odt file, a folder of such or of data; gzip too. Without FILE, or with -, the standard input. "
            "With --ray: files, a folder of them, a pattern in quotes, or an address.",
        ),
    ] = None,
    *,
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="How many labels, at most.")] = 10,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", metavar="X", min=0, max=1, help="Only labels with at least this probability."),
    ] = None,
    best: Annotated[bool, typer.Option("--best", help="As many labels as give the best expected F1.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="What speaks for each label: words, passages, documents.")
    ] = False,
    new_labels: Annotated[
        Literal["group", "interleave", "none"],
        typer.Option(
            "--new-labels",
            help="Labels that nobody has used yet: up to five that fit beside the others (group), between the others, "
            "earlier than their probability says (interleave), or only where they are among the best (none).",
        ),
    ] = "group",
    json: Annotated[bool, typer.Option("--json", help="JSON lines even on a terminal; elsewhere always.")] = False,
    split: Annotated[
        str | None, typer.Option("--split", metavar="NAME", help="Part of a data folder. [default: test]")
    ] = None,
    whole: Annotated[bool, typer.Option("--whole", help="The whole input is one text, not a text a line.")] = False,
    selected: Selected,
    broader: Annotated[
        bool,
        typer.Option(
            "--broader", help="A broader label in place of narrow ones that are all uncertain, where there is one."
        ),
    ] = False,
    lang: Annotated[
        str, typer.Option("--lang", metavar="CODE", help="Language of the names shown. [default: the labels' own]")
    ] = "",
    transform: Transforms = None,
    layout: Layout,
    on_bad_row: OnBadRow = "error",
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Of catalogue records (MARC, MARCXML, RIS, BibTeX, Dublin Core): the records with the labels as "
            "subjects. With --ray: a folder, for one file of JSON lines a file of documents.",
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file that --output names.")] = False,
    subject_source: Annotated[
        str, typer.Option("--subject-source", metavar="CODE", help="With --output: MARC's code of the vocabulary ($2).")
    ] = "local",
    ray: OnRay = None,
    quiet: Quiet = False,
) -> None:
    """Print the best labels of each text, best first.

    Of a calibrated model (see `everylabel fit`) scores are probabilities; --threshold and --best take them for that.

    Example: echo "A history of lighthouses" | everylabel tag MODEL --k 5 --explain

    Catalogue records: everylabel tag MODEL records.mrc --threshold 0.4 -o tagged.mrc --subject-source yso/eng

    Some labels alone: everylabel tag MODEL FILE --below animals --exclude tigers --exclude @unwanted.txt --lang fi

    Many files, by all cores here or of a cluster: everylabel tag MODEL 'in/*.jsonl.gz' -o OUT --ray local
    """
    from everylabel.store import load
    from everylabel.workflow.selection import selecting
    from everylabel.workflow.tag import Cut, check_explains, check_shown_in, suggest

    source = None if file is None or file == "-" else Path(file)
    if ray is not None:
        _check_ray(file, output, split, whole)
    if split and not (source and source.is_dir()):
        raise typer.BadParameter("only a data folder has parts: give the folder as FILE", param_hint="--split")
    typing = source is None and sys.stdin.isatty()
    if typing and not quiet:
        note("type or paste texts, one a line; end with Ctrl-D")
    transforms = chosen_transforms(transform)
    method, cut = load(model), Cut(k, threshold, best)
    if explain:
        check_explains(method, model)
    check_shown_in(method, lang)
    selection = selected.selection
    selecting(method, selection)  # a wrong id is said before any text is read
    if (cut.by_probability or broader) and method.calibration_ is None and not quiet:
        note(f"{model} is not calibrated: its scores are no probabilities, so the cut is a rough one")
    keywords = layout.reading(transforms)
    options: dict[str, Any] = {
        "cut": cut,
        "new_labels": new_labels,
        "explain": explain,
        "selection": selection,
        "broader": broader,
        "language": lang,
        "transforms": transforms,
    }
    if ray is not None:
        _tag_on_ray(ray, model, file or "", output or "", options, on_bad_row, keywords, quiet)
        return

    def found_in(documents: Documents) -> list[Suggestions]:
        return suggest(method, documents, **options)

    if output is not None:
        _write_records(source, Path(output), found_in, overwrite, subject_source, on_bad_row, keywords, quiet)
        return
    show = _print_lines if json or not is_terminal() else _print_tables
    with (
        progress(quiet or is_terminal()) as run,  # tables and bars would mix on one screen
        run.task("tagging") as advance,
    ):
        for documents in _batches(source, split, whole, on_bad_row, 1 if typing else BATCH, run, keywords):
            show(documents, found_in(documents))
            advance(len(documents))


def _check_ray(file: str | None, output: str | None, split: str | None, whole: bool) -> None:
    if file is None or file == "-" or output is None:
        raise typer.BadParameter("give the files as FILE, and a folder for the results with -o", param_hint="--ray")
    if split or whole:
        raise typer.BadParameter("each file is read as it is: leave out --split and --whole", param_hint="--ray")


def _tag_on_ray(
    address: str,
    model: Path,
    given: str,
    output: str,
    options: dict[str, Any],
    on_bad_row: Literal["error", "skip"],
    layout: Keywords,
    quiet: bool,
) -> None:
    from everylabel.distributed.cluster import connected
    from everylabel.distributed.pool import Asked
    from everylabel.distributed.tag import tag_shards

    with connected(address), progress(quiet) as run:
        done = tag_shards(model, given, output, Asked(options, on_bad_row, layout), run=run)
    if not quiet:
        skipped = f", {done.n_bad:,} bad rows skipped" if done.n_bad else ""
        note(f"wrote {done.n_files:,} files to {output}: {done.n_docs:,} documents{skipped}")


def _write_records(
    source: Path | None,
    output: Path,
    found_in: Callable[[Documents], list[Suggestions]],
    overwrite: bool,
    code: str,
    on_bad_row: Literal["error", "skip"],
    layout: Keywords,
    quiet: bool,
) -> None:
    from everylabel.workflow.records import tag_records

    if source is None or source.is_dir():
        raise typer.BadParameter("give a file of catalogue records as FILE", param_hint="--output")
    with progress(quiet) as run:
        done = tag_records(
            source, output, found_in, code=code, overwrite=overwrite, on_bad_row=on_bad_row, run=run, **layout
        )
    if not quiet:
        note(f"wrote {output}: {done.n_subjects:,} subjects added to {done.n_records:,} records")


def _batches(
    source: Path | None,
    split: str | None,
    whole: bool,
    on_bad_row: Literal["error", "skip"],
    size: int,
    run: Run,
    layout: Keywords,
) -> Iterator[Documents]:
    from everylabel.data import stream_documents, whole_text

    stream = sys.stdin.buffer if source is None else source
    if whole and layout["format"] is None and (source is None or source.suffix.lower() not in WHOLE_ALREADY):
        yield whole_text(stream)
        return
    part = (split or "test") if source is not None and source.is_dir() else None
    yield from stream_documents(stream, part, size=size, on_bad_row=on_bad_row, run=run, **layout)


def _print_lines(documents: Documents, found: list[Suggestions]) -> None:
    from everylabel.workflow.tag_file import tagged_lines

    for line in tagged_lines(documents, found):
        print_json_text(line)
    sys.stdout.flush()  # a reader at the other end of the pipe gets each batch at once


def _print_tables(documents: Documents, found: list[Suggestions]) -> None:
    for i, (labels, new_labels) in enumerate(found):
        start = " ".join((documents.titles[i] or documents.texts[i]).split())[:70]
        print_line(f"{documents.ids[i]}: {start}")
        _print_labels("label", labels)
        if new_labels:
            print()
            _print_labels("new labels (not used yet)", new_labels)
        print()


def _print_labels(heading: str, labels: list[dict[str, Any]]) -> None:
    rows = [(_named(label), label["id"], f"{label['score']:.3f}") for label in labels]
    print_table((heading, "id", "score"), rows, left=(0, 1))
    print_evidence(labels)


def _named(label: dict[str, Any]) -> str:
    """A label in a table, and what it stands for, if it is a broader one in place of others."""
    others = ", ".join(one["name"] for one in label.get("instead_of", ()))
    return f"{label['name']} (for {others})" if others else str(label["name"])


def print_evidence(labels: list[dict[str, Any]]) -> None:
    """Under a table: each label that something speaks for, and a line for each kind of evidence."""
    for label in labels:
        kinds: dict[str, list[dict[str, Any]]] = {}
        for item in label.get("evidence", ()):
            kinds.setdefault(item["kind"], []).append(item)
        if kinds:
            print()
            print_line(f"{label['name']} ({label['band']})")
        for kind, items in kinds.items():
            sources = ", ".join(dict.fromkeys(item["source"] for item in items))
            print_line(f"  {kind}: {'; '.join(item['text'] for item in items)} [{sources}]")
