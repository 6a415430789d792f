"""A look at data before anything is trained on it: how much of what there is, and which rows are suspicious.

It reports rows that a reader would refuse, and never stops at them; only a file that cannot be read at all is an error.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from everylabel.data.bands import BANDS, in_band
from everylabel.data.enough import too_few
from everylabel.data.formats.layout import Layout, Options
from everylabel.data.formats.opening import open_source, rows_of, vocabulary_entries
from everylabel.data.formats.registry import Format
from everylabel.data.formats.rows import BadRows, Row, Source
from everylabel.data.overlap import content_key
from everylabel.run import QUIET, Run

QUANTILES = {"min": 0.0, "5%": 0.05, "25%": 0.25, "median": 0.5, "75%": 0.75, "95%": 0.95, "max": 1.0}
EXAMPLES = 5
FINDINGS = {  # key: what it means
    "unreadable": "rows that cannot be read",
    "empty_text": "documents with neither text, title nor features",
    "duplicate_id": "documents whose id was seen before in the same split",
    "id_in_two_splits": "documents whose id is in another split too: test data may have been trained on",
    "duplicate_text": "documents whose text was seen before in the same split",
    "text_in_two_splits": "documents whose text is in another split too: what is measured on them is too good",
    "unknown_label": "labels of documents that are not in the vocabulary",
    "duplicate_label": "labels whose id is in the vocabulary twice",
    "nameless_label": "labels without a name",
    "empty_label_id": "labels whose id is empty",
    "unlabelled": "documents without a label",
    "small_split": "parts with too few labelled documents for what they are used for",
}


@dataclass
class Finding:
    """One kind of suspicious row: how many, and the first few as `file:line: what`."""

    meaning: str
    count: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, example: str) -> None:
        self.count += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(example)


@dataclass
class SplitSummary:
    """The documents of one split; quantiles are empty where there is nothing to count."""

    n_docs: int = 0
    n_labelled: int = 0
    n_pairs: int = 0
    n_labels_used: int = 0
    labels_per_doc: dict[str, float] = field(default_factory=dict)  # of the labelled documents
    words_per_doc: dict[str, float] = field(default_factory=dict)  # title and text
    n_unseen_labels: int = 0  # labels used here that have no training pair
    n_docs_with_unseen: int = 0


@dataclass
class Inspection:
    """All that `inspect` found; `training` is the split that bands and unseen labels are counted by."""

    path: str
    format: str
    training: str
    n_labels: int
    has_vocabulary: bool
    splits: dict[str, SplitSummary]
    bands: dict[str, int]  # labels in each band, by training pairs
    pairs_per_label: dict[str, float]  # quantiles over the labels with training pairs
    n_unseen_labels: int
    findings: dict[str, Finding]

    @property
    def suspicious(self) -> dict[str, Finding]:
        """The findings that were found."""
        return {key: finding for key, finding in self.findings.items() if finding.count}

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Tally:
    """What is remembered of one split while its rows pass by."""

    labels: Counter[str] = field(default_factory=Counter)
    label_numbers: list[int] = field(default_factory=list)
    word_numbers: list[int] = field(default_factory=list)
    label_sets: list[tuple[str, ...]] = field(default_factory=list)


class Collector(BadRows):
    """Bad rows as a finding; all of them are counted."""

    def __init__(self, finding: Finding) -> None:
        super().__init__("skip")
        self.finding = finding

    def add(self, where: str, problem: str, fix: str) -> None:
        self.finding.add(f"{where}: {problem}; {fix}")


def inspect(path: Path | str, *, run: Run = QUIET, **layout: Unpack[Layout]) -> Inspection:
    """Counts, distributions and suspicious rows of a data folder or file of any known format."""
    findings = {key: Finding(meaning) for key, meaning in FINDINGS.items()}
    module, source = open_source(path, Options(**layout), Collector(findings["unreadable"]), run)
    known = vocabulary_ids(module, source, findings)
    look = Look(known, findings)
    tallies = {split: tally(module, source, split, look) for split in module.splits(source.path)}
    names = list(tallies)
    training = "train" if "train" in names or len(names) != 1 else names[0]
    counts = tallies[training].labels if training in tallies else Counter[str]()
    label_ids = known if known is not None else {label for one in tallies.values() for label in one.labels}
    summaries = {split: summary(one, counts) for split, one in tallies.items()}
    tell_small_splits(summaries, findings["small_split"])
    per_label = np.array([counts.get(label, 0) for label in label_ids], np.int64)
    return Inspection(
        path=str(path),
        format=module.NAME,
        training=training,
        n_labels=len(label_ids),
        has_vocabulary=known is not None,
        splits=summaries,
        bands={band: int(in_band(per_label, band).sum()) for band in BANDS},
        pairs_per_label=quantiles(per_label[per_label > 0].tolist()),
        n_unseen_labels=int((per_label == 0).sum()),
        findings=findings,
    )


def tell_small_splits(splits: dict[str, SplitSummary], finding: Finding) -> None:
    for name, one in splits.items():
        if problem := too_few(name, one.n_labelled):
            finding.add(problem)


def vocabulary_ids(module: Format, source: Source, findings: dict[str, Finding]) -> set[str] | None:
    entries = vocabulary_entries(module, source)
    if entries is None:
        return None
    ids: set[str] = set()
    for label, where in entries:
        if label.id in ids:
            findings["duplicate_label"].add(f"{where}: {label.id!r}")
        if not label.id.strip():
            findings["empty_label_id"].add(f"{where}: {label.name!r}")
        elif not label.name.strip():
            findings["nameless_label"].add(f"{where}: {label.id!r}")
        ids.add(label.id)
    return ids


@dataclass
class Look:
    """What rows are held against: the vocabulary's ids, and the ids and texts of all rows so far, with their places."""

    known: set[str] | None
    findings: dict[str, Finding]
    ids: dict[str, str] = field(default_factory=dict)  # "split file:line" of the first
    texts: dict[bytes, str] = field(default_factory=dict)

    def at(self, row: Row, labels: tuple[str, ...], split: str) -> None:
        key = content_key(row.title, row.text)
        if not key and (row.features is None or not len(row.features.indices)):
            self.findings["empty_text"].add(f"{row.where}: {row.id!r}")
        here = f"{split} {row.where}"
        if row.line and not numbered(row):
            self._compare(self.ids.setdefault(row.id, here), here, row, "duplicate_id", "id_in_two_splits")
        if key:
            self._compare(self.texts.setdefault(key, here), here, row, "duplicate_text", "text_in_two_splits")
        if not labels:
            self.findings["unlabelled"].add(f"{row.where}: {row.id!r}")
        for label in labels:
            if not label.strip():
                self.findings["empty_label_id"].add(f"{row.where}: a label of {row.id!r}")
            elif self.known is not None and label not in self.known:
                self.findings["unknown_label"].add(f"{row.where}: {label!r}")

    def _compare(self, before: str, here: str, row: Row, same_split: str, other_split: str) -> None:
        """`before` and `here`: the place of the first row that has the same, and of this one."""
        split, _, where = before.partition(" ")
        if before != here:
            key = same_split if here.startswith(f"{split} ") else other_split
            self.findings[key].add(f"{row.where}: {row.id!r}, as in {where}")


