"""`everylabel pull`: a model from a model hub."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from everylabel.cli.guard import guarded
from everylabel.cli.options import Json
from everylabel.cli.output import print_json, print_line, spoken_size
from everylabel.cli.push import Repository, Revision


@guarded
def pull(
    repo: Repository,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Folder to write the model to.")],
    *,
    revision: Revision = None,
    json: Json = False,
) -> None:
    """Fetch a model from a model hub: all of it, checked, or nothing. No code of its author is run.

    Example: everylabel pull me/my-model -o MODEL
    """
    from everylabel.workflow.hub import pull as pull_model

    done = pull_model(repo, output, revision=revision)
    if json:
        print_json(done._asdict())
        return
    print_line(f"{output}: {done.method} with {done.labels:,} labels, {done.files} files, {spoken_size(done.bytes)}")
