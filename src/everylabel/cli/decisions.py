"""`everylabel decisions`: what people have decided about tags, one sub-command each."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from everylabel.cli.guard import guarded
from everylabel.cli.options import Json
from everylabel.cli.output import note, print_json, print_table

decisions = typer.Typer(
    name="decisions",
    help="What people have decided about tags.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
Url = Annotated[
    str, typer.Argument(metavar="URL", help="The database: sqlite:///FILE, postgresql+psycopg://USER@HOST/NAME.")
]
Project = Annotated[str, typer.Argument(metavar="PROJECT", help="A project's name.")]
Undone = Annotated[bool, typer.Option("--undone", help="Also those that were undone.")]


@decisions.callback()
def _group() -> None:
    """What people have decided about tags."""


@decisions.command(name="list")
@guarded
def list_decisions(
    url: Url,
    project: Project,
    *,
    after: Annotated[int, typer.Option("--after", metavar="ID", help="Begin after this one.")] = 0,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many.")] = 20,
    undone: Undone = False,
    json: Json = False,
) -> None:
    """Print decisions in the order they came.

    Example: everylabel decisions list sqlite:///decisions.sqlite PROJECT
    """
    from everylabel.feedback.store import DecisionStore

    with closing(DecisionStore(url)) as store:
        found = store.list(project, after=after, limit=limit, include_undone=undone)
    if json:
        print_json([one.to_json() for one in found])
        return
    rows = [
        (
            str(one.id),
            one.at[:19],
            one.by,
            one.document_id or one.title[:30] or one.text[:30],
            str(len(one.accepted)),
            str(len(one.rejected)),
            str(len(one.added)),
            "undone" if one.undone else "learned" if one.learned_in else "waits" if one.complete else "incomplete",
        )
        for one in found
    ]
    print_table(("id", "at", "by", "document", "accepted", "rejected", "added", "state"), rows, left=(1, 2, 3, 7))


@decisions.command()
@guarded
def export(
    url: Url,
    project: Project,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="JSON lines to write.")],
    *,
    undone: Undone = False,
) -> None:
    """Write all decisions of a project as JSON lines, which are documents of the native format, too.

    Example: everylabel decisions export sqlite:///decisions.sqlite PROJECT -o decisions.jsonl
    """
    from everylabel.feedback.store import DecisionStore

    with closing(DecisionStore(url)) as store:
        written = store.export(project, output, include_undone=undone)
    note(f"wrote {written:,} decisions to {output}")
