"""What a method is shown of a data set: all of it, some documents, a share of the pairs, or labels without theirs.

Also the rankings that were made of it: kept in benchmarks/work, for comparisons and for rows that are made of others.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.record import WORK

if TYPE_CHECKING:
    from everylabel.data import Dataset
    from everylabel.types import LongArray, Ranking

DROPPED = 500  # labels that lose all their pairs


def load_train(folder: Path) -> Dataset:
    """The training documents; the vocabulary alone of a data set without any."""
    from everylabel.data import Dataset, Documents, available_splits, load_dataset, load_labels

    if "train" in available_splits(folder):
        return load_dataset(folder, "train")
    return Dataset(Documents.of([]), load_labels(folder), name=folder.name)


def some(data: Dataset, n: int) -> Dataset:
    """So many documents, drawn at random, always the same."""
    import numpy as np

    return data if n >= len(data) else data.subset(np.sort(np.random.default_rng(0).permutation(len(data))[:n]))


def supervised(train: Dataset, row: dict[str, Any], seed: int) -> Dataset:
    """What a row's method gets to see: `documents` (a number), of the pairs `none`, a share, or all but those of
    `dropped` labels, and of the labels their `names` alone.

    The documents are the same for every seed; the few-shot shares are drawn anew with each.
    """
    from everylabel.data.splits import keep_label_share, keep_pair_share, names_alone

    train = some(train, row.get("documents", len(train)))
    if row.get("texts") == "names":
        train = names_alone(train)
    if "dropped" in row:
        return with_dropped_labels(train, row["dropped"])[0]
    if "label_share" in row:
        return keep_label_share(train, row["label_share"], seed)[0]
    if "pair_share" in row:
        return keep_pair_share(train, row["pair_share"], seed)
    return train.without_pairs() if row.get("pairs") == "none" else train


def counted(train: Dataset, row: dict[str, Any], seed: int) -> Dataset:
    """What bands, propensities and unseen labels go by: all training pairs, or those that the row's method was shown.

    The latter where labels are `dropped`, and where the row says `bands = "shown"`.
    """
    return supervised(train, row, seed) if "dropped" in row or row.get("bands") == "shown" else train


def with_dropped_labels(train: Dataset, draw: int) -> tuple[Dataset, LongArray]:
    """500 labels without their pairs, and which these are; another draw, other labels."""
    from everylabel.data.splits import hold_out_labels

    return hold_out_labels(train, count=DROPPED, seed=draw)


def ranking_path(name: str) -> Path:
    return WORK / "rankings" / f"{Path(name).name}.npz"


def keep_ranking(name: str, ranking: Ranking) -> None:
    import numpy as np

    path = ranking_path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, ids=ranking.ids, scores=ranking.scores)


def read_ranking(path: Path) -> Ranking:
    import numpy as np

    from everylabel.types import Ranking

    with np.load(path) as kept:
        return Ranking(kept["ids"], kept["scores"])
