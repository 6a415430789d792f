"""`everylabel labels`: the labels of a model, one sub-command each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from everylabel.cli.groups import ungrouped
from everylabel.cli.guard import guarded
from everylabel.cli.options import Json, Layout, Model, OnBadRow
from everylabel.cli.output import print_json, print_line, print_table
from everylabel.cli.progress import progress

Lang = Annotated[
    str,
    typer.Option("--lang", metavar="CODE", help="Language of the names that are shown. [default: the vocabulary's]"),
]

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
    lang: Lang = "",
    json: Json = False,
) -> None:
    """Print what is said of a label, the text by which a model finds it, and its keywords with their weights.

    Text and keywords are those of `depl`; other methods have none.

    Example: everylabel labels describe MODEL "Sea and coast"
    """
    from everylabel.store import load
    from everylabel.workflow.labels import about_label, describe_label

    method = load(model)
    about = about_label(method, label, lang)
    is_known = len(about) > 2 and not hasattr(method, "describe")  # all that there is, and not nothing
    found = None if is_known else describe_label(method, label, model)
    if json:
        keywords = [] if found is None else [keyword._asdict() for keyword in found.keywords]
        print_json(about if found is None else found._asdict() | about | {"keywords": keywords})
        return
    print_line(f"{about['id']}: {about['name']}")
    for key, value in list(about.items())[2:]:
        print_line(f"{key.replace('_', ' ')}: {spoken(value)}")
    if found is None:
        return
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
def list_labels(model: Model, lang: Lang = "", json: Json = False) -> None:
    """Print the labels of a model, with how many training documents each has, and its notation, if there are any.

    Example: everylabel labels list MODEL | head
    """
    from everylabel.store import load
    from everylabel.workflow.labels import list_labels as listed

    found = listed(load(model), lang)
    noted = any(label.notation for label in found)
    if json:
        print_json(
            [{key: value for key, value in label._asdict().items() if noted or key != "notation"} for label in found]
        )
        return
    columns = ("id", "name", "documents", *(("notation",) if noted else ()))
    rows = [(label.id, label.name, f"{label.documents:,}", label.notation)[: len(columns)] for label in found]
    print_table(columns, rows, left=(0, 1, 3))


def spoken(value: Any) -> str:
    """What is said of a label, in one line."""
    if isinstance(value, dict):
        return ", ".join(f"{text} ({language})" for language, text in value.items())
    if isinstance(value, list):
        return ", ".join(f"{one['name']} ({one['id']})" if isinstance(one, dict) else one for one in value)
    return "yes" if value is True else str(value)


def labels_of(n: int) -> str:
    return f"{n:,} label" + ("" if n == 1 else "s")
