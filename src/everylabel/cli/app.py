"""The commands of `everylabel`, and `--version`."""

from __future__ import annotations

from typing import Annotated

import typer

from everylabel import __version__
from everylabel.cli.check import check
from everylabel.cli.compare import compare
from everylabel.cli.convert import convert
from everylabel.cli.curves import curves
from everylabel.cli.decisions import decisions
from everylabel.cli.demo import demo
from everylabel.cli.evaluate import evaluate
from everylabel.cli.fit import fit
from everylabel.cli.history import history
from everylabel.cli.info import info
from everylabel.cli.inspect import inspect
from everylabel.cli.keys import keys
from everylabel.cli.labels import labels
from everylabel.cli.learn import learn
from everylabel.cli.mcp import mcp
from everylabel.cli.methods import methods
from everylabel.cli.optimize import optimize
from everylabel.cli.plan import plan
from everylabel.cli.pull import pull
from everylabel.cli.push import push
from everylabel.cli.refit import refit
from everylabel.cli.report import report
from everylabel.cli.sample import sample
from everylabel.cli.serve import serve
from everylabel.cli.tag import tag

app = typer.Typer(
    name="everylabel",
    no_args_is_help=True,
    add_completion=True,  # everylabel --install-completion
    rich_markup_mode=None,  # plain help: half the start-up time, and it can be piped
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"everylabel {__version__}")
        raise typer.Exit()


@app.callback()
def everylabel(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Tag a text with the right labels out of a very large vocabulary.

    Start with: everylabel demo
    """


FIRST_STEPS = (demo, sample, inspect, convert, methods)
MODELS = (
    plan,
    fit,
    refit,
    tag,
    learn,
    info,
    check,
    history,
    evaluate,
    optimize,
    compare,
    report,
    curves,
    serve,
    mcp,
    push,
    pull,
)
for command in FIRST_STEPS + MODELS:
    app.command()(command)
for group in (labels, decisions, keys):
    app.add_typer(group)
