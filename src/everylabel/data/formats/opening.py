"""A source, and what is taken from it: which split, how many of its documents, and which vocabulary; and says so."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from everylabel.data.formats import files, vocabulary
from everylabel.data.formats.layout import Options, listed
from everylabel.data.formats.registry import Format, WithColumns, chosen_format
from everylabel.data.formats.rows import WHOLE, BadRows, Entry, Row, Source, shown
from everylabel.errors import DataError
from everylabel.run import QUIET, Run

COMPARED = 1000  # labelled documents that a vocabulary beside them is held against, or labels that are looked at
SEPARATORS = ("|", ";", ",", "/", "\n")


def open_source(
    path: Path | str, options: Options | None = None, bad: BadRows | None = None, run: Run = QUIET
) -> tuple[Format, Source]:
    """The format's module and the source for it to read."""
    options = options or Options()
    return chosen_format(path, options), Source(Path(path), options, bad or BadRows(), run)


def own_split(module: Format, path: Path, split: str) -> str:
    """The split as the data know it: what has only one split, unnamed or a file, gives it under any name."""
    names = module.splits(path)
    if split in names:
        return split
    if not names and not path.is_dir():
        raise DataError(f"{path}: expected documents, got a {module.NAME} alone; name data that have some")
    if path.is_dir() and names != [WHOLE]:
        there_are = ", ".join(names) or "none"
        raise DataError(f"{path}: there is no split {split!r} in this {module.NAME} data; there are: {there_are}")
    return names[0]


def rows_of(module: Format, source: Source, split: str) -> Iterator[Row]:
    """The documents of a split, or the first ones where there is a limit."""
    return limited(module.read_documents(source, split), source, f"{source.path}, {split}")


def limited(rows: Iterator[Row], source: Source, name: str) -> Iterator[Row]:
    """The first ones where there is a limit; says so where there are more."""
    limit = source.options.limit
    yield from islice(rows, limit)
    if limit is not None and next(rows, None) is not None:
        source.run.say(f"{name}: only the first {limit:,} documents are read (--limit)")


def known_rows(module: Format, source: Source, split: str, known: Container[str] | None) -> Iterator[Row]:
    """The rows whose labels are all known, if that is given; the others are bad rows."""
    for row in rows_of(module, source, split):
        unknown = None
        if known is not None and row.labels:
            unknown = next((label for label in row.labels if label not in known), None)
        if unknown is None:
            yield row
        else:
            source.bad.add(row.where, f"label {unknown!r} is not in {vocabulary_name(source)}", "add it")


def vocabulary_name(source: Source) -> str:
    file = source.options.vocabulary_file or vocabulary.beside(source.path)
    return "the vocabulary" if file is None else file.name


def vocabulary_entries(module: Format, source: Source, split: str | None = None) -> Iterator[Entry] | None:
    """The labels of the named vocabulary, else of the one that belongs to the data; None where there is none.

    What merely lies beside the data is held against the documents (of this split, or of all): see `fits`.
    """
    file = source.options.vocabulary_file
    if file is not None:
        return vocabulary.read(file, source.bad, source.run, source.options.language, module.NUMBERED)
    beside = None if module.NUMBERED or not module.splits(source.path) else vocabulary.beside(source.path)
    if beside is None or (source.path.is_dir() and not vocabulary.is_any_thesaurus(beside)):
        return module.read_labels(source)  # the format's own, or a folder's, which is there for its data
    return _entries_beside(module, source, split, beside)


def _entries_beside(module: Format, source: Source, split: str | None, file: Path) -> Iterator[Entry] | None:
    say, hint = source.run.say, "to name one: --vocabulary FILE"
    try:
        entries = module.read_labels(source)
        found = None if entries is None else list(entries)
    except DataError as error:
        if source.path.is_dir() or not vocabulary.is_any_thesaurus(file):
            raise
        say(f"{file} lies beside the data, and is left out ({error}); {hint}")
        return None
    if found is None:
        return None
    if fits({label.id for label, _ in found}, module, source, split):
        say(f"taking the {len(found):,} labels of {file}, which lies beside the data; {hint}")
        return iter(found)
    say(f"{file} lies beside the data, and none of the documents' labels is in it: it is left out; {hint}")
    return None


def fits(known: Container[str], module: Format, source: Source, split: str | None) -> bool:
    """Whether a vocabulary shares a label with the first labelled documents. It fits documents without any label."""
    if module.NAME == files.NAME:  # they have no labels, and take long to read
        return True
    quiet = replace(source, bad=BadRows("skip"), run=QUIET)
    labelled = (
        row.labels
        for name in ([split] if split is not None else module.splits(source.path))
        for row in rows_of(module, quiet, name)
        if row.labels
    )
    compared = list(islice(labelled, COMPARED))
    return not compared or any(label in known for labels in compared for label in labels)


def unsplit(ids: Iterable[str]) -> str:
    """For data where no document has two labels: a hint that their cells hold several; empty if they do not seem to."""
    some = list(islice(ids, COMPARED))
    for separator in SEPARATORS:
        torn = [one for one in some if separator in one.strip(separator)]
        if len(torn) > len(some) / 2:
            return (
                f"labels such as {shown(torn[0])} seem to be several; split them with --label-separator {separator!r}"
            )
    return ""


def no_label_column(module: WithColumns, source: Source) -> str:
    """For data without a label: what the columns are, as one of them may be meant; empty if one was named."""
    if source.options.label_column is not None or not module.splits(source.path):
        return ""
    columns = listed(module.columns(source.path))
    return f"no document has a label; it has {columns}, and none is named by --label-column"
