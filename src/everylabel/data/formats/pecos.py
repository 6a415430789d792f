"""PECOS: `X.trn.txt` (one text a line), `Y.trn.npz` (csr), `output-items.txt` (one label name a line).

Published archives (xmc-base) have TF-IDF beside the texts, `tfidf-attnxml/X.trn.npz` (csr): what published results of
XR-Linear, XR-Transformer and MatchXML were trained on. They are read where their folder is named (--features): a model
that was fitted with them can only rank documents that have them, too.

Also text2text files, `0,1<TAB>text` or `0:0.5,1:1.0<TAB>text`, with `output-items.txt` beside them. Labels are
numbered from 0 by their line in `output-items.txt`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix, load_npz, save_npz

from everylabel.data.dataset import pairs_from_lists
from everylabel.data.formats import vocabulary
from everylabel.data.formats.limits import check_zip
from everylabel.data.formats.lines import created, first_lines, lines, opened
from everylabel.data.formats.rows import (
    SPLIT_NAMES,
    Entry,
    Features,
    Row,
    Source,
    Target,
    decoded,
    existing,
    numbered_labels,
    shown,
    split_file,
    split_files,
)
from everylabel.data.formats.vocabulary import one_line
from everylabel.errors import DataError
from everylabel.types import Csr

NAME = "pecos"
NUMBERED = True
SHORT = {"train": "trn", "dev": "val", "test": "tst"}
ITEMS = "output-items.txt"


def detect(path: Path) -> bool:
    if path.is_dir():
        return bool(matrix_splits(path)) or (existing(path, ITEMS) is not None and bool(split_files(path, (".txt",))))
    return existing(path.parent, ITEMS) is not None and any("\t" in line for line in first_lines(path))


def matrix_splits(path: Path) -> list[str]:
    if not path.is_dir():
        return []
    return [split for split in SPLIT_NAMES if existing(path, f"X.{SHORT[split]}.txt")]


def splits(path: Path) -> list[str]:
    return matrix_splits(path) or list(split_files(path, (".txt",)))


def read_labels(source: Source) -> Iterator[Entry] | None:
    folder = source.path if source.path.is_dir() else source.path.parent
    items = existing(folder, ITEMS)
    if items is not None:
        return vocabulary.read_numbered(items, source.bad, source.run)
    for split in matrix_splits(folder):
        file = folder / f"Y.{SHORT[split]}.npz"
        if file.is_file():
            return numbered_labels(read_npz(file).shape[1], file)
    return None


def read_documents(source: Source, split: str) -> Iterator[Row]:
    if split in matrix_splits(source.path):
        return read_matrix(source, split)
    if source.options.features is not None:
        raise DataError(f"{source.path}: --features needs texts as X.trn.txt, with features in a folder beside them")
    return read_text2text(source, split_file(source.path, split, split_files(source.path, (".txt",))))


def read_matrix(source: Source, split: str) -> Iterator[Row]:
    file = existing(source.path, f"X.{SHORT[split]}.txt") or source.path
    truth = source.path / f"Y.{SHORT[split]}.npz"
    pairs = read_npz(truth) if truth.is_file() else None
    ready = read_features(source, split)
    number = 0
    for number, raw in enumerate(lines(file, source.run), 1):
        if any(matrix is not None and number > matrix.shape[0] for matrix in (pairs, ready)):
            break
        text = decoded(raw, f"{file.name}:{number}", source.bad)
        if text is not None:
            labels = None if pairs is None else [str(i) for i in pairs[number - 1].indices]
            own = None if ready is None else feature_row(ready, number - 1)
            yield Row(str(number - 1), text, "", labels, own, file.name, number)
    for matrix, name in ((pairs, truth.name), (ready, f"{source.options.features}/X.{SHORT[split]}.npz")):
        if matrix is not None and number != matrix.shape[0]:
            raise DataError(
                f"{file}: expected {matrix.shape[0]} lines, as {name} has rows; got another number: align them"
            )


def read_features(source: Source, split: str) -> Csr | None:
    """The ready features of a split's documents, if they are asked for."""
    if source.options.features is None:
        return None
    file = source.path / source.options.features / f"X.{SHORT[split]}.npz"
    if not file.is_file():
        raise DataError(f"{file}: expected the features of the {split} documents, and there is no such file")
    return csr_matrix(read_npz(file), dtype=np.float32)


def feature_row(matrix: Csr, row: int) -> Features:
    at = slice(matrix.indptr[row], matrix.indptr[row + 1])
    return Features(matrix.indices[at].astype(np.int32), matrix.data[at], matrix.shape[1])


def read_npz(file: Path) -> Csr:
    """A sparse matrix; scipy and numpy never unpickle here, so a hostile file cannot run code."""
    try:
        with opened(file) as (raw, content):
            if content is raw:
                check_zip(raw)
            matrix = csr_matrix(load_npz(content))
        matrix.eliminate_zeros()
        matrix.check_format(full_check=True)
    except DataError:
        raise
    except Exception as error:  # a damaged archive fails in zipfile, zlib, numpy or scipy, each in its own way
        raise DataError(
            f"{file}: expected a sparse matrix saved by scipy.sparse.save_npz ({error}); save it again"
        ) from error
    return matrix


def read_text2text(source: Source, file: Path) -> Iterator[Row]:
    for number, raw in enumerate(lines(file, source.run), 1):
        where = f"{file.name}:{number}"
        line = decoded(raw, where, source.bad)
        if not line:
            continue
        numbers, tab, text = line.partition("\t")
        try:
            labels = [label for label in map(relevant, numbers.split(",")) if label] if numbers.strip() else []
        except ValueError:
            tab = ""
        if tab:
            yield Row(str(number - 1), text, "", labels, None, file.name, number)
        else:
            source.bad.add(
                where, f"expected 'label,label<TAB>text' with numbers for labels, got {shown(line)}", "correct it"
            )


def relevant(item: str) -> str:
    """The label of `7` or `7:0.5`; empty when its relevance is 0."""
    label, _, relevance = item.partition(":")
    if int(label) < 0:
        raise ValueError(label)
    return str(int(label)) if not relevance or float(relevance) != 0 else ""


def write_labels(target: Target) -> None:
    vocabulary.write_names(Target(target.path / ITEMS, target.labels, target.options))


def write_split(target: Target, split: str, rows: Iterable[Row]) -> None:
    """Texts are streamed; only the pairs are held until the matrix can be written."""
    index, truth = target.labels.index.to_dict(), []
    with created(target.path / f"X.{SHORT[split]}.txt") as out:
        for row in rows:
            out.write(one_line(row.full_text).encode() + b"\n")
            truth.append(np.array([index[label] for label in row.labels or []], np.int32))
    save_npz(target.path / f"Y.{SHORT[split]}.npz", pairs_from_lists(truth, len(target.labels)))
