"""`everylabel labels`: the labels of a model, one sub-command each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from everylabel.cli.guard import guarded
from everylabel.cli.options import Json, Model
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
