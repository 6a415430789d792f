"""`everylabel fit`: learn from labelled documents and write a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from everylabel.cli.groups import ungrouped
from everylabel.cli.guard import guarded
from everylabel.cli.on_ray import jobs_on
from everylabel.cli.options import (
    Data,
    Device,
    Layout,
    OnBadRow,
    OnRay,
    Quiet,
    Transforms,
    Wanted,
    chosen_transforms,
    methods_beginning_with,
    use_device,
)
from everylabel.cli.output import note
from everylabel.cli.progress import progress, spoken_seconds
from everylabel.cli.settings import chosen_method
from everylabel.parallel import is_first_process
from everylabel.workflow.settings import DEFAULT_METHOD

if TYPE_CHECKING:
    from everylabel.workflow.fit import FitResult


@guarded
@ungrouped
def fit(
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Folder to write the model to.")],
    *,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            help=f"A method. [default: {DEFAULT_METHOD}]",
            autocompletion=methods_beginning_with,
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            metavar="NAME",
            help="Settings under a name, such as a paper's: `everylabel methods METHOD` lists them. --set wins.",
        ),
    ] = None,
    wanted: Wanted,
    label_share: Annotated[
        float | None,
        typer.Option("--label-share", metavar="X", help="Few-shot: the pairs of a random share of the labels only."),
    ] = None,
    pair_share: Annotated[
        float | None, typer.Option("--pair-share", metavar="X", help="Few-shot: a random share of all pairs only.")
    ] = None,
    names_only: Annotated[
        bool,
        typer.Option(
            "--names-only",
            help="Read labels by their names alone, without alternatives and descriptions, as most published systems.",
        ),
    ] = False,
    layout: Layout,
    on_bad_row: OnBadRow = "error",
    curves: Annotated[
        Path | None,
        typer.Option("--curves", metavar="FOLDER", file_okay=False, help="Write the loss curves there, as JSON lines."),
    ] = None,
    no_calibrate: Annotated[
        bool, typer.Option("--no-calibrate", help="Leave the scores as they are, also if there is a dev split.")
    ] = False,
    calibrate_share: Annotated[
        float | None,
        typer.Option(
            "--calibrate-share",
            metavar="X",
            help="Hold out a random share of the documents to calibrate on, instead of the dev split.",
        ),
    ] = None,
    transform: Transforms = None,
    device: Device = None,
    ray: OnRay = None,
    quiet: Quiet = False,
) -> None:
    """Fit a method on the training documents and write the model.

    Without --method it is the tagger: several methods that are chosen for the data (see `everylabel plan`) and blended.
    Without labelled documents, or without any documents, labels are found by their texts. A training that is
    interrupted goes on where it was when the same command is given again. If the data have a dev split with labels,
    the tagger blends on it where it is large enough, and scores are calibrated on it: they become probabilities.

    Example: everylabel fit DATA --budget 30m -o MODEL

    On a cluster, a job an expert and rehearsal: everylabel fit DATA -o MODEL --ray HOST:6379
    """
    from everylabel.workflow.fit import fit as fit_method
    from everylabel.workflow.fit import kept_training
    from everylabel.workflow.settings import is_tagger
    from everylabel.workflow.training import TrainingSource

    use_device(device)
    if no_calibrate and calibrate_share is not None:
        raise typer.BadParameter("contradicts --no-calibrate: give one of them", param_hint="--calibrate-share")
    chosen = chosen_method(method, wanted, preset)  # a typo is found before the data are read
    if ray is not None and not is_tagger(chosen):
        raise typer.BadParameter(
            f"a tagger's fit has jobs to hand out, that of {chosen.name!r} has one: leave it out", param_hint="--ray"
        )
    if ray is not None and wanted.memory is not None:
        raise typer.BadParameter("a cluster knows the memory of its nodes: leave it out", param_hint="--memory")
    source = TrainingSource(
        data=data,
        split=wanted.split,
        no_pairs=wanted.no_pairs,
        label_share=label_share,
        pair_share=pair_share,
        held_out_share=calibrate_share,
        names_only=names_only,
        on_bad_row=on_bad_row,
        layout=layout.keywords,
        transforms=chosen_transforms(transform),
    )
    try:
        with progress(quiet or not is_first_process()) as own, jobs_on(ray, own) as run:
            done = fit_method(chosen, source, output, calibrated=not no_calibrate, curves=curves, run=run)
    except KeyboardInterrupt:
        if kept := kept_training(output):
            note(f"the training so far is kept in {kept}; the same command goes on from there")
        raise
    if curves is not None and not done.trained and is_first_process():
        note(f"{chosen.name} has no training steps, so there are no loss curves to write to {curves}")
    if not quiet and is_first_process():
        _tell(done, output)


def _tell(done: FitResult, output: Path) -> None:
    from everylabel.workflow.settings import is_tagger

    model = done.method
    note(
        f"fitted {model.name} on {done.n_docs:,} documents with {done.n_seen:,} of {done.n_labels:,} labels "
        f"in {spoken_seconds(done.seconds)}; wrote {output}"
    )
    if is_tagger(model):
        state = "not calibrated" if model.calibration_ is None else "calibrated"
        if model.knows_other_corpora_only:
            state = "probabilities as other corpora have them: labelled documents would make them better"
        note(f"its experts: {', '.join(model.experts_)}; its scores are {state}")
    if done.calibration is not None:
        note(done.calibration.remark)
