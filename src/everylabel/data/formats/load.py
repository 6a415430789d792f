"""Data sets, vocabularies and documents from files of any format: the way in for everything else."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, Unpack

import numpy as np
from scipy.sparse import csr_matrix

from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, current
from everylabel.data.formats import plain, vocabulary
from everylabel.data.formats.layout import Layout, Options
from everylabel.data.formats.lines import opened, readable, text_of, unpacked
from everylabel.data.formats.opening import (
    known_rows,
    limited,
    no_label_column,
    open_source,
    own_split,
    rows_of,
    unsplit,
    vocabulary_entries,
)
from everylabel.data.formats.registry import Format, WithColumns
from everylabel.data.formats.rows import WHOLE, BadRows, Entry, OnBadRow, Row, Source, suffix_of
from everylabel.errors import DataError
from everylabel.run import QUIET, Run
from everylabel.types import Csr

AT_ONCE = 1024  # documents of a stream that is read whole


@dataclass
class GatheredDocuments:
    """Rows as they arrive, in the arrays that documents and csr matrices are made of."""

    ids: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    columns: array[int] = field(default_factory=lambda: array("i"))
    values: array[float] = field(default_factory=lambda: array("f"))
    ends: array[int] = field(default_factory=lambda: array("q", [0]))
    width: int = -1  # of the features; -1 while no row has any
    fields: list[dict[str, str]] = field(default_factory=list)  # of all rows, or none

    def add(self, row: Row) -> None:
        self.ids.append(row.id)
        self.texts.append(row.text)
        self.titles.append(row.title)
        if row.fields is not None:
            self.fields.append(row.fields)
        if row.features is not None:
            self.columns.frombytes(row.features.indices.tobytes())
            self.values.frombytes(row.features.values.tobytes())
            self.width = max(self.width, row.features.width)
        self.ends.append(len(self.columns))

    def documents(self) -> Documents:
        features = None
        if self.width >= 0:
            parts = (np.array(self.values), np.array(self.columns), np.array(self.ends))
            features = csr_matrix(parts, shape=(len(self.ids), self.width))
        return Documents(self.ids, self.texts, self.titles, features, self.fields or None)


@dataclass
class GatheredPairs:
    """Pairs as they arrive. Without a vocabulary (`fixed` false), each new label id gets the next number."""

    index: dict[str, int]
    fixed: bool
    columns: array[int] = field(default_factory=lambda: array("i"))
    ends: array[int] = field(default_factory=lambda: array("q", [0]))

    def add(self, labels: list[str]) -> None:
        if self.fixed:
            self.columns.extend([self.index[label] for label in labels])
        else:
            self.columns.extend([self.index.setdefault(label, len(self.index)) for label in labels])
        self.ends.append(len(self.columns))

    def pairs(self, numbers: np.ndarray, n_labels: int) -> Csr | None:
        """Csr with label i moved to column numbers[i]; None when no document has a label."""
        if not self.columns:
            return None
        columns = numbers[np.array(self.columns)].astype(np.int32)
        ones = np.ones(len(columns), np.float32)
        return csr_matrix((ones, columns, np.array(self.ends)), shape=(len(self.ends) - 1, n_labels))


def load_dataset(
    path: Path | str,
    split: str = "train",
    *,
    on_bad_row: OnBadRow = "error",
    bad_rows: BadRows | None = None,
    labels: LabelSet | None = None,
    run: Run = QUIET,
    **layout: Unpack[Layout],
) -> Dataset:
    """One split of a data folder, or a file, of any known format, with the whole vocabulary.

    Without a vocabulary the labels are those of all splits, sorted, named by their ids. Give `bad_rows` to learn
    afterwards how many rows were skipped, and why. `labels`: those that another split of the same data was read with,
    which are then shared, and not read again. `layout`: what the files do not say (`layout.Options`).
    """
    bad = bad_rows if bad_rows is not None else BadRows(on_bad_row)
    module, source = open_source(path, Options(**layout), bad, run)
    split = own_split(module, source.path, split)
    entries = vocabulary_entries(module, source, split) if labels is None else None
    labels = labels if entries is None else label_set(entries, bad)
    places = None if labels is None else labels.index.to_dict()
    truth = GatheredPairs({} if places is None else places, fixed=labels is not None)
    gathered = GatheredDocuments()
    for row in known_rows(module, source, split, places):
        gathered.add(row)
        truth.add(row.labels or [])
    numbers = np.arange(len(truth.index))
    if labels is None:
        labels = LabelSet.of(Label(name, name) for name in collected(module, source, split, truth.index))
        numbers = labels.index.places(list(truth.index))
    bad.report(run)
    tell_doubts(truth, module, source)
    return current(Dataset(gathered.documents(), labels, truth.pairs(numbers, len(labels)), name=source.path.name), run)


def tell_doubts(truth: GatheredPairs, module: Format, source: Source) -> None:
    """What is likely wrong with the layout of a table: no column of labels, or one whose cells are not split."""
    if not isinstance(module, WithColumns):
        return
    if not truth.columns:
        doubt = no_label_column(module, source)
    else:
        alone = source.options.label_separator is None and bool((np.diff(np.array(truth.ends)) <= 1).all())
        doubt = unsplit(truth.index) if alone and len(truth.columns) > 1 else ""
    if doubt:
        source.run.say(f"{source.path}: {doubt}")


def load_labelled(
    path: Path | str,
    labels: LabelSet,
    split: str = "train",
    *,
    on_bad_row: OnBadRow = "error",
    run: Run = QUIET,
    **layout: Unpack[Layout],
) -> Dataset:
    """Labelled documents in a given vocabulary, whatever lies beside them; labels that it has not come after its own.

    A file of JSON lines, whatever its name, or data of any known format.
    """
    path, bad, options = Path(path), BadRows(on_bad_row), Options(**layout)
    gathered, truth = GatheredDocuments(), GatheredPairs(labels.index.to_dict(), fixed=False)
    if is_plain(path, options):
        source = Source(path, options, bad, run)
        rows = limited(plain.read_file(source), source, str(path))
    else:
        module, source = open_source(path, options, bad, run)
        rows = rows_of(module, replace(source, labels=labels), own_split(module, path, split))
    for row in rows:
        gathered.add(row)
        truth.add(row.labels or [])
    bad.report(run)
    unknown = list(truth.index)[len(labels) :]
    whole = labels.extended(Label(one, one) for one in unknown)
    pairs = truth.pairs(np.arange(len(whole)), len(whole))
    return current(Dataset(gathered.documents(), whole, pairs, name=path.name), run)


def load_labels(
    path: Path | str,
    *,
    on_bad_row: OnBadRow = "error",
    bad_rows: BadRows | None = None,
    run: Run = QUIET,
    **layout: Unpack[Layout],
) -> LabelSet:
    """The vocabulary of a data folder, or of a vocabulary file (.jsonl, .tsv, .csv, .ttl, .rdf, .nt, .jsonld, .txt).

    A file is taken for a vocabulary unless a format or columns are named: then it holds documents with labels.
    """
    bad, options = bad_rows if bad_rows is not None else BadRows(on_bad_row), Options(**layout)
    file = options.vocabulary_file
    if file is None and Path(path).is_file() and options.format is None and not options.named_columns:
        file = Path(path)
    if file is not None:
        labels = label_set(islice(vocabulary.read(file, bad, run, options.language), options.limit), bad)
    else:
        labels = source_labels(*open_source(path, options, bad, run))
    bad.report(run)
    return labels


def load_documents(
    source: Path | str | BinaryIO,
    split: str | None = None,
    *,
    on_bad_row: OnBadRow = "error",
    bad_rows: BadRows | None = None,
    run: Run = QUIET,
    **layout: Unpack[Layout],
) -> Documents:
    """Documents to be tagged: JSON lines, plain text (a document a line), a binary stream, or a data folder's split.

    Also .md, .html, .epub, .pdf, .docx and .odt files, a document each, and folders of such.
    """
    bad = bad_rows if bad_rows is not None else BadRows(on_bad_row)
    gathered = GatheredDocuments()
    for row in document_rows(source, split, bad, Options(**layout), run):
        gathered.add(row)
    bad.report(run)
    return gathered.documents()


def stream_documents(
    source: Path | str | BinaryIO,
    split: str | None = None,
    *,
    size: int = 1024,
    on_bad_row: OnBadRow = "error",
    bad_rows: BadRows | None = None,
    run: Run = QUIET,
    **layout: Unpack[Layout],
) -> Iterator[Documents]:
    """As `load_documents`, in parts of at most `size` documents, for input of any length.

    Of a stream a part is what is there already: no document waits for others that may come later.
    """
    bad = bad_rows if bad_rows is not None else BadRows(on_bad_row)
    for part in document_parts(source, split, size, bad, Options(**layout), run):
        gathered = GatheredDocuments()
        for row in part:
            gathered.add(row)
        yield gathered.documents()
    bad.report(run)


def whole_text(source: Path | str | BinaryIO) -> Documents:
    """A file or stream, compressed or not, as one document."""
    if isinstance(source, Path | str):
        where = str(source)
        with opened(Path(source)) as (_, file):
            content = text_of(file, where)
    else:
        where = "standard input"
        with readable(where):
            content = text_of(unpacked(source), where)
    try:
        return Documents.of([content.decode()])
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: expected UTF-8 text; {error}; save it as UTF-8") from None


def document_parts(
    source: Path | str | BinaryIO, split: str | None, size: int, bad: BadRows, options: Options, run: Run
) -> Iterator[list[Row]]:
    if isinstance(source, Path | str) or options.limit is not None:
        rows = document_rows(source, split, bad, options, run)
        while part := list(islice(rows, size)):
            yield part
    else:
        yield from plain.read_stream(source, Source(Path(plain.STREAM), options, bad, run), size)


def document_rows(
    source: Path | str | BinaryIO, split: str | None, bad: BadRows, options: Options, run: Run
) -> Iterator[Row]:
    if not isinstance(source, Path | str):
        arriving = plain.read_stream(source, Source(Path(plain.STREAM), options, bad, run), AT_ONCE)
        return islice(chain.from_iterable(arriving), options.limit)  # whether there is more is not waited for
    path = Path(source)
    if is_plain(path, options) or (suffix_of(path) == ".txt" and is_guessed(path, options)):
        opened = Source(path, options, bad, run)
        return limited(plain.read_file(opened), opened, str(path))
    module, opened = open_source(path, options, bad, run)
    opened = replace(opened, labels=LabelSet.of(()))  # no label is looked for in a vocabulary
    names = module.splits(path)
    if split is None and path.is_dir() and len(names) != 1:
        raise DataError(f"{path}: expected one split to read, and there are {', '.join(names) or 'none'}; name one")
    return rows_of(module, opened, own_split(module, path, split or next(iter(names), WHOLE)))


def is_guessed(path: Path, options: Options) -> bool:
    """Whether a file's format is to be told by the file alone."""
    return path.is_file() and options.format is None and not options.named_columns


