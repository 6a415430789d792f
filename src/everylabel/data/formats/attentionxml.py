"""AttentionXML and LightXML: `train_texts.txt` (or, preferred, `train_raw_texts.txt`) and `train_labels.txt`.

`/SEP/` stands between title and body. Labels are words separated by spaces; there is no vocabulary of its own, so the
labels are collected from the documents unless a vocabulary lies in the folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path

from everylabel.data.formats import native, vocabulary
from everylabel.data.formats.lines import created, lines
from everylabel.data.formats.rows import SPLIT_NAMES, Entry, Row, Source, Target, decoded, existing
from everylabel.data.formats.vocabulary import one_line
from everylabel.errors import DataError

NAME = "attentionxml"
NUMBERED = False
SEPARATOR = "/SEP/"


def detect(path: Path) -> bool:
    return path.is_dir() and bool(splits(path))


def part(folder: Path, split: str, *kinds: str) -> Path | None:
    names = (f"{name}_{kind}.txt" for kind in kinds for name in SPLIT_NAMES[split])
    return next((file for file in (existing(folder, name) for name in names) if file is not None), None)


def splits(path: Path) -> list[str]:
    return [split for split in SPLIT_NAMES if part(path, split, "raw_texts", "texts")]


def read_labels(source: Source) -> Iterator[Entry] | None:
    return vocabulary.found_labels(source)


def read_documents(source: Source, split: str) -> Iterator[Row]:
    texts, truth = part(source.path, split, "raw_texts", "texts"), part(source.path, split, "labels")
    if texts is None:
        raise DataError(f"{source.path / split}_texts.txt: this file is missing; add it")
    label_lines: Iterable[bytes | None] = lines(truth, source.run) if truth else ()
    for number, (raw, labelled) in enumerate(zip_longest(lines(texts, source.run), label_lines), 1):
        if raw is None or (truth and labelled is None):
            raise DataError(
                f"{texts}: expected as many lines as in {truth.name if truth else 'the labels'}; "
                f"they differ from line {number} on: align them"
            )
        content = decoded(raw, f"{texts.name}:{number}", source.bad)
        words = decoded(labelled, f"{truth.name}:{number}", source.bad) if truth and labelled is not None else ""
        if content is None or words is None:
            continue
        title, separator, body = content.partition(SEPARATOR)
        labels = words.split() if truth else None
        text = body if separator else content
        yield Row(str(number - 1), text.strip(), title.strip() if separator else "", labels, None, texts.name, number)


def write_labels(target: Target) -> None:
    native.write_labels(target)


def write_split(target: Target, split: str, rows: Iterable[Row]) -> None:
    texts, truth = target.into(f"{split}_texts.txt"), target.into(f"{split}_labels.txt")
    with created(texts.path) as text_out, created(truth.path) as label_out:
        for row in rows:
            title = f"{one_line(row.title)}{SEPARATOR}" if row.title else ""
            text_out.write(f"{title}{one_line(row.text)}\n".encode())
            label_out.write(spaced(row, NAME).encode() + b"\n")


def spaced(row: Row, format_name: str) -> str:
    """Labels with a space between them, for formats whose labels are words."""
    split = next((label for label in row.labels or [] if len(label.split()) != 1), None)
    if split is not None:
        raise DataError(
            f"{row.where}: {format_name} separates labels by spaces, and the label id {split!r} has one; "
            "convert to another format, e.g. --to native or --to csv"
        )
    return " ".join(row.labels or [])
