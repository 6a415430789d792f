"""`everylabel report`: one HTML page about a model: results, differences, calibration, examples, cost."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from everylabel.cli.groups import ungrouped
from everylabel.cli.guard import guarded
from everylabel.cli.options import Data, Json, Layout, Model, OnBadRow, Quiet, Split
from everylabel.cli.output import note, print_json
from everylabel.cli.progress import progress


@guarded
@ungrouped
def report(
    model: Model,
    data: Data,
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", dir_okay=False, help="The page to write.")
    ] = Path("report.html"),
    split: Split = "test",
    curve: Annotated[
        bool,
        typer.Option("--curve/--no-curve", help="A learning curve: fits xr-linear on parts of the training documents."),
    ] = True,
    documents: Annotated[
        int | None, typer.Option("--documents", metavar="N", min=1, help="At most so many, drawn at random.")
    ] = None,
    layout: Layout,
    on_bad_row: OnBadRow = "error",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Write a page about a model: results by band, against its parts and a floor, calibration, curves, examples, cost.

    The page is one file that needs nothing else: pictures are inside, there is no script. The same model and data give
    the same page, but for the date and the measured times.

    Example: everylabel report MODEL DATA -o report.html
    """
    from everylabel.store import load
    from everylabel.workflow.report import (
        LearningCurve,
        Origin,
        check_output,
        labelled_documents,
        learning_curve,
        ready_to_report,
        report_json,
        write_report,
    )
    from everylabel.workflow.report import report as report_on

    check_output(output)
    ready_to_report(output)
    wanted = ["report", str(model), str(data), "-o", str(output), "--split", split]
    wanted += (
        layout.arguments
        + ["--no-curve"] * (not curve)
        + (["--documents", str(documents)] if documents is not None else [])
    )
    origin = Origin(model=str(model), data=str(data), command=shlex.join(["everylabel", *wanted]))
    with progress(quiet) as run:
        method = load(model)
        dataset = labelled_documents(data, split, at_most=documents, on_bad_row=on_bad_row, run=run, **layout.keywords)
        learned = LearningCurve([], "Left out by --no-curve.")
        if curve:
            learned = learning_curve(data, dataset, on_bad_row=on_bad_row, run=run, **layout.keywords)
        made = report_on(method, dataset, split=split, curve=learned, origin=origin, run=run)
    write_report(made, output)
    if json:
        print_json({"method": method.name, "split": split, "report": str(output), **report_json(made)})
    if not quiet:
        note(f"wrote {output}: {made.own.scores.n_docs:,} documents, {', '.join(made.systems)}")
