"""`everylabel labels`: the labels of a model, one sub-command each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from everylabel.cli.guard import guarded
from everylabel.cli.options import Json, Model, OnBadRow
from everylabel.cli.output import print_json, print_table

if TYPE_CHECKING:
    from everylabel.data.dataset import LabelSet

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
    from everylabel.errors import ConfigError
    from everylabel.store import load

    method = load(model)
    if not hasattr(method, "describe"):
        raise ConfigError(
            f"{model}: method {method.name!r} has no descriptions of labels; fit one that has: "
            "everylabel fit DATA --method depl"
        )
    found = method.describe(find(method.labels_, label))
    if json:
        keywords = [keyword._asdict() for keyword in found.keywords]
        print_json(found._asdict() | {"keywords": keywords})
        return
    print(f"{found.id}: {found.name}")
    print(f"text: {found.text}")
    if found.keywords:
        print()
        rows = [(word, f"{weight:.3f}", "yes" if read else "no") for word, weight, read in found.keywords]
        print_table(("keyword", "weight", "in the text"), rows)


@labels.command()
@guarded
def add(
    model: Model,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Vocabulary: .jsonl, .tsv, .csv, .txt, or SKOS.")],
    on_bad_row: OnBadRow = "error",
) -> None:
    """Add labels to a model, without training: it finds them by their texts from now on.

    A label whose id is there already, or that has no name, is an error, and the model stays as it is.

    Example: everylabel labels add MODEL new-labels.jsonl
    """
    from everylabel.data import load_labels
    from everylabel.store import load

    method = load(model)
    new = load_labels(file, on_bad_row=on_bad_row)
    method.add_labels(new.labels).save(model)
    print(f"added {labels_of(len(new))}; {model} has {(~method.hidden_).sum():,} now")


@labels.command()
@guarded
def remove(
    model: Model,
    wanted: Annotated[list[str], typer.Argument(metavar="LABEL...", help="Ids or names of labels.")],
) -> None:
    """Remove labels from a model: it does not suggest them any more. `labels add` brings one back.

    Example: everylabel labels remove MODEL "Sea and coast" lighthouses
    """
    from everylabel.store import load

    method = load(model)
    method.remove_labels([find(method.labels_, label) for label in wanted]).save(model)
    print(f"removed {labels_of(len(wanted))}; {model} has {(~method.hidden_).sum():,} now")


@labels.command(name="list")
@guarded
def list_labels(model: Model, json: Json = False) -> None:
    """Print the labels of a model, with how many training documents each has.

    Example: everylabel labels list MODEL | head
    """
    from everylabel.store import load

    method = load(model)
    shown = [i for i in range(len(method.labels_)) if not method.hidden_[i]]
    if json:
        rows = [(method.labels_[i], int(method.counts_[i])) for i in shown]
        print_json([{"id": label.id, "name": label.name, "documents": count} for label, count in rows])
        return
    print_table(
        ("id", "name", "documents"),
        [(method.labels_[i].id, method.labels_[i].name, f"{method.counts_[i]:,}") for i in shown],
    )


def labels_of(n: int) -> str:
    return f"{n:,} label" + ("" if n == 1 else "s")


def find(known: LabelSet, wanted: str) -> str:
    """The id of the label with this id or, if there is none, with this name; large and small letters are the same."""
    import difflib

    from everylabel.errors import DataError

    if wanted in known.index:
        return wanted
    ids = [label.id for label in known.labels if label.name.casefold() == wanted.casefold()]
    if len(ids) == 1:
        return ids[0]
    if ids:
        raise DataError(f"{len(ids)} labels have the name {wanted!r}; give the id of one: {', '.join(ids[:5])}")
    near = difflib.get_close_matches(wanted, [*known.ids, *known.names], n=1)
    hint = f"did you mean {near[0]!r}?" if near else "give the id or the name of a label of its vocabulary"
    raise DataError(f"label {wanted!r} is not in the model's vocabulary of {len(known):,} labels; {hint}")
