"""What every format reads and writes: rows, the places they come from and go to, and the account of bad rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from everylabel.data.dataset import Label, LabelSet
from everylabel.data.formats.layout import Options
from everylabel.errors import ConfigError, DataError
from everylabel.run import QUIET, Run
from everylabel.types import FloatArray, IntArray

OnBadRow: TypeAlias = Literal["error", "skip"]

SPLIT_NAMES: dict[str, tuple[str, ...]] = {  # our name: what files call it
    "train": ("train", "trn", "training"),
    "dev": ("dev", "val", "valid", "validation"),
    "test": ("test", "tst", "testing"),
}
WHOLE = "all"  # the only split of a file whose name says nothing
MOST_LABELS = 20_000_000  # more than any published vocabulary; beyond it a header is taken for damage


class Features(NamedTuple):
    """One document of a bag of words: `width` is the number of columns of the whole matrix."""

    indices: IntArray
    values: FloatArray
    width: int


@dataclass(slots=True)
class Row:
    """One document with its label ids (None: the row says nothing about labels), and where it came from."""

    id: str
    text: str
    title: str = ""
    labels: list[str] | None = None
    features: Features | None = None
    file: str = ""
    line: int = 0
    fields: dict[str, str] | None = None  # other texts of a JSON document, where they are asked for

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def full_text(self) -> str:
        return f"{self.title}\n{self.text}" if self.title else self.text


class Entry(NamedTuple):
    """One label of a vocabulary file, and where it stands."""

    label: Label
    where: str


@dataclass
class BadRows:
    """Rows that could not be used: the first one is an error, or they are counted and the first few kept."""

    policy: OnBadRow = "error"
    count: int = 0
    messages: list[str] = field(default_factory=list)
    keep: int = 5

    def __post_init__(self) -> None:
        if self.policy not in ("error", "skip"):
            raise ConfigError(f"on_bad_row must be 'error' or 'skip', got {self.policy!r}")

    def add(self, where: str, problem: str, fix: str) -> None:
        message = f"{where}: {problem}; {fix}"
        if self.policy == "error":
            raise DataError(f"{message}, or pass --on-bad-row skip")
        self.count += 1
        if len(self.messages) < self.keep:
            self.messages.append(message)

    def report(self, run: Run) -> None:
        """Tells the user how many rows are missing, and why."""
        if self.count:
            more = self.count - len(self.messages)
            rest = f"\n  and {more} more" if more else ""
            run.say(f"skipped {self.count} bad rows:\n  " + "\n  ".join(self.messages) + rest)


@dataclass(frozen=True)
class Source:
    """Data to be read: a folder or a file, how, what becomes of its bad rows, and who hears how far it is."""

    path: Path
    options: Options
    bad: BadRows
    run: Run = QUIET
    labels: LabelSet | None = None  # the vocabulary that labels are to be found in, where it is known already


class Target(NamedTuple):
    """A folder or file to be written, with what a writer must know besides the rows."""

    path: Path
    labels: LabelSet
    options: Options
    gz: bool = False
    safe_cells: bool = False  # in tables as text: see csv_file.py

    def into(self, name: str) -> Target:
        """A file in this folder, compressed if asked for."""
        return self._replace(path=self.path / (f"{name}.gz" if self.gz else name))


def decoded(raw: bytes, where: str, bad: BadRows) -> str | None:
    """The line's text, or None after it was reported as a bad row."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        byte = raw[error.start]
        bad.add(where, f"expected UTF-8, got byte 0x{byte:02x} at position {error.start + 1}", "save the file as UTF-8")
        return None


def shown(value: object, most: int = 60) -> str:
    """A value as it can stand in a message of one line."""
    text = repr(value[: most * 2]) if isinstance(value, str | bytes) else repr(value)
    return text if len(text) <= most else text[: most - 4] + " ..."


def split_of(name: str) -> str | None:
    """Our name of the split that a file's stem stands for, if it stands for one."""
    return next((split for split, names in SPLIT_NAMES.items() if name.lower() in names), None)


def stem_of(path: Path) -> str:
    """The name without .gz and without the suffix before it."""
    return Path(path.name.removesuffix(".gz")).stem


def suffix_of(path: Path) -> str:
    """The suffix in lower case, not counting .gz."""
    return Path(path.name.removesuffix(".gz")).suffix.lower()


def split_files(path: Path, suffixes: tuple[str, ...]) -> dict[str, Path]:
    """Each split's file in a folder, in the order train, dev, test; a file is its own only split."""
    if not path.is_dir():
        return {split_of(stem_of(path)) or WHOLE: path}
    files = [file for file in sorted(path.iterdir()) if suffix_of(file) in suffixes and file.is_file()]
    named = {split_of(stem_of(file)): file for file in files}
    return {split: named[split] for split in SPLIT_NAMES if split in named}


def split_file(path: Path, split: str, files: dict[str, Path]) -> Path:
    """The file of one split; a path that is a file itself stands for any split."""
    return path if path.is_file() else files[split]


def existing(folder: Path, name: str) -> Path | None:
    """The file of this name, or this name with .gz, if there is one."""
    return next((file for file in (folder / name, folder / f"{name}.gz") if file.is_file()), None)


def numbered_labels(count: int, file: Path) -> Iterator[Entry]:
    """Labels of data that only numbers them: the number is the id and the name."""
    if count > MOST_LABELS:
        raise DataError(
            f"{file}: expected at most {MOST_LABELS:,} labels, the header says {count:,}; correct the header"
        )
    for i in range(count):
        yield Entry(Label(str(i), str(i)), file.name)
