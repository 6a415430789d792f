"""A dataclass as a command's parameter: its fields are options, in its place, and the command gets them as one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from everylabel.cli.app import app
from everylabel.cli.groups import ungrouped


@dataclass(frozen=True, kw_only=True)
class Size:
    """A group."""

    wide: Annotated[int, typer.Option("--wide")] = 3
    high: Annotated[int, typer.Option("--high")] = 4


@ungrouped
def draw(
    what: Annotated[str, typer.Argument()],
    *,
    size: Size,
    red: Annotated[bool, typer.Option("--red")] = False,
) -> None:
    print(what, size, red)


@pytest.mark.parametrize(
    ("given", "size"), [([], Size()), (["--high", "7"], Size(high=7)), (["--wide", "1", "--red"], Size(wide=1))]
)
def test_a_group_is_an_option_a_field(given: list[str], size: Size) -> None:
    drawing = typer.Typer()
    drawing.command()(draw)
    done = CliRunner().invoke(drawing, ["box", *given])
    assert done.output.strip() == f"box {size} {'--red' in given}"


READING = ["fit", "plan", "tag", "learn", "evaluate", "compare", "report", "labels add", "inspect", "convert"]


@pytest.mark.parametrize("command", READING)
def test_whatever_reads_data_of_any_layout_has_the_same_options_for_it(command: str) -> None:
    shown = CliRunner().invoke(app, [*command.split(), "--help"]).output
    options = ["--format", "--text-column", "--title-column", "--label-column", "--label-separator", "--vocabulary"]
    options += ["--language", "--limit"]
    places = [shown.index(f"  {option} ") for option in options]
    assert places == sorted(places)