def is_plain(path: Path, options: Options) -> bool:
    """A file whose name says nothing: lines of JSON, or of text."""
    return is_guessed(path, options) and suffix_of(path) in ("", ".json")


def label_set(entries: Iterable[Entry], bad: BadRows) -> LabelSet:
    """The vocabulary; a label without a name gets its id for one, and a second label of one id is a bad row."""
    found: dict[str, Label] = {}
    for label, where in entries:
        if label.id in found:
            bad.add(where, f"label id {label.id!r} occurs twice in the vocabulary", "remove one of them")
        else:
            found[label.id] = label if label.name else replace(label, name=label.id)
    return LabelSet.of(found.values())


def source_labels(module: Format, source: Source) -> LabelSet:
    """The vocabulary of the data, collected from all documents when there is no file for it."""
    entries = vocabulary_entries(module, source)
    if entries is not None:
        return label_set(entries, source.bad)
    return LabelSet.of(Label(name, name) for name in collected(module, source, None, {}))


def collected(module: Format, source: Source, done: str | None, seen: dict[str, int]) -> list[str]:
    """All label ids of the documents, sorted; `done` is a split whose ids are in `seen` already.

    Every split counts, so that training and test data get the same numbers; bad rows of other splits don't matter here.
    """
    ids = set(seen)
    quiet = replace(source, bad=BadRows("skip"))
    for split in module.splits(source.path):
        if split != done:
            for row in rows_of(module, quiet, split):
                ids.update(row.labels or [])
    return sorted(ids, key=lambda name: (len(name), name) if name.isdigit() else (1 << 30, name))
