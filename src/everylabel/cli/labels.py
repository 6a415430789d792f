"""`everylabel labels`: the labels of a model, one sub-command each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from everylabel.cli.groups import ungrouped
from everylabel.cli.guard import guarded
from everylabel.cli.options import Json, Layout, Model, OnBadRow
from everylabel.cli.output import print_json, print_line, print_table
from everylabel.cli.progress import progress

labels = typer.Typer(
    name="labels",
    help="The labels of a model.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@labels.callback()
def _group() -> None:
    """The labels of a model."""


@labels.command()
@guarded
def describe(
    model: Model,
    label: Annotated[str, typer.Argument(metavar="LABEL", help="A label's id, or its name.")],
    json: Json = False,
) -> None:
    """Print the text by which a model finds a label, and its keywords with their weights.

    Example: everylabel labels describe MODEL "Sea and coast"
    """
    from everylabel.store import load
    from everylabel.workflow.labels import describe_label

    found = describe_label(load(model), label, model)
    if json:
        keywords = [keyword._asdict() for keyword in found.keywords]
        print_json(found._asdict() | {"keywords": keywords})
        return
    print_line(f"{found.id}: {found.name}")
    print_line(f"text: {found.text}")
    if found.keywords:
        print()
        rows = [(word, f"{weight:.3f}", "yes" if read else "no") for word, weight, read in found.keywords]
        print_table(("keyword", "weight", "in the text"), rows)


@labels.command()
@guarded
@ungrouped
def add(
    model: Model,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Vocabulary: .jsonl, .tsv, .csv, .txt, SKOS; or data.")],
    *,
    layout: Layout,
    on_bad_row: OnBadRow = "error",
) -> None:
    """Add labels to a model, without training: it finds them by their texts from now on.

    A label whose id is there already, or that has no name, is an error, and the model stays as it is. Of data, or of a
    file whose format or columns are named, it is the labels that their documents have.

    Example: everylabel labels add MODEL new-labels.jsonl
    """
    from everylabel.workflow.labels import add_labels

    with progress(quiet=False) as run:
        done = add_labels(model, file, on_bad_row=on_bad_row, run=run, **layout.keywords)
    print_line(f"added {labels_of(done.n_changed)}; {model} has {done.n_labels:,} now")


@labels.command()
@guarded
def remove(
    model: Model,
    wanted: Annotated[list[str], typer.Argument(metavar="LABEL...", help="Ids or names of labels.")],
) -> None:
    """Remove labels from a model: it does not suggest them any more. `labels add` brings one back.

    Example: everylabel labels remove MODEL "Sea and coast" lighthouses
    """
    from everylabel.workflow.labels import remove_labels

    with progress(quiet=False) as run:
        done = remove_labels(model, wanted, run=run)
    print_line(f"removed {labels_of(done.n_changed)}; {model} has {done.n_labels:,} now")


@labels.command(name="list")
@guarded
def list_labels(model: Model, json: Json = False) -> None:
    """Print the labels of a model, with how many training documents each has.

    Example: everylabel labels list MODEL | head
    """
    from everylabel.store import load
    from everylabel.workflow.labels import list_labels as listed

    found = listed(load(model))
    if json:
        print_json([label._asdict() for label in found])
        return
    rows = [(label.id, label.name, f"{label.documents:,}") for label in found]
    print_table(("id", "name", "documents"), rows, left=(0, 1))


def labels_of(n: int) -> str:
    return f"{n:,} label" + ("" if n == 1 else "s")
