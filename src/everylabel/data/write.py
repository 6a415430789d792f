"""From one format to another, row by row, and the sample corpus as a folder; a target is whole or not there at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Unpack

from everylabel.atomic import replaced
from everylabel.data.formats import skos
from everylabel.data.formats.layout import Layout, Options
from everylabel.data.formats.load import source_labels
from everylabel.data.formats.opening import known_rows, open_source, own_split
from everylabel.data.formats.registry import (
    FORMATS,
    Format,
    Writable,
    WritableFile,
    format_named,
)
from everylabel.data.formats.rows import WHOLE, BadRows, OnBadRow, Row, Source, Target, suffix_of
from everylabel.data.formats.skos_writing import write_vocabulary
from everylabel.data.overwrite import check_target, is_written
from everylabel.errors import ConfigError, DataError
from everylabel.run import QUIET, Run

FILE_FORMATS = {".jsonl": "native", ".csv": "csv", ".parquet": "parquet", ".tsv": "annif", ".txt": "libmultilabel"}
SAMPLE_FILES = ("labels.jsonl", "train.jsonl", "dev.jsonl", "test.jsonl")


@dataclass
class Converted:
    """What was written: the target, its format, and the number of labels and of documents a split."""

    path: Path
    format: str
    n_labels: int
    n_docs: dict[str, int] = field(default_factory=dict)


def convert(
    src: Path | str,
    dst: Path | str,
    to: str | None = None,
    *,
    split: str | None = None,
    gzip: bool = False,
    overwrite: bool = False,
    safe_cells: bool = False,
    on_bad_row: OnBadRow = "error",
    bad_rows: BadRows | None = None,
    run: Run = QUIET,
    **layout: Unpack[Layout],
) -> Converted:
    """Data in another format (`to`; by the target's suffix, else native): a folder, or one split as one file.

    A target ending in .jsonl, .csv, .parquet, .tsv or .txt (and .gz) is a file; `split` says which split it gets. One
    ending in .ttl, .rdf, .nt or .jsonld gets the vocabulary alone, as SKOS.
    `safe_cells`: for a CSV that is opened in a spreadsheet, no cell of it is a formula.
    Memory holds the vocabulary and one row; formats with matrices or counts up front hold the pairs too.
    """
    target = Path(dst)
    bad = bad_rows if bad_rows is not None else BadRows(on_bad_row)
    options = Options(**layout)
    module, source = open_source(src, options, bad, run)
    if suffix_of(target) in skos.SUFFIXES:
        if to is not None or split is not None or safe_cells:
            raise ConfigError(f"{target}: SKOS is a vocabulary without documents; leave format, split and cells out")
        return convert_vocabulary(module, source, target, overwrite)
    as_file = suffix_of(target) in FILE_FORMATS
    chosen = format_named(to or FILE_FORMATS.get(suffix_of(target), "native"))
    check_writer(chosen, as_file, target)
    if safe_cells and chosen.NAME != "csv":
        raise ConfigError(f"safe cells are for spreadsheets, and {chosen.NAME} data are none; leave it out, or use csv")
    splits = chosen_splits(module, source.path, split, as_file)
    check_target(target, source.path, overwrite, as_file=as_file)
    labels = source_labels(module, source)
    done = Converted(target, chosen.NAME, len(labels))
    plan = Plan(module, source, Target(target, labels, written_options(options, chosen), gzip, safe_cells), done)
    with replaced(target, is_written) as partial:
        if as_file:
            plan.write_file(chosen, partial, splits[0])
        else:
            partial.mkdir()
            plan.write_folder(chosen, partial, splits)
    bad.report(run)
    return done


def convert_vocabulary(module: Format, source: Source, target: Path, overwrite: bool) -> Converted:
    """The labels alone, with all that is known of them."""
    check_target(target, source.path, overwrite, as_file=True)
    labels = source_labels(module, source)
    with replaced(target, is_written) as partial:
        write_vocabulary(Target(partial, labels, Options()))
    source.bad.report(source.run)
    return Converted(target, "skos", len(labels))


@dataclass
class Plan:
    """One conversion: rows of the source, checked and counted on their way to the writer."""

    module: Format
    source: Source
    target: Target
    done: Converted

    def write_file(self, writer: Format, path: Path, split: str) -> None:
        assert isinstance(writer, WritableFile)
        writer.write_file(self.target_at(path), self.rows(writer, split))

    def write_folder(self, writer: Format, path: Path, splits: list[str]) -> None:
        assert isinstance(writer, Writable)
        target = self.target_at(path)
        writer.write_labels(target)
        for split in splits:
            writer.write_split(target, "train" if split == WHOLE else split, self.rows(writer, split))

    def target_at(self, path: Path) -> Target:
        return self.target._replace(path=path)

    def rows(self, writer: Format, split: str) -> Iterator[Row]:
        self.done.n_docs[split] = 0
        for row in known_rows(self.module, self.source, split, self.target.labels.index.to_dict()):
            if row.features is not None and not row.text and writer.NAME != "xmc-bow":
                raise DataError(
                    f"{row.where}: {self.module.NAME} data hold numbers in place of texts, which {writer.NAME} cannot; "
                    "convert the raw texts of this data set, or use --to xmc-bow"
                )
            self.done.n_docs[split] += 1
            yield row


def written_options(options: Options, writer: Format) -> Options:
    """Columns are named by our own defaults when written, whatever the source calls them."""
    return Options(label_separator=options.label_separator if writer.NAME == "csv" else None)


def check_writer(writer: Format, as_file: bool, target: Path) -> None:
    if not isinstance(writer, Writable):
        able = [name for name, module in FORMATS.items() if isinstance(module, Writable)]
        raise ConfigError(f"{writer.NAME} data can be read, not written; choose one of {', '.join(able)}")
    if as_file and not isinstance(writer, WritableFile):
        raise ConfigError(
            f"{target}: {writer.NAME} data are a folder; give a target without the suffix {target.suffix}"
        )


def chosen_splits(module: Format, path: Path, split: str | None, as_file: bool) -> list[str]:
    if split is not None:
        return [own_split(module, path, split)]
    splits = module.splits(path)
    if as_file and len(splits) != 1:
        raise DataError(
            f"{path}: one file holds one split, and there are {', '.join(splits) or 'none'}; name one of them"
        )
    return splits


def sample(dst: Path | str, *, overwrite: bool = False) -> Path:
    """The sample corpus that comes with the package, as a folder in the native layout."""
    target = Path(dst)
    check_target(target, None, overwrite)
    with replaced(target, is_written) as partial:
        partial.mkdir()
        for name in SAMPLE_FILES:
            (partial / name).write_bytes((files("everylabel") / "sample" / name).read_bytes())
    return target
