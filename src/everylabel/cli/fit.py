"""`everylabel fit`: learn from labelled documents and write a model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from everylabel.cli.guard import guarded
from everylabel.cli.options import DEFAULT_METHOD, Config, Data, OnBadRow, Quiet, Settings, Split
from everylabel.cli.output import note
from everylabel.cli.progress import progress, spoken_seconds
from everylabel.cli.settings import configured


@guarded
def fit(
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Folder to write the model to.")],
    method: Annotated[
        str | None,
        typer.Option("--method", "-m", metavar="NAME", help=f"A method. [default: {DEFAULT_METHOD}]"),
    ] = None,
    config: Config = None,
    settings: Settings = None,
    split: Split = "train",
    no_pairs: Annotated[bool, typer.Option("--no-pairs", help="Do not look at the documents' labels.")] = False,
    on_bad_row: OnBadRow = "error",
    quiet: Quiet = False,
) -> None:
    """Fit a method on the training documents and write the model.

    Example: everylabel fit DATA --method xr-linear --set leaf_size=200 -o MODEL
    """
    from everylabel.data import load_dataset
    from everylabel.store import check_destination

    model = configured(method, config, settings)
    check_destination(output)
    started = time.perf_counter()
    with progress(quiet):
        dataset = load_dataset(data, split, on_bad_row=on_bad_row)
        if no_pairs:
            dataset = dataset.without_pairs()
        model.fit(dataset)
        model.save(output)
    if not quiet:
        n_seen = int((model.counts_ > 0).sum())
        note(
            f"fitted {model.name} on {len(dataset):,} documents with {n_seen:,} of {len(dataset.labels):,} labels "
            f"in {spoken_seconds(time.perf_counter() - started)}; wrote {output}"
        )
