"""`everylabel curves`: the loss curves of trainings in one picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from everylabel.cli.guard import guarded
from everylabel.cli.options import Quiet
from everylabel.cli.output import note


@guarded
def curves(
    trainings: Annotated[
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
    from everylabel.workflow.pictures import draw_curves, ready_to_draw

    ready_to_draw(plots)
    written = draw_curves(trainings, plots)
    if not quiet:
        note(f"wrote {', '.join(map(str, written))}")
