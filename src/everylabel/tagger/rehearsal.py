"""A rehearsal of what will come: documents that the experts have not read, and labels that were hidden from them.

A blend must not learn from documents that the experts have learned from: they know those by heart. And it must learn
how to place labels without training documents: some labels lose all their pairs for the rehearsal, rare ones, as labels
that nobody has used yet will be rare too. Held-out documents are the dev split if there is a large enough one; else a
part of the training documents, and of few documents each one in its turn (cross-fitting).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from everylabel.data.bands import BANDS
from everylabel.data.dataset import Dataset, LabelSet, pairs_in
from everylabel.data.enough import TO_BLEND, TO_REHEARSE
from everylabel.data.splits import of_labels, ranks, sample_by_id
from everylabel.types import Csr, LongArray

LEAST_DEV = TO_BLEND  # labelled documents of a dev split that is enough by itself
MOST_HELD = 6_000  # documents: more do not change what is learned
FOLDS = 3
LEAST_ROWS = TO_REHEARSE  # labelled documents, below which a part of them is nothing to learn from
CROSS_FITTED = 9_000  # labelled documents, up to which each one is held out once
HIDDEN_SHARE = 0.2  # of the labels that are not frequent
MOST_HIDDEN = 2_000


class Rehearsal(NamedTuple):
    """Experts learn from `train`, and are asked about the documents of `held`, whose pairs are all there."""

    train: Dataset
    held: Dataset
    hidden: LongArray
    outside: bool  # the held-out documents are none of the training documents: experts are the same but for `hidden`


def rehearsals(dataset: Dataset, dev: Dataset | None, seed: int) -> Iterator[Rehearsal]:
    """None where there is too little to hold out. Everything is drawn by ids: the order of the data does not matter."""
    if dev is not None and labelled(dev) >= LEAST_DEV:
        train, hidden = _hidden(dataset, dataset.counts, seed)
        yield Rehearsal(train, _some(in_vocabulary(dataset.labels, dev), seed), hidden, outside=True)
        return
    rows = np.flatnonzero(np.diff(dataset.required_pairs.indptr))
    for fold, held in enumerate(_folds(rows, [dataset.documents.ids[i] for i in rows], seed)):
        rest = dataset.subset(np.setdiff1d(np.arange(len(dataset)), held))
        if rest.required_pairs.nnz:
            train, hidden = _hidden(rest, dataset.counts, seed + fold)
            yield Rehearsal(train, _in_order(dataset, held), hidden, outside=False)


def n_held_out(rehearsals: Sequence[Rehearsal]) -> int:
    return sum(len(one.held) for one in rehearsals)


def labelled(dataset: Dataset) -> int:
    return 0 if dataset.pairs is None else int((np.diff(dataset.pairs.indptr) > 0).sum())


def in_vocabulary(labels: LabelSet, dataset: Dataset) -> Dataset:
    """The documents with those of their pairs that the vocabulary has, numbered as it numbers them."""
    known = Dataset(dataset.documents, labels, pairs_in(labels, dataset)[:, : len(labels)], name=dataset.name)
    return known.with_successors()[0]


def dev_of(dataset: Dataset, dev: Dataset | None) -> Dataset | None:
    """Only labels of the vocabulary can be learned from."""
    return None if dev is None or dev.pairs is None else in_vocabulary(dataset.labels, dev)


def _folds(rows: LongArray, ids: list[str], seed: int) -> list[LongArray]:
    if len(rows) < LEAST_ROWS:
        return []
    if len(rows) > CROSS_FITTED:
        return [rows[sample_by_id(ids, None, min(MOST_HELD, len(rows) // 5), seed)]]
    part = np.random.default_rng(seed).permutation(len(rows))[ranks(ids)] % FOLDS
    return [rows[part == fold] for fold in range(FOLDS)]


def _some(held: Dataset, seed: int) -> Dataset:
    rows = np.flatnonzero(np.diff(held.required_pairs.indptr))
    ids = [held.documents.ids[i] for i in rows]
    return _in_order(held, rows[sample_by_id(ids, None, min(MOST_HELD, len(rows)), seed)])


def _in_order(dataset: Dataset, rows: LongArray) -> Dataset:
    """These documents by their ids: what is drawn from them later does not depend on their order either."""
    return dataset.subset(rows[np.argsort(ranks([dataset.documents.ids[i] for i in rows]))])


def _hidden(train: Dataset, in_all: LongArray, seed: int) -> tuple[Dataset, LongArray]:
    """Training without the pairs of the hidden labels, and these. One label at least keeps its pairs.

    `in_all`: each label's documents before any was held out, which say what is frequent.
    """
    counts = train.counts
    rare = np.flatnonzero((counts > 0) & (in_all < BANDS["head"][0]))
    n = min(MOST_HIDDEN, round(HIDDEN_SHARE * len(rare)), int((counts > 0).sum()) - 1)
    chosen = rare[sample_by_id([train.labels[int(i)].id for i in rare], None, max(n, 0), seed)]
    kept: Csr = of_labels(train.required_pairs, chosen, keep=False)
    if kept.nnz == 0:
        return train, chosen[:0]
    return train.with_pairs(kept), chosen
