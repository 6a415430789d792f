"""LibMultiLabel: `[id<TAB>]label label<TAB>text`, nothing quoted; `train.txt`, `valid.txt`, `test.txt`.

Whether there is an id is told by the fewest tabs of the first lines, as a text may hold tabs of its own. The labels
are collected from the documents unless a vocabulary lies in the folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from everylabel.data.formats import native, vocabulary
from everylabel.data.formats.attentionxml import spaced
from everylabel.data.formats.lines import created, first_lines, lines
from everylabel.data.formats.rows import Row, Source, Target, decoded, shown, split_file, split_files, suffix_of
from everylabel.data.formats.vocabulary import one_line

NAME = "libmultilabel"
NUMBERED = False
SUFFIXES = (".txt", ".tsv")
SAMPLED = 100  # lines looked at to count the columns

read_labels = vocabulary.found_labels


def detect(path: Path) -> bool:
    if path.is_file():
        return suffix_of(path) in SUFFIXES and fewest_tabs(path) > 0
    return any(fewest_tabs(file) > 0 for file in split_files(path, SUFFIXES).values())


def fewest_tabs(path: Path) -> int:
    return min((line.count("\t") for line in first_lines(path, SAMPLED)), default=0)


def splits(path: Path) -> list[str]:
    return list(split_files(path, SUFFIXES))


def read_documents(source: Source, split: str) -> Iterator[Row]:
    file = split_file(source.path, split, split_files(source.path, SUFFIXES))
    n_columns = 3 if fewest_tabs(file) > 1 else 2
    for number, raw in enumerate(lines(file, source.run), 1):
        where = f"{file.name}:{number}"
        line = decoded(raw, where, source.bad)
        if not line:
            continue
        cells = line.split("\t", n_columns - 1)
        if len(cells) != n_columns:
            problem = f"expected {'id<TAB>' if n_columns == 3 else ''}labels<TAB>text, got {shown(line)}"
            source.bad.add(where, problem, "correct the line")
            continue
        doc_id = cells[0] if n_columns == 3 else str(number - 1)
        yield Row(doc_id, cells[-1], "", cells[-2].split(), None, file.name, number)


def write_labels(target: Target) -> None:
    native.write_labels(target)


def write_split(target: Target, split: str, rows: Iterable[Row]) -> None:
    write_file(target.into(f"{'valid' if split == 'dev' else split}.txt"), rows)


def write_file(target: Target, rows: Iterable[Row]) -> None:
    with created(target.path) as out:
        for row in rows:
            out.write(f"{one_line(row.id)}\t{spaced(row, NAME)}\t{one_line(row.full_text)}\n".encode())
