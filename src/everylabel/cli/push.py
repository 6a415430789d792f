"""`everylabel push`: a model to a model hub."""

from __future__ import annotations

from typing import Annotated

import typer

from everylabel.cli.guard import guarded
from everylabel.cli.options import Json, Model
from everylabel.cli.output import print_json, print_line, spoken_size

Repository = Annotated[str, typer.Argument(metavar="REPO", help="Name of a repository on the hub: OWNER/NAME.")]
Revision = Annotated[
    str | None, typer.Option("--revision", metavar="NAME", help="A branch, or a commit to fetch. [default: main]")
]


@guarded
def push(
    model: Model,
    repo: Repository,
    *,
    public: Annotated[bool, typer.Option("--public", help="A repository that is made now is for all to see.")] = False,
    revision: Revision = None,
    message: Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="What the commit says.")] = "",
    json: Json = False,
) -> None:
    """Send a model and its card to a model hub. Log in first: hf auth login, or HF_TOKEN.

    A tagger holds the beginnings of its training documents, to show them as evidence: whoever has the model has these.
    Write the licence into the card (README.md of the model) before.

    Example: everylabel push MODEL me/my-model
    """
    from everylabel.workflow.hub import push as push_model

    done = push_model(model, repo, private=not public, revision=revision, message=message)
    if json:
        print_json(done._asdict())
        return
    print_line(f"sent {done.files} files, {spoken_size(done.bytes)}, to {done.url} (commit {done.commit[:12]})")
