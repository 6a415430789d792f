"""How good a model is at each label: a table for a spreadsheet, a row a label of its vocabulary."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np

from everylabel.atomic import check_replaceable, replaced
from everylabel.data.bands import band_of
from everylabel.data.dataset import LabelSet
from everylabel.errors import ConfigError
from everylabel.workflow.evaluate import Evaluation

DELIMITERS = {".csv": ",", ".tsv": "\t"}


class LabelScore(NamedTuple):
    """Of one label: how often it was suggested rightly, wrongly, and not at all."""

    id: str
    name: str
    band: str
    train_documents: int
    true_positives: int
    false_positives: int
    false_negatives: int
    precision: float
    recall: float
    f1: float


def per_label(found: Evaluation, labels: LabelSet, *, k: int, threshold: float = 0.0) -> list[LabelScore]:
    """The best k labels of a document with at least this score are decisions. O(documents x k + labels)."""
    n, ids = len(labels), found.ranking.ids[:, :k]
    shown = (ids >= 0) & (found.ranking.scores[:, :k] >= threshold)
    hits = np.bincount(ids[shown & found.hits.hit[:, :k]], minlength=n)[:n]
    suggested = np.bincount(ids[shown], minlength=n)[:n]
    true = np.bincount(found.truth.pairs.indices, minlength=n)[:n]
    counts = found.truth.train_counts[:n]
    names = zip(labels.ids, labels.names, band_of(counts), counts.tolist(), strict=True)
    numbers = zip(hits.tolist(), (suggested - hits).tolist(), (true - hits).tolist(), strict=True)
    return [LabelScore(*name, *own, *_scores(*own)) for name, own in zip(names, numbers, strict=True)]


def _scores(hits: int, wrong: int, missed: int) -> tuple[float, float, float]:
    return (
        hits / (hits + wrong) if hits + wrong else 0.0,
        hits / (hits + missed) if hits + missed else 0.0,
        2 * hits / (2 * hits + wrong + missed) if hits + wrong + missed else 0.0,
    )


def check_table(path: Path) -> None:
    """Before any work: a name that says how it is written."""
    if path.suffix.lower() not in DELIMITERS:
        raise ConfigError(f"{path}: expected a name that ends in .csv or .tsv; give another one")
    if path.is_dir():
        raise ConfigError(f"{path} is a folder, expected a file to write to; give another name")
    check_replaceable(path)


def write_table(rows: list[LabelScore], path: Path) -> None:
    """Comma or tab between the cells, by the file's name; in the old one's place at once."""
    check_table(path)
    with replaced(path) as partial, partial.open("w", encoding="utf-8", newline="") as out:
        table = csv.writer(out, delimiter=DELIMITERS[path.suffix.lower()])
        table.writerow(LabelScore._fields)
        table.writerows((*row[:-3], *(round(value, 6) for value in row[-3:])) for row in rows)
