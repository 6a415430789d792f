"""`everylabel convert`: data of one format written as another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from everylabel.cli.groups import ungrouped
from everylabel.cli.guard import guarded
from everylabel.cli.options import Layout, OnBadRow, Quiet
from everylabel.cli.output import note
from everylabel.cli.progress import progress


@guarded
@ungrouped
def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="Data: a folder or a file; its format is recognised.")],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="A folder, or a file ending in .jsonl, .csv, .tsv, .parquet (.gz); the vocabulary alone, as SKOS, in "
            "one ending in .ttl, .rdf, .nt, .jsonld.",
        ),
    ],
    *,
    to: Annotated[
        str | None, typer.Option("--to", metavar="FORMAT", help="The format. [default: by OUT's ending, or native]")
    ] = None,
    split: Annotated[
        str | None, typer.Option("--split", metavar="NAME", help="Only this part of the data. [default: all]")
    ] = None,
    gzip: Annotated[bool, typer.Option("--gzip", help="Compress the files in the folder.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace data that is there.")] = False,
    safe_cells: Annotated[
        bool,
        typer.Option(
            "--safe-cells", help="CSV for a spreadsheet: an apostrophe before what it would take for a formula."
        ),
    ] = False,
    layout: Layout,
    on_bad_row: OnBadRow = "error",
    quiet: Quiet = False,
) -> None:
    """Write data in another format.

    Example: everylabel convert corpus.csv DATA --label-separator ","
    """
    from everylabel.data import convert as convert_data

    with progress(quiet) as run:
        how: dict[str, Any] = {"split": split, "gzip": gzip, "overwrite": overwrite, "on_bad_row": on_bad_row}
        how["safe_cells"] = safe_cells
        done = convert_data(source, target, to, run=run, **how, **layout.keywords)
    if not quiet:
        parts = ", ".join(f"{number:,} {name}" for name, number in done.n_docs.items())
        documents = f"; documents: {parts}" if parts else ""
        note(f"wrote {done.path} ({done.format}): {done.n_labels:,} labels{documents}")
