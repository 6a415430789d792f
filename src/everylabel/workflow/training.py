"""What is learned from: the training documents, and those that are held out to blend or to calibrate on."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from everylabel.data import Dataset, Documents, LabelSet, available_splits, load_dataset, load_labels
from everylabel.data.formats.layout import Layout
from everylabel.data.formats.rows import WHOLE
from everylabel.data.splits import hold_out_documents, keep_label_share, keep_pair_share, names_alone
from everylabel.errors import ConfigError, DataError
from everylabel.run import QUIET, Run
from everylabel.workflow.doubts import doubts
from everylabel.workflow.settings import is_tagger, takes_dev
from everylabel.workflow.transform import Transform, fields_of, transformed_dataset

if TYPE_CHECKING:
    from everylabel.data.formats.rows import OnBadRow
    from everylabel.methods.base import Method

TRAIN, DEV = "train", "dev"


@dataclass(frozen=True)
class TrainingData:
    """`train` is fitted on, a tagger blends on `dev`, any other method's scores become probabilities on `held_out`.

    One that chooses settings on a dev split has the same documents as both: of its fit they decide a number or two.
    """

    train: Dataset
    dev: Dataset | None = None
    held_out: Dataset | None = None


@dataclass(frozen=True, kw_only=True)
class TrainingSource:
    """Which data to learn from, and how much of them."""

    data: Path
    split: str = TRAIN
    no_pairs: bool = False  # do not look at the documents' labels
    label_share: float | None = None  # few-shot: the pairs of a random share of the labels
    pair_share: float | None = None  # few-shot: a random share of all pairs
    held_out_share: float | None = None  # of the documents, to be held out instead of the dev split
    names_only: bool = False  # labels are read by their names alone
    on_bad_row: OnBadRow = "error"
    layout: Layout = field(default_factory=Layout)
    transforms: tuple[Transform, ...] = ()  # of the texts, as they will be tagged

    def __post_init__(self) -> None:
        if self.held_out_share is not None and not 0 < self.held_out_share < 1:
            raise ConfigError(
                f"the share of documents to be held out must be above 0 and below 1, as some are fitted on and some "
                f"calibrated on; got {self.held_out_share:g}: give --calibrate-share 0.1, for example"
            )

    def read(self, method: Method, *, calibrated: bool = True, run: Run = QUIET) -> TrainingData:
        """For this method; `calibrated`: whether its scores are to become probabilities."""
        found = self.parts(self.few_shot(self.read_documents(run)), method, calibrated, run)
        held_out = {} if self.held_out_share is not None else {DEV: found.dev or found.held_out}
        for doubt in doubts({self.split: found.train} | held_out, blended=is_tagger(method)):
            run.say(doubt)
        return found

    def parts(self, dataset: Dataset, method: Method, calibrated: bool, run: Run) -> TrainingData:
        if is_tagger(method):
            if self.no_pairs or (self.held_out_share is not None and not has_pairs(dataset)):
                return TrainingData(dataset)
            train, dev = self.hold_out(dataset, run)
            return TrainingData(train, dev=dev)
        tried = takes_dev(method)
        if not (calibrated or tried) or not has_pairs(dataset):
            return TrainingData(dataset)
        train, held_out = self.hold_out(dataset, run)
        return TrainingData(train, dev=held_out if tried else None, held_out=held_out if calibrated else None)

    def read_documents(self, run: Run = QUIET) -> Dataset:
        """The split; the vocabulary alone where there is no split to learn from."""
        if self.split == TRAIN and self.has_vocabulary_alone():
            run.say(f"{self.data} has no training documents: fitting on the vocabulary alone")
            labels = load_labels(self.data, on_bad_row=self.on_bad_row, run=run, **self.layout)
            dataset = Dataset(Documents.of([]), labels, name=str(self.data))
        else:
            dataset = self.load(self.split, run)
        if not len(dataset.labels):
            raise DataError(
                f"{self.data}: expected labels, and there are none: no document has one, and there is no vocabulary; "
                "name the column that has them with --label-column, or a vocabulary with --vocabulary"
            )
        dataset = names_alone(dataset) if self.names_only else dataset
        return dataset.without_pairs() if self.no_pairs else dataset

    def load(self, split: str, run: Run, labels: LabelSet | None = None) -> Dataset:
        layout: Layout = {**self.layout, "fields": fields_of(self.transforms)}
        dataset = load_dataset(self.data, split, on_bad_row=self.on_bad_row, labels=labels, run=run, **layout)
        return transformed_dataset(dataset, self.transforms)

    def has_vocabulary_alone(self) -> bool:
        """A folder without a training split, or a vocabulary's file. Any other file is a training split."""
        names = available_splits(self.data, **self.layout)
        return not names or (self.data.is_dir() and names != [WHOLE] and TRAIN not in names)

    def few_shot(self, dataset: Dataset) -> Dataset:
        if self.label_share is not None:
            dataset = keep_label_share(dataset, self.label_share)[0]
        return dataset if self.pair_share is None else keep_pair_share(dataset, self.pair_share)

    def hold_out(self, dataset: Dataset, run: Run = QUIET) -> tuple[Dataset, Dataset | None]:
        """(what to fit on, what is held out): a share of the documents, else the dev split if it has labels."""
        if self.held_out_share is not None:
            train, held_out = hold_out_documents(dataset, share=self.held_out_share)
            if not has_pairs(train):
                raise DataError(
                    f"{self.data}: a share of {self.held_out_share:g} holds out {len(held_out):,} of {len(dataset):,} "
                    "documents, and no labelled one is left to fit on; hold out a smaller share, or none"
                )
            return train, held_out
        if self.split == DEV or not self.data.is_dir() or DEV not in available_splits(self.data, **self.layout):
            return dataset, None
        dev = self.load(DEV, run, dataset.labels)
        return dataset, dev if has_pairs(dev) else None


def has_pairs(dataset: Dataset) -> bool:
    return dataset.pairs is not None and dataset.pairs.nnz > 0
