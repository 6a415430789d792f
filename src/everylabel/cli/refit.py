"""`everylabel refit`: a full fit with a model's settings, on its data and on what people have decided since."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from everylabel.cli.groups import ungrouped
from everylabel.cli.guard import guarded
from everylabel.cli.options import Data, Device, Layout, Model, OnBadRow, Quiet, Split, use_device
from everylabel.cli.output import note
from everylabel.cli.progress import progress, spoken_seconds

Url = Annotated[
    str | None,
    typer.Option("--decisions", metavar="URL", help="Database of decisions: sqlite:///FILE, postgresql+psycopg://..."),
]
Project = Annotated[str, typer.Option("--project", metavar="NAME", help="Whose decisions.")]


@guarded
@ungrouped
def refit(
    model: Model,
    data: Data,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="Folder to write to; may be that of the model.")
    ],
    *,
    decisions: Url = None,
    project: Project = "",
    split: Split = "train",
    layout: Layout,
    on_bad_row: OnBadRow = "error",
    device: Device = None,
    quiet: Quiet = False,
) -> None:
    """Fit a model anew with its own settings, on its training data and on what people have decided since.

    Of each document the last decision counts; one that is in the data, too, has the labels of the decision. Labels that
    were added to the model stay. If the output is the folder that a server serves, the new model takes over there.

    Example: everylabel refit MODEL DATA --decisions sqlite:///decisions.sqlite --project NAME -o MODEL
    """
    from everylabel.workflow.refit import refit as fit_again
    from everylabel.workflow.training import TrainingSource

    use_device(device)
    if (decisions is None) != (not project):
        raise typer.BadParameter("--decisions and --project belong together: give both", param_hint="--project")
    source = TrainingSource(data=data, split=split, on_bad_row=on_bad_row, layout=layout.keywords)
    with progress(quiet) as run:
        if decisions is None:
            done = fit_again(model, source, (), output, run=run)
        else:
            from everylabel.feedback.refit import refit_with_decisions
            from everylabel.feedback.store import DecisionStore

            with closing(DecisionStore(decisions)) as store:
                done = refit_with_decisions(model, source, store, project, output, run=run)
    if not quiet:
        fit = done.fit
        note(
            f"fitted {fit.method.name} on {fit.n_docs:,} documents, {done.n_decided:,} of them with labels that people "
            f"decided, in {spoken_seconds(fit.seconds)}; wrote {output}"
        )
        if done.unknown_labels:
            note(f"{done.unknown_labels:,} labels of decisions are in no vocabulary, and were left out")
