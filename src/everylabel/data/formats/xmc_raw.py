"""XMC repository, raw text: `trn|tst|lbl.json.gz`, lines {"uid", "title", "content", "target_ind", "target_rel"}.

The number of a line of `lbl.json`, from 0, is the label's id: the pairs, the filter files and published results all
count that way. Written files keep our label id as `uid`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from everylabel.data.dataset import Label
from everylabel.data.formats.json_lines import objects
from everylabel.data.formats.lines import created
from everylabel.data.formats.native import json_line
from everylabel.data.formats.rows import SPLIT_NAMES, BadRows, Entry, Row, Source, Target, existing, shown
from everylabel.errors import DataError
from everylabel.run import Run

NAME = "xmc-raw"
NUMBERED = True
SHORT = {"train": "trn", "dev": "val", "test": "tst"}


def detect(path: Path) -> bool:
    return path.is_dir() and bool(splits(path)) and existing(path, "lbl.json") is not None


def splits(path: Path) -> list[str]:
    return [split for split in SPLIT_NAMES if existing(path, f"{SHORT[split]}.json")]


def read_labels(source: Source) -> Iterator[Entry] | None:
    file = existing(source.path, "lbl.json")
    return None if file is None else entries(file, source.bad, source.run)


def entries(file: Path, bad: BadRows, run: Run) -> Iterator[Entry]:
    for number, value in objects(file, bad, run):
        title, content = value.get("title") or "", value.get("content") or ""
        where = f"{file.name}:{number}"
        if isinstance(title, str) and isinstance(content, str):
            yield Entry(Label(str(number - 1), title, content), where)
        else:
            problem = f'expected texts under "title" and "content", got {shown(title)} and {shown(content)}'
            bad.add(where, problem, "correct the line")


def read_documents(source: Source, split: str) -> Iterator[Row]:
    file = existing(source.path, f"{SHORT[split]}.json")
    if file is None:
        raise DataError(f"{source.path / SHORT[split]}.json: this file is missing; add it")
    for number, value in objects(file, source.bad, source.run):
        title, text = value.get("title") or "", value.get("content") or ""
        indices, relevance = value.get("target_ind"), value.get("target_rel")
        if isinstance(title, str) and isinstance(text, str) and are_targets(indices, relevance):
            labels = None if indices is None else relevant(indices, relevance)
            doc_id = str(value.get("uid", number - 1))
            # Data sets of titles only have no content: then the title is the text.
            yield Row(doc_id, text or title, title if text else "", labels, None, file.name, number)
        else:
            problem = 'expected texts under "title" and "content", and whole numbers under "target_ind"'
            source.bad.add(f"{file.name}:{number}", problem, "correct the line")


def are_targets(indices: object, relevance: object) -> bool:
    """Whether these are label numbers with as many values beside them; both may be missing."""
    if indices is None:
        return True
    if not isinstance(indices, list) or not all(type(index) is int and index >= 0 for index in indices):
        return False
    return relevance is None or (isinstance(relevance, list) and len(relevance) == len(indices))


def relevant(indices: list[int], relevance: list[float] | None) -> list[str]:
    if relevance is None:
        return [str(index) for index in indices]
    return [str(index) for index, value in zip(indices, relevance, strict=True) if value != 0]


def write_labels(target: Target) -> None:
    with created(target.into("lbl.json").path) as out:
        for label in target.labels.labels:
            out.write(json_line({"uid": label.id, "title": label.name, "content": label.description}))


def write_split(target: Target, split: str, rows: Iterable[Row]) -> None:
    index = target.labels.index.to_dict()
    with created(target.into(f"{SHORT[split]}.json").path) as out:
        for row in rows:
            value: dict[str, object] = {"uid": row.id, "title": row.title, "content": row.text}
            if row.labels is not None:
                value["target_ind"] = [index[label] for label in row.labels]
                value["target_rel"] = [1.0] * len(row.labels)
            out.write(json_line(value))
