"""How data are laid out, where the files do not say it themselves: the choices that every reader is given, as one."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypedDict

from everylabel.errors import ConfigError, DataError

COLUMNS = {"title_column": "title", "text_column": "text", "label_column": "labels"}  # option: the usual name


class Columns(NamedTuple):
    """What the columns are called in one file; None: there is none."""

    title: str | None
    text: str
    labels: str | None

    def used(self) -> set[str]:
        return {name for name in self if name is not None}


USUAL = Columns(*COLUMNS.values())


class Layout(TypedDict, total=False):
    """`Options` as keywords of the functions that read data, and as the one value that is handed down to them."""

    format: str | None
    text_column: str | None
    title_column: str | None
    label_column: str | None
    label_separator: str | None
    vocabulary: Path | str | None
    language: str
    limit: int | None
    features: str | None
    fields: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What cannot be seen from the files. Each format uses the ones that concern it."""

    format: str | None = None  # None: as the named columns say, else by looking at the data
    text_column: str | None = None  # None: the column "text"; of JSON lines a column is a key
    title_column: str | None = None  # None: the column "title", if there is one
    label_column: str | None = None  # None: the column "labels", if there is one
    label_separator: str | None = None  # None: ";"
    vocabulary: Path | str | None = None  # instead of the one found beside the data
    language: str = "en"  # of the names in a vocabulary with several languages
    limit: int | None = None  # the first so many documents of each split
    features: str | None = None  # of PECOS archives: the folder of ready features beside the texts ("tfidf-attnxml")
    fields: tuple[str, ...] = ()  # of JSON documents: other texts that are kept by their keys, `Documents.fields`

    def __post_init__(self) -> None:
        if self.label_separator == "":
            raise ConfigError("label_separator must be at least one character, got an empty text")
        if self.limit is not None and self.limit < 1:
            raise ConfigError(f"limit must be at least 1 document, got {self.limit}")

    @property
    def vocabulary_file(self) -> Path | None:
        return None if self.vocabulary is None else Path(self.vocabulary)

    @property
    def separator(self) -> str:
        return self.label_separator or ";"

    @property
    def keys(self) -> Columns:
        """What the columns are called, named or not; whether there are such is not known."""
        named = self.named_columns
        return Columns(*(named.get(option, usual) for option, usual in COLUMNS.items()))

    @property
    def named_columns(self) -> dict[str, str]:
        """Those that somebody named, by their option."""
        named = {option: getattr(self, option) for option in COLUMNS}
        return {option: name for option, name in named.items() if name is not None}


def columns_in(header: Sequence[str], options: Options, file: Path | str) -> Columns:
    """Which columns to read. A named one that is missing is an error that lists those there are."""
    title, text, labels = (_column(header, options, *both, file) for both in COLUMNS.items())
    if text is None:
        raise DataError(
            f"{file}: expected a column 'text' with the texts, got {listed(header)}; name it with --text-column "
            "(and the labels' with --label-column; text_column and label_column in Python)"
        )
    return Columns(title, text, labels)


def _column(header: Sequence[str], options: Options, option: str, usual: str, file: Path | str) -> str | None:
    named = options.named_columns.get(option)
    wanted = named if named is not None else usual
    found = wanted if wanted in header else _spelled_otherwise(wanted, header)
    if found is None and named is not None:
        near = difflib.get_close_matches(wanted, list(header), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"name one of them with --{option.replace('_', '-')}"
        raise DataError(f"{file}: expected a column {wanted!r}, got {listed(header)}; {hint}")
    return found


def _spelled_otherwise(wanted: str, header: Sequence[str]) -> str | None:
    """The only column that differs in capitals and outer spaces alone: spreadsheets are written by hand."""
    found = [name for name in header if name.strip().casefold() == wanted.strip().casefold()]
    return found[0] if len(found) == 1 else None


def listed(header: Sequence[str], most: int = 20) -> str:
    """Columns as a message can show them: a file that is no table may have thousands, or very long ones."""
    shown = [" ".join(name.split())[:40] or "(no name)" for name in header[:most]]
    more = f" and {len(header) - most} more" if len(header) > most else ""
    return f"the columns {', '.join(shown)}{more}" if shown else "no column at all"
