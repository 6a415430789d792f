"""The arguments and options that several commands share, so that they read and behave the same everywhere."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

if TYPE_CHECKING:
    from everylabel.data.formats.layout import Layout as Keywords
    from everylabel.workflow.transform import Transform

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
PropensityOf = Annotated[
    str,
    typer.Option(
        "--propensity",
        metavar="NAME",
        help="Constants of PSP and PSnDCG: those of a published data set (amazon-670k, wiki-500k), or A,B.",
    ),
]
Decided = Annotated[
    int,
    typer.Option(
        "--f1-at", metavar="K", min=1, max=100, help="The top K are decisions: of F1, and of compare's sign test."
    ),
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
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Memory that the tagger's fit may take beside the data: 8G, 512M. [default: what is free]",
    ),
]
Accuracy = Annotated[
    str | None,
    typer.Option(
        "--accuracy",
        metavar="default|fast",
        help="fast: few experts, by words alone: a little worse, and two to three times as many documents a second.",
    ),
]

Transforms = Annotated[
    list[str] | None,
    typer.Option(
        "--transform",
        metavar="NAME=VALUE",
        help="What is read of each text: first=2000 (characters), fields=title,abstract (of JSON documents), "
        "language=de (sentences). May be repeated; applied in this order.",
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

OnRay = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="ADDRESS",
        help="Work on a Ray cluster: HOST:PORT, auto (the one this machine is in), or local (all cores here).",
    ),
]

Format = Annotated[
    str | None, typer.Option("--format", metavar="NAME", help="Format of the data. [default: by looking at it]")
]


def _column(of: str, usual: str) -> Any:
    about = f"The column (or JSON key) of the {of}s. [default: {usual}]"
    return typer.Option(f"--{of}-column", metavar="NAME", help=about)


TextColumn = Annotated[str | None, _column("text", "text")]
TitleColumn = Annotated[str | None, _column("title", "title")]
LabelColumn = Annotated[str | None, _column("label", "labels")]
LabelSeparator = Annotated[
    str | None,
    typer.Option("--label-separator", metavar="TEXT", help="What stands between two labels of a cell. [default: ;]"),
]
Vocabulary = Annotated[
    Path | None, typer.Option("--vocabulary", metavar="FILE", help="Vocabulary, instead of one beside the data.")
]
Language = Annotated[str, typer.Option("--language", metavar="CODE", help="Language of the names in the vocabulary.")]
ReadyFeatures = Annotated[
    str | None,
    typer.Option(
        "--features",
        metavar="FOLDER",
        help="Of PECOS archives: read the documents' ready features, too, in this folder beside them (tfidf-attnxml).",
    ),
]
Limit = Annotated[
    int | None, typer.Option("--limit", metavar="N", min=1, help="Read the first N documents of each part only.")
]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What cannot be seen from the data itself; `convert` to the native layout once, and no other command needs it."""

    format: Format = None
    text_column: TextColumn = None
    title_column: TitleColumn = None
    label_column: LabelColumn = None
    label_separator: LabelSeparator = None
    vocabulary: Vocabulary = None
    language: Language = "en"
    limit: Limit = None
    features: ReadyFeatures = None

    @property
    def keywords(self) -> Keywords:
        """As the functions that read data take them."""
        return cast("Keywords", asdict(self))

    def reading(self, transforms: tuple[Transform, ...]) -> Keywords:
        """As `keywords`, with the fields of documents that these transforms choose from."""
        found = self.keywords
        if transforms:
            from everylabel.workflow.transform import fields_of

            found["fields"] = fields_of(transforms)
        return found

    @property
    def arguments(self) -> list[str]:
        """As they were given on the command line."""
        given = [(one.name, getattr(self, one.name)) for one in fields(self) if getattr(self, one.name) != one.default]
        return [part for name, value in given for part in (f"--{name.replace('_', '-')}", str(value))]


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A method with its settings, and what it learns from."""

    budget: Budget = None
    memory: Memory = None
    accuracy: Accuracy = None
    config: Config = None
    settings: Settings = None
    split: Split = "train"
    no_pairs: NoPairs = False


def chosen_transforms(given: list[str] | None) -> tuple[Transform, ...]:
    """As functions take them; without any, nothing is loaded."""
    if not given:
        return ()
    from everylabel.workflow.transform import transforms_of

    return transforms_of(given)


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
