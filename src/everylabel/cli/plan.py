"""`everylabel plan`: what a tagger would do with the data, and why, without doing it."""

from __future__ import annotations

import typer

from everylabel.cli.groups import ungrouped
from everylabel.cli.guard import guarded
from everylabel.cli.options import Data, Device, Json, Layout, OnBadRow, Quiet, Wanted, use_device
from everylabel.cli.output import print_json, print_line
from everylabel.cli.progress import progress
from everylabel.cli.settings import chosen_method


@guarded
@ungrouped
def plan(
    data: Data,
    *,
    wanted: Wanted,
    json: Json = False,
    layout: Layout,
    on_bad_row: OnBadRow = "error",
    device: Device = None,
    quiet: Quiet = False,
) -> None:
    """Print which methods `everylabel fit` would use for the data, in which time, and why; nothing is trained.

    Times are estimates for this machine, whose speed is measured once and kept in the cache folder.

    Example: everylabel plan DATA --budget 30m
    """
    from everylabel.workflow.fit import plan as plan_fit
    from everylabel.workflow.settings import is_tagger
    from everylabel.workflow.training import TrainingSource

    use_device(device)
    tagger = chosen_method(None, wanted)
    if not is_tagger(tagger):
        raise typer.BadParameter(f"only a tagger has a plan, and the method is {tagger.name!r}", param_hint="--config")
    source = TrainingSource(
        data=data, split=wanted.split, no_pairs=wanted.no_pairs, on_bad_row=on_bad_row, layout=layout.keywords
    )
    with progress(quiet) as run:
        found = plan_fit(tagger, source, run=run)
    if json:
        print_json(found.to_json())
        return
    for line in found.lines():
        print_line(line)