def tally(module: Format, source: Source, split: str, look: Look) -> Tally:
    """Counts the rows of one split, and looks at each."""
    seen = Tally()
    for row in rows_of(module, source, split):
        labels = tuple(dict.fromkeys(row.labels or ()))
        look.at(row, labels, split)
        seen.labels.update(labels)
        seen.label_numbers.append(len(labels))
        seen.label_sets.append(labels)
        if row.text or row.title:
            seen.word_numbers.append(len(row.text.split()) + len(row.title.split()))
    return seen


def numbered(row: Row) -> bool:
    """Whether the id is only the row's number, given by the reader: such ids are equal in every split."""
    return row.id in (str(row.line - 1), str(row.line - 2))


def summary(seen: Tally, training: Counter[str]) -> SplitSummary:
    unseen = {label for label in seen.labels if label not in training}
    return SplitSummary(
        n_docs=len(seen.label_numbers),
        n_labelled=sum(number > 0 for number in seen.label_numbers),
        n_pairs=sum(seen.label_numbers),
        n_labels_used=len(seen.labels),
        labels_per_doc=quantiles([number for number in seen.label_numbers if number]),
        words_per_doc=quantiles(seen.word_numbers),
        n_unseen_labels=len(unseen),
        n_docs_with_unseen=sum(not unseen.isdisjoint(labels) for labels in seen.label_sets),
    )


def quantiles(values: list[int]) -> dict[str, float]:
    if not values:
        return {}
    numbers = np.array(values, np.float64)
    found = np.quantile(numbers, list(QUANTILES.values()))
    return {**{name: float(value) for name, value in zip(QUANTILES, found, strict=True)}, "mean": float(numbers.mean())}
