"""`everylabel learn`: new labelled documents for a fitted tagger, in seconds instead of a new fit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from everylabel.cli.groups import ungrouped
from everylabel.cli.guard import guarded
from everylabel.cli.options import Json, Layout, Model, OnBadRow, Quiet, Split
from everylabel.cli.output import print_json, print_line
from everylabel.cli.progress import progress


@guarded
@ungrouped
def learn(
    model: Model,
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|FOLDER",
            help='Labelled documents: JSON lines of {"text", "title"?, "labels": [ids]}, or data of any format.',
        ),
    ],
    *,
    split: Split = "train",
    json: Json = False,
    layout: Layout,
    on_bad_row: OnBadRow = "error",
    quiet: Quiet = False,
) -> None:
    """Teach a tagger new documents, and say how well it knew them before, and whether a full fit is due.

    Labels are ids of the model's vocabulary; an unknown one is an error, and the model stays as it is. The neighbours
    and the blend learn at once; the other experts with the next fit.

    Example: everylabel learn MODEL new.jsonl
    """
    from everylabel.metrics.scores import percent
    from everylabel.workflow.learn import learn as learn_documents

    with progress(quiet) as run:
        found = learn_documents(model, source, split=split, on_bad_row=on_bad_row, run=run, **layout.keywords)
    if json:
        print_json(found._asdict())
        return
    print_line(f"learned {found.documents:,} documents with {found.pairs:,} labels; wrote {model}")
    print(f"labels that had no document before: {found.new_labels:,}")
    print(f"nDCG@5 of these documents before they were learned: {percent(found.ndcg5)} %")
    print(f"a full fit is due: {found.refit_due}" if found.refit_due else "a full fit is not due yet")
