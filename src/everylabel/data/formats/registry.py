"""Which formats there are, and which one a folder or file is in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol, Unpack, cast, runtime_checkable

from everylabel.data.formats import (
    annif,
    annif_folder,
    attentionxml,
    bibtex,
    csv_file,
    dublin_core,
    files,
    libmultilabel,
    marc,
    marcxml,
    native,
    parquet,
    pecos,
    ris,
    vocabulary_alone,
    xmc_bow,
    xmc_raw,
    xmc_split,
)
from everylabel.data.formats.catalogue import Record, Subjects, Tagging
from everylabel.data.formats.layout import Layout, Options
from everylabel.data.formats.lines import UTF16_MARKS
from everylabel.data.formats.rows import Entry, Row, Source, Target, suffix_of
from everylabel.errors import ConfigError, DataError


class Format(Protocol):
    """What each format's module has: a module is the format, there is no class."""

    NAME: str
    NUMBERED: bool  # whether documents name labels by number, so that a vocabulary's line numbers are their ids

    def detect(self, path: Path, /) -> bool: ...

    def splits(self, path: Path, /) -> list[str]: ...

    def read_labels(self, source: Source, /) -> Iterator[Entry] | None: ...

    def read_documents(self, source: Source, split: str, /) -> Iterator[Row]: ...


@runtime_checkable
class Writable(Protocol):
    """What a format's module has besides, when it can be written as a folder."""

    def write_labels(self, target: Target, /) -> None: ...

    def write_split(self, target: Target, split: str, rows: Iterable[Row], /) -> None: ...


@runtime_checkable
class WithColumns(Format, Protocol):
    """... when its columns (or keys) can be named."""

    def columns(self, path: Path, /) -> list[str]: ...


@runtime_checkable
class WritableFile(Protocol):
    """... and when one split can be written as one file."""

    def write_file(self, target: Target, rows: Iterable[Row], /) -> None: ...


@runtime_checkable
class Catalogue(Format, Protocol):
    """... and when it holds catalogue records, which can be written again with more subjects."""

    def read_records(self, source: Source, /) -> Iterator[Record]: ...

    def write_subjects(self, source: Source, target: Path, subjects: Subjects, tagging: Tagging, /) -> int: ...


# The order is that of detection: the ones known by a peculiar file name or content come first, as the later ones
# would take their files too (Annif's are .csv and .jsonl files, a bag of words is a .txt file, ...).
MODULES: tuple[Format, ...] = (
    cast(Format, xmc_raw),
    cast(Format, xmc_split),
    cast(Format, pecos),
    cast(Format, attentionxml),
    cast(Format, parquet),
    cast(Format, marc),
    cast(Format, marcxml),
    cast(Format, ris),
    cast(Format, bibtex),
    cast(Format, dublin_core),
    cast(Format, vocabulary_alone),
    cast(Format, annif),
    cast(Format, native),
    cast(Format, csv_file),
    cast(Format, xmc_bow),
    cast(Format, libmultilabel),
    cast(Format, annif_folder),
    cast(Format, files),
)
FORMATS: dict[str, Format] = {module.NAME: module for module in MODULES}
SHOWN_FILES = 8
SPREADSHEETS = (".xlsx", ".xls", ".ods")


def format_named(name: str) -> Format:
    if name not in FORMATS:
        raise ConfigError(f"unknown format {name!r}; choose one of {', '.join(FORMATS)}")
    return FORMATS[name]


def detect_format(path: Path | str) -> str:
    """The name of the format of a folder or file, by looking at file names and first lines."""
    path = existing_path(path)
    found = next((name for name, module in FORMATS.items() if module.detect(path)), None)
    if found is None:
        raise DataError(
            f"{path}: expected data in one of the formats {', '.join(FORMATS)}, got {what_is_there(path)}; "
            f"{'give one of the files, ' if path.is_dir() else ''}name the format, or convert the data to the native "
            "layout (labels.jsonl, train.jsonl, ...)"
        )
    return found


def existing_path(path: Path | str) -> Path:
    if not Path(path).exists():
        raise DataError(f"{path}: expected a data folder or file, and there is none; check the path")
    return Path(path)


def what_is_there(path: Path) -> str:
    if path.is_file():
        if path.suffix.lower() in SPREADSHEETS:
            return "a spreadsheet, which must be saved as CSV (UTF-8) first"
        with path.open("rb") as start:
            marked = start.read(2) in UTF16_MARKS
        if marked:
            return "text in UTF-16, which must be saved as UTF-8 first"
        return f"a file ending in {path.suffix!r}"
    names = sorted(file.name for file in path.iterdir())
    if not names:
        return "an empty folder"
    more = f" and {len(names) - SHOWN_FILES} more" if len(names) > SHOWN_FILES else ""
    return f"the files {', '.join(names[:SHOWN_FILES])}{more}"


def chosen_format(path: Path | str, options: Options) -> Format:
    """The format that was asked for; where columns are named, one that has columns; else by looking at the data."""
    if options.format is not None:
        module = format_named(options.format)
    elif options.named_columns:
        module = with_columns(existing_path(path))
    else:
        module = format_named(detect_format(path))
    if options.features is not None and module is not FORMATS[pecos.NAME]:
        raise ConfigError(f"{module.NAME} data have no ready features beside their texts: --features is for PECOS data")
    if options.named_columns and not isinstance(module, WithColumns):
        named = ", ".join(f"--{option.replace('_', '-')}" for option in options.named_columns)
        able = [name for name, one in FORMATS.items() if isinstance(one, WithColumns)]
        raise ConfigError(f"{module.NAME} data have no columns, and {named} names one; only {', '.join(able)} have")
    return module


def with_columns(path: Path) -> Format:
    """JSON lines and Parquet are known by their names; any other file is taken for a table of text."""
    if path.is_file():
        return FORMATS[{".jsonl": "native", ".json": "native", ".parquet": "parquet"}.get(suffix_of(path), "csv")]
    found = next((one for one in FORMATS.values() if isinstance(one, WithColumns) and one.splits(path)), None)
    if found is None:
        raise DataError(
            f"{path}: expected files with columns, such as train.csv or train.jsonl, got {what_is_there(path)}; "
            "name one of the files instead of the folder"
        )
    return found


def available_splits(path: Path | str, **layout: Unpack[Layout]) -> list[str]:
    """The splits there are, of train, dev, test; a file is one split, named 'all' when its name is not one of these."""
    return chosen_format(path, Options(**layout)).splits(Path(path))
