"""Results on stdout: JSON, tables and plain lines. Everything that is not a result goes to stderr (`note`).

What stands in data or models may be anything: `print_line`, `print_table` and `note` spell out what a terminal would
obey (printable.py). `print` alone is for words of our own.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from everylabel.cli.printable import printable, printable_json, printable_lines
from everylabel.workflow.lines import json_text

if TYPE_CHECKING:
    from everylabel.workflow.evaluate import Evaluation


def print_json(value: Any, *, indent: int | None = 2) -> None:
    print_json_text(json_text(value, indent))


def print_json_text(text: str) -> None:
    print(printable_json(text) if is_terminal() else text)


def print_line(text: str) -> None:
    """One line, whatever is in it."""
    print(printable(text))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,)) -> None:
    """The columns in `left` are words, the others numbers. Wide characters and combining marks count as they look."""
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(pad_edge=False, box=None)
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i in left else "right", header_style="bold", no_wrap=i > 0)
    cells = [[printable(cell) for cell in row] for row in rows]
    for row in cells:
        table.add_row(*map(Text, row))  # as texts: nothing in them is markup
    if is_terminal():
        Console(highlight=False, markup=False, emoji=False).print(table)
        return
    # A pipe or a file has no width: any limit would cut names that the reader may need.
    width = sum(2 + max(map(cell_len, column)) for column in zip(columns, *cells, strict=True))
    console = Console(width=width, highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        console.print(table)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def spoken_size(n_bytes: int) -> str:
    """12 bytes, 3.4 KB, 567.8 MB: of 1,000 each, as disks and files are sold and shown."""
    if n_bytes < 1_000:
        return f"{n_bytes} bytes"
    power = next(power for power in (1, 2, 3, 4) if n_bytes < 999.95 * 1_000**power or power == 4)
    return f"{n_bytes / 1_000**power:,.1f} {'_KMGT'[power]}B"


def note(message: str) -> None:
    typer.echo(printable_lines(message), err=True)


def draw(results: Mapping[str, Evaluation], folder: Path, quiet: bool) -> None:
    """What `evaluate --plots` and `compare --plots` share."""
    from everylabel.workflow.pictures import draw_evaluations

    names = draw_evaluations(results, folder)
    if not quiet:
        note(f"wrote {', '.join(names)} to {folder}, each as .png and .svg")


def is_terminal() -> bool:
    return sys.stdout.isatty()
