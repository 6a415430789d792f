"""XMC repository, split: `{trn,tst}_X_Xf.txt` and `{trn,tst}_X_Y.txt`: the header `rows columns`, then `index:value`.

An empty line is an empty row. Label names, where given: `Y.txt`, one a line; else `Yf.txt` if it has no `Y_Yf.txt`
beside it; else a label's words of `Yf.txt`, heaviest first, by its row of `Y_Yf.txt`. Texts, where given: `trn_X.txt`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path

import numpy as np

from everylabel.data.dataset import Label
from everylabel.data.formats import vocabulary
from everylabel.data.formats.lines import lines
from everylabel.data.formats.rows import SPLIT_NAMES, Entry, Row, Source, decoded, existing, numbered_labels
from everylabel.data.formats.sparse import body, features, required_header
from everylabel.errors import DataError

NAME = "xmc-split"
NUMBERED = True
HEADER = "rows columns"
SHORT = {"train": "trn", "dev": "val", "test": "tst"}


def detect(path: Path) -> bool:
    return path.is_dir() and bool(splits(path))


def splits(path: Path) -> list[str]:
    return [split for split in SPLIT_NAMES if existing(path, f"{SHORT[split]}_X_Xf.txt")]


def read_labels(source: Source) -> Iterator[Entry] | None:
    folder = source.path
    names, words, weights = (existing(folder, name) for name in ("Y.txt", "Yf.txt", "Y_Yf.txt"))
    if names is None and weights is None:
        names = words
    if names is not None:
        return vocabulary.read_numbered(names, source.bad, source.run)
    if words is not None and weights is not None:
        return described(words, weights, source)
    pairs = (existing(folder, f"{short}_X_Y.txt") for short in SHORT.values())
    file = next((file for file in pairs if file is not None), None)
    return None if file is None else numbered_labels(required_header(file, 2, HEADER)[1], file)


def described(words: Path, weights: Path, source: Source) -> Iterator[Entry]:
    """Labels that only have features: their words are the nearest thing to a name."""
    names = [name for _, name in vocabulary.named_lines(words, source.bad, source.run)]
    width = min(required_header(weights, 2, HEADER)[1], len(names))
    for number, raw in enumerate(body(weights, source.run), 2):
        where = f"{weights.name}:{number}"
        row = features(raw, width, where, source.bad)
        if row is not None:
            heaviest = row.indices[np.argsort(-row.values, kind="stable")]
            yield Entry(Label(str(number - 2), " ".join(names[i] for i in heaviest)), where)


def read_documents(source: Source, split: str) -> Iterator[Row]:
    file = existing(source.path, f"{SHORT[split]}_X_Xf.txt")
    if file is None:
        raise DataError(f"{source.path / SHORT[split]}_X_Xf.txt: this file is missing; add it")
    pairs = existing(source.path, f"{SHORT[split]}_X_Y.txt")
    texts = existing(source.path, f"{SHORT[split]}_X.txt")
    width = required_header(file, 2, HEADER)[1]
    n_labels = required_header(pairs, 2, HEADER)[1] if pairs else 0
    label_lines: Iterable[bytes | None] = body(pairs, source.run) if pairs else ()
    text_lines: Iterable[bytes | None] = lines(texts, source.run) if texts else ()
    rows = zip_longest(body(file, source.run), label_lines, text_lines)
    for number, (raw, labelled, text) in enumerate(rows, 2):
        if raw is None or (pairs and labelled is None) or (texts and text is None):
            names = ", ".join(part.name for part in (file, pairs, texts) if part)
            raise DataError(
                f"{source.path}: expected as many rows in each of {names}; they differ from row {number - 1} on"
            )
        found = features(raw, width, f"{file.name}:{number}", source.bad)
        truth = features(labelled, n_labels, f"{pairs.name}:{number}", source.bad) if pairs and labelled else None
        content = "" if text is None or texts is None else decoded(text, f"{texts.name}:{number - 1}", source.bad)
        if found is None or content is None or (labelled and truth is None):
            continue
        labels = None if pairs is None else [str(i) for i in truth.indices[truth.values != 0]] if truth else []
        yield Row(str(number - 2), content, "", labels, found, file.name, number)
