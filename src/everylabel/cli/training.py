"""What `fit` and `plan` learn from: the training documents and, for a tagger, held-out ones to blend on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from everylabel.cli.output import note

if TYPE_CHECKING:
    from everylabel.data import Dataset


def load_training(data: Path, split: str, on_bad_row: Literal["error", "skip"], no_pairs: bool, quiet: bool) -> Dataset:
    """The split; the vocabulary alone where there is no split to learn from."""
    from everylabel.data import Dataset, Documents, available_splits, load_dataset, load_labels

    if split == "train" and data.is_dir() and split not in available_splits(data):
        if not quiet:
            note(f"{data} has no training documents: fitting on the vocabulary alone")
        return Dataset(Documents.of([]), load_labels(data), name=str(data))
    dataset = load_dataset(data, split, on_bad_row=on_bad_row)
    return dataset.without_pairs() if no_pairs else dataset


def few_shot(dataset: Dataset, label_share: float | None, pair_share: float | None) -> Dataset:
    from everylabel.data.splits import keep_label_share, keep_pair_share

    if label_share is not None:
        dataset = keep_label_share(dataset, label_share)[0]
    return dataset if pair_share is None else keep_pair_share(dataset, pair_share)


def with_dev(
    dataset: Dataset,
    data: Path,
    split: str,
    on_bad_row: Literal["error", "skip"],
    no_pairs: bool,
    share: float | None = None,
) -> tuple[Dataset, Dataset | None]:
    """(what a tagger is fitted on, what it blends on): see `calibrating.held_out`. Without pairs no labels are read."""
    from everylabel.cli.calibrating import held_out

    if no_pairs or (share is not None and not has_pairs(dataset)):
        return dataset, None
    return held_out(dataset, data, split, share, on_bad_row)


def has_pairs(dataset: Dataset) -> bool:
    return dataset.pairs is not None and dataset.pairs.nnz > 0
