"""XMC repository, bag of words: the header `documents features labels`, then `l1,l2 f:v f:v`, numbered from 0.

Rows without labels start with a space. There are no texts: the features stand in for them. Label names are taken from
a `Yf.txt` of one name a line, where there is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from everylabel.data.formats import vocabulary
from everylabel.data.formats.lines import created
from everylabel.data.formats.rows import (
    SPLIT_NAMES,
    Entry,
    Row,
    Source,
    Target,
    existing,
    numbered_labels,
    shown,
    split_file,
    split_files,
    split_of,
    stem_of,
    suffix_of,
)
from everylabel.data.formats.sparse import body, features, header, required_header, written
from everylabel.errors import DataError

NAME = "xmc-bow"
NUMBERED = True
HEADER = "documents features labels"


def detect(path: Path) -> bool:
    if path.is_file():
        return suffix_of(path) == ".txt" and header(path, 3) is not None
    return any(header(file, 3) is not None for file in files(path).values())


def files(path: Path) -> dict[str, Path]:
    """Also names such as eurlex_train.txt, as they are in the repository's archives."""
    if path.is_file():
        return split_files(path, (".txt",))
    named: dict[str, Path] = {}
    for file in sorted(path.glob("*.txt*")):
        split = split_of(stem_of(file).rsplit("_", 1)[-1])
        if split and suffix_of(file) == ".txt":
            named.setdefault(split, file)
    return {split: named[split] for split in SPLIT_NAMES if split in named}


def splits(path: Path) -> list[str]:
    return list(files(path))


def read_labels(source: Source) -> Iterator[Entry] | None:
    folder = source.path if source.path.is_dir() else source.path.parent
    names = existing(folder, "Yf.txt")
    if names is not None:
        return vocabulary.read_numbered(names, source.bad, source.run)
    file = next(iter(files(source.path).values()))
    return numbered_labels(required_header(file, 3, HEADER)[2], file)


def read_documents(source: Source, split: str) -> Iterator[Row]:
    file = split_file(source.path, split, files(source.path))
    _, width, n_labels = required_header(file, 3, HEADER)
    for number, raw in enumerate(body(file, source.run), 2):
        if not raw:  # a blank line: even a row without labels and features has its space
            continue
        where = f"{file.name}:{number}"
        first, _, rest = raw.partition(b" ")
        if b":" in first:
            first, rest = b"", raw
        labels = [label.decode("ascii", "replace") for label in first.split(b",")] if first else []
        unknown = next((label for label in labels if not label.isdigit() or int(label[:19]) >= n_labels), None)
        if unknown is not None:
            source.bad.add(where, f"expected labels from 0 to {n_labels - 1}, got {shown(unknown)}", "correct the line")
            continue
        found = features(rest, width, where, source.bad)
        if found is not None:
            yield Row(str(number - 2), "", "", [str(int(label)) for label in labels], found, file.name, number)


def write_labels(target: Target) -> None:
    vocabulary.write_names(target.into("Yf.txt"))


def write_split(target: Target, split: str, rows: Iterable[Row]) -> None:
    write_file(target.into(f"{split}.txt"), rows)


def write_file(target: Target, rows: Iterable[Row]) -> None:
    """The header needs the number of rows, so the rows are held as text until all are known."""
    index = target.labels.index.to_dict()
    width, packed = 0, []
    for row in rows:
        if row.features is None:
            raise DataError(
                f"{row.where}: a bag of words has only features, and this row has a text; "
                "convert texts to another format, e.g. --to native"
            )
        width = max(width, row.features.width)
        labels = ",".join(str(index[label]) for label in row.labels or [])
        packed.append(labels.encode() + b" " + written(row.features.indices.tolist(), row.features.values.tolist()))
    with created(target.path) as out:
        out.write(f"{len(packed)} {width} {len(target.labels)}\n".encode())
        out.writelines(line + b"\n" for line in packed)
