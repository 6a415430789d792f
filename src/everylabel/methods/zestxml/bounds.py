"""What keeps `zestxml` small, however many labels and documents there are: bounds, and what is left out at them.

From `MANY_LABELS` labels on the table has at most `MOST_ENTRIES` entries, and the label features and labels that a
document leads to are limited; fewer labels are read as exactly as ever. Memory at all bounds, reckoned and not
measured: some 3 GB in a fit, 0.6 GB in a model, beside the words of the documents.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everylabel.types import Csr, LongArray

MOST_DOCUMENTS = 500_000  # that are learned from: a pass over as many pairs takes minutes on one core
MOST_LABEL_WORDS = 2_000_000  # each has a row in the table, a hash and a name: some 200 bytes without its entries
MOST_WORDS_OF_A_LABEL = 32  # of a long description those that are rarest; names have fewer
MOST_ENTRIES = 64_000_000  # of the table: 0.5 GB, and twice as much while it is learned
MOST_FEATURES_OF_A_WORD = 1_000  # label features that one document word leads to, those that it says most about
MOST_LABELS_OF_A_FEATURE = 1_000  # that a label word leads to, those whose name it is the greatest part of
MOST_PAIRS = 10_000_000  # of a fit, as planned: those of as many documents, with twenty labels each
MOST_TRUE_LABELS = 100  # of a document that are expected among its best; the more, the deeper every document is ranked


class Limits(NamedTuple):
    """Of what a document looks at among very many labels."""

    walked: int  # label features whose labels it looks at
    visits: int  # labels, as often as they come up
    shortlist: int  # labels that are scored with all of their words, at least


AS_GOOD_AS_ALL = Limits(4_096, 100_000, 1_000)  # about a millisecond
TO_LEARN_FROM = Limits(512, 10_000, 100)  # wrong labels to learn from need not be the very best of them
FEATURES_TO_LEARN_FROM = 200  # of a document word, for these


def sampled_documents(pairs: Csr, most: int, rng: np.random.Generator) -> LongArray:
    """Which documents are learned from, ascending: of each label as many as there is room for, so that rare ones keep
    theirs; those without labels last. All, where there are no more than `most`. O(pairs log pairs)."""
    n_docs = pairs.shape[0]
    if n_docs <= most:
        return np.arange(n_docs)
    order = rng.permutation(n_docs)
    shuffled = pairs[order]
    by_label = np.argsort(shuffled.indices, kind="stable")
    counts = np.bincount(shuffled.indices, minlength=pairs.shape[1])
    place_in_label = np.empty(shuffled.nnz, np.int64)
    place_in_label[by_label] = np.arange(shuffled.nnz) - np.repeat(np.cumsum(counts) - counts, counts)
    turns = np.full(n_docs, n_docs)
    labelled = np.diff(shuffled.indptr) > 0
    if labelled.any():
        turns[labelled] = np.minimum.reduceat(place_in_label, shuffled.indptr[:-1][labelled])
    return np.sort(order[np.argsort(turns, kind="stable")[:most]])


def affordable_entries(longest: NDArray[np.int64], wanted: int, most: int) -> int:
    """The largest length of a row, at least 1 and at most `wanted`, so that all have at most `most` entries together;
    `longest`: how many each could have. O(rows log wanted)."""
    low, high = 1, wanted
    while low < high:
        middle = (low + high + 1) // 2
        if int(np.minimum(longest, middle).sum()) <= most:
            low = middle
        else:
            high = middle - 1
    return low
