"""`everylabel sample`: the embedded sample corpus as a data folder to play with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from everylabel.cli.guard import guarded
from everylabel.cli.output import note


@guarded
def sample(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write to; it is made.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace data that is there.")] = False,
) -> None:
    """Write the embedded sample corpus: labels.jsonl, train.jsonl, dev.jsonl, test.jsonl.

    Example: everylabel sample DATA
    """
    from everylabel.data import sample as write_sample

    write_sample(folder, overwrite=overwrite)
    note(f"wrote {folder}; try: everylabel fit {folder} -o MODEL")
