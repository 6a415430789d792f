"""`everylabel curves`: the loss curves of trainings in one picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from everylabel.cli.drawing import ready_to_draw
from everylabel.cli.guard import guarded
from everylabel.cli.options import Quiet
from everylabel.cli.output import note


@guarded
def curves(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="CURVES...", exists=True, help="Folders written by `everylabel fit --curves`, or files in them."
        ),
    ],
    plots: Annotated[
        Path, typer.Option("--plots", metavar="FOLDER", file_okay=False, help="Write training.png and .svg there.")
    ],
    quiet: Quiet = False,
) -> None:
    """Draw the loss of each training step, and the scores of the evaluations in between.

    Example: everylabel fit DATA --method maclr --curves curves -o MODEL && everylabel curves curves --plots pictures
    """
    ready_to_draw()
    from everylabel.report.plots import save_plots, training_plot

    written = save_plots({"training": training_plot(_read(runs))}, plots)
    if not quiet:
        note(f"wrote {', '.join(map(str, written))}")


def _read(runs: list[Path]) -> dict[str, list[dict[str, Any]]]:
    """By the name of the run; by its whole path, as it was given, where there are several folders."""
    from everylabel.errors import DataError
    from everylabel.train.checkpoint import read_curve

    found: dict[Path, list[dict[str, Any]]] = {}
    for run in runs:
        lines = {file: list(read_curve(file)) for file in (sorted(run.glob("*.jsonl")) if run.is_dir() else [run])}
        kept = {file: steps for file, steps in lines.items() if any(step.get("loss") is not None for step in steps)}
        if not kept:
            raise DataError(
                f"{run}: no loss curve here (lines of JSON with step and loss); write them with: "
                f"everylabel fit DATA --curves {run}"
            )
        found |= kept
    several = len({file.parent for file in found}) > 1
    return {str(file.with_suffix("")) if several else file.stem: steps for file, steps in found.items()}
