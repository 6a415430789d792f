"""The arguments and options that several commands share, so that they read and behave the same everywhere."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

Data = Annotated[Path, typer.Argument(metavar="DATA", help="Data: a folder or a file; its format is recognised.")]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a model, written by `everylabel fit`.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]
Plots = Annotated[
    Path | None,
    typer.Option("--plots", metavar="FOLDER", file_okay=False, help="Write pictures there, as PNG and SVG."),
]
Split = Annotated[str, typer.Option("--split", metavar="NAME", help="Which part of the data.")]
OnBadRow = Annotated[
    Literal["error", "skip"],
    typer.Option("--on-bad-row", help="Stop at a row that cannot be read, or skip and count it."),
]
Config = Annotated[
    Path | None,
    typer.Option("--config", "-c", metavar="FILE", help="Settings in TOML; may name the method: method = 'knn'."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", metavar="KEY=VALUE", help="One setting; wins over the file. May be repeated."),
]
NoPairs = Annotated[bool, typer.Option("--no-pairs", help="Do not look at the documents' labels.")]
Budget = Annotated[
    str | None,
    typer.Option(
        "--budget",
        "-b",
        metavar="TIME",
        help="Time for the tagger's fit: 90s, 30m, 1h30m. [default: by the data's size]",
    ),
]

Device = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="NAME",
        help="Where torch works: auto, cpu, cuda, cuda:1. [default: $EVERYLABEL_DEVICE, else a GPU if there is one]",
    ),
]

Format = Annotated[
    str | None, typer.Option("--format", metavar="NAME", help="Format of the data. [default: by looking at it]")
]
Vocabulary = Annotated[
    Path | None, typer.Option("--vocabulary", metavar="FILE", help="Vocabulary, instead of one beside the data.")
]
TextColumn = Annotated[str, typer.Option("--text-column", metavar="NAME", help="CSV, Parquet: the texts' column.")]
LabelColumn = Annotated[str, typer.Option("--label-column", metavar="NAME", help="CSV, Parquet: the labels' column.")]
LabelSeparator = Annotated[
    str, typer.Option("--label-separator", metavar="TEXT", help="CSV, Parquet: what stands between two labels.")
]
Language = Annotated[str, typer.Option("--language", metavar="CODE", help="Language of the names in the vocabulary.")]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What cannot be seen from the data itself; `convert` to the native layout once, and no other command needs it."""

    format: Format = None
    vocabulary: Vocabulary = None
    text_column: TextColumn = "text"
    label_column: LabelColumn = "labels"
    label_separator: LabelSeparator = ";"
    language: Language = "en"


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A method with its settings, and what it learns from."""

    budget: Budget = None
    config: Config = None
    settings: Settings = None
    split: Split = "train"
    no_pairs: NoPairs = False


def methods_beginning_with(incomplete: str) -> list[str]:
    """For a shell that completes a command line."""
    from everylabel.registry import METHODS

    return [name for name in METHODS if name.startswith(incomplete)]


def use_device(name: str | None) -> None:
    """For the whole process: what a method's own settings leave open (`device="auto"`) is this one."""
    from everylabel.encoders.device import VARIABLE, check_device

    if name is not None:
        check_device(name)
        os.environ[VARIABLE] = name
