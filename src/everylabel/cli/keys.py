"""`everylabel keys`: who may ask a server, and for what."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from everylabel.cli.guard import guarded
from everylabel.cli.options import Json
from everylabel.cli.output import note, print_json, print_table

keys = typer.Typer(
    name="keys",
    help="Keys of those who may ask a server.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
KeyFile = Annotated[Path, typer.Argument(metavar="FILE", dir_okay=False, help="The file of keys.")]
Name = Annotated[str, typer.Option("--name", "-n", help="Whose key it is.")]


@keys.callback()
def _group() -> None:
    """Keys of those who may ask a server."""


@keys.command()
@guarded
def add(
    file: KeyFile,
    name: Name,
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", "-s", help="read: tags and labels; learn: decisions; admin: models, jobs, labels."),
    ] = None,
) -> None:
    """Make a key and print it. It is shown this once: the file has its hash alone.

    Example: everylabel keys add keys.json --name catalogue --scope read --scope learn
    """
    from everylabel.web.extra import require_server

    require_server()
    from everylabel.web.keys import add_key

    print(add_key(file, name, scope or ["read"]))
    note(f"wrote its hash to {file}; keep the key above, it is nowhere else")


@keys.command("list")
@guarded
def list_keys(file: KeyFile, json: Json = False) -> None:
    """Print whose keys there are, and what each may do.

    Example: everylabel keys list keys.json
    """
    from everylabel.web.extra import require_server

    require_server()
    from everylabel.web.keys import read_keys

    found = read_keys(file)
    if json:
        print_json([{"name": key.name, "scopes": list(key.scopes), "made": key.made} for key in found])
        return
    print_table(
        ("name", "scopes", "made"), [(key.name, ", ".join(key.scopes), key.made) for key in found], left=(0, 1, 2)
    )


@keys.command()
@guarded
def remove(file: KeyFile, name: Name) -> None:
    """Take a key back: a server that runs with the file refuses it from now on.

    Example: everylabel keys remove keys.json --name catalogue
    """
    from everylabel.web.extra import require_server

    require_server()
    from everylabel.web.keys import remove_key

    remove_key(file, name)
    note(f"removed the key of {name} from {file}")
