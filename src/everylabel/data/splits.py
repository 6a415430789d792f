"""Seeded splits of a data set: documents held out, labels made unseen, few-shot subsets, names alone.

The same seed gives the same split. Documents are drawn in the order of their ids, and labels in the order of theirs,
so a split does not depend on the order of the rows. The few-shot subsets are those of MACLR (Xiong et al.,
Extreme Zero-Shot Learning for Extreme Text Classification, 2022): section 5.3 and tables 3 and 4 keep all pairs of a
share of the labels; the appendix and tables 6 and 7 keep a share of all pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_matrix

from everylabel.data.dataset import Dataset, LabelSet
from everylabel.data.label import Label
from everylabel.errors import ConfigError
from everylabel.types import Csr, LongArray


def hold_out_documents(
    dataset: Dataset, share: float | None = None, count: int | None = None, seed: int = 0
) -> tuple[Dataset, Dataset]:
    """(training, held out); both keep the order of the rows."""
    chosen = sample_by_id(dataset.documents.ids, share, count, seed)
    held = np.zeros(len(dataset), bool)
    held[chosen] = True
    return dataset.subset(np.flatnonzero(~held)), dataset.subset(np.flatnonzero(held))


def hold_out_labels(
    dataset: Dataset, share: float | None = None, count: int | None = None, seed: int = 0
) -> tuple[Dataset, LongArray]:
    """Zero-shot: the chosen labels lose all their pairs. Drawn among the labels that have any; indices, sorted.

    The documents stay, also those left without a label; their texts may be used, as the labels' names may.
    """
    seen = np.flatnonzero(dataset.counts)
    chosen = seen[sample_by_id([dataset.labels.ids[i] for i in seen.tolist()], share, count, seed)]
    return dataset.with_pairs(of_labels(dataset.required_pairs, chosen, keep=False)), chosen


def keep_label_share(dataset: Dataset, share: float, seed: int = 0) -> tuple[Dataset, LongArray]:
    """Few-shot by labels (MACLR, tables 3 and 4): all pairs of a share of the whole label set, and no others."""
    chosen = sample_by_id(dataset.labels.ids, share, None, seed)
    return dataset.with_pairs(of_labels(dataset.required_pairs, chosen, keep=True)), chosen


def keep_pair_share(dataset: Dataset, share: float, seed: int = 0) -> Dataset:
    """Few-shot by pairs (MACLR, tables 6 and 7): a share of all (document, label) pairs, drawn uniformly."""
    pairs = dataset.required_pairs.tocoo()
    rows, columns = ranks(dataset.documents.ids)[pairs.row], ranks(dataset.labels.ids)[pairs.col]
    order = np.lexsort((columns, rows))  # by the ids, so that the order of rows and labels does not matter
    chosen = order[np.random.default_rng(seed).choice(len(order), size_of(len(order), share, None), replace=False)]
    kept = (pairs.data[chosen], (pairs.row[chosen], pairs.col[chosen]))
    return dataset.with_pairs(csr_matrix(kept, shape=pairs.shape))


def names_alone(dataset: Dataset) -> Dataset:
    """Labels without alternative names, descriptions and other languages, as most published systems read them."""
    both = zip(dataset.labels.ids, dataset.labels.names, strict=True)
    return replace(dataset, labels=LabelSet.of(Label(label_id, name) for label_id, name in both))


def in_order_of_ids(dataset: Dataset) -> Dataset:
    """Documents and labels sorted by their ids, so that what is drawn at random does not depend on their order."""
    rows, columns = np.argsort(ranks(dataset.documents.ids)), np.argsort(ranks(dataset.labels.ids))
    pairs = None if dataset.pairs is None else dataset.pairs[rows][:, columns]
    return replace(
        dataset, documents=dataset.documents.subset(rows), labels=dataset.labels.subset(columns), pairs=pairs
    )


def of_labels(pairs: Csr, chosen: LongArray, keep: bool) -> Csr:
    """The pairs of the chosen labels only, or those of all others."""
    mask = np.full(pairs.shape[1], not keep)
    mask[chosen] = keep
    kept = pairs.copy()
    kept.data *= mask[kept.indices]
    kept.eliminate_zeros()
    return kept


def sample_by_id(ids: Sequence[str], share: float | None, count: int | None, seed: int) -> LongArray:
    """Sorted positions of a random part of the ids."""
    order = np.argsort(ranks(ids), kind="stable")
    size = size_of(len(ids), share, count)
    return np.sort(order[np.random.default_rng(seed).choice(len(ids), size, replace=False)]).astype(np.int64)


def ranks(ids: Sequence[str]) -> LongArray:
    """Each id's place in the sorted ids; equal ids stand in the order of their rows."""
    ids = list(ids)  # of a column: each text is decoded once, not at each comparison
    places = np.empty(len(ids), np.int64)
    places[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
    return places


def size_of(total: int, share: float | None, count: int | None) -> int:
    """A number from a share (rounded, at least one of a share above 0) or a count; exactly one must be given."""
    if (share is None) == (count is None):
        raise ConfigError(f"give either a share or a count, got share={share} and count={count}")
    if share is not None:
        if not 0 <= share <= 1:
            raise ConfigError(f"a share must be between 0 and 1, got {share}")
        return min(total, max(round(share * total), 1 if share > 0 else 0))
    assert count is not None
    if not 0 <= count <= total:
        raise ConfigError(f"a count must be between 0 and {total}, as many as there are; got {count}")
    return count
