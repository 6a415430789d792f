"""Documents that neighbours learned after a fit: beside what was fitted, which stays as it is, and put together with it
when they are an eighth of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, vstack

from everylabel import checks
from everylabel.data.columns import ranges_of
from everylabel.data.dataset import Documents
from everylabel.linear.grown_lists import GrownLists
from everylabel.linear.nearest import InvertedLists
from everylabel.text.appended import LEAST_NEW_TEXTS, Appended
from everylabel.text.features import DocumentFeatures
from everylabel.types import Csr, IntArray
from everylabel.vectors import csr_of

SHARE = 8  # of the documents that were fitted, one for so many may come before all are put together


def most_later(n_fitted: int) -> int:
    """Documents with which all are put together: so many that new words can be told, too."""
    return max(LEAST_NEW_TEXTS, -(-n_fitted // SHARE))


@dataclass(frozen=True, eq=False)
class Later:
    """What came after the documents of `lists`, each of which is its own owner."""

    read: Appended
    lists: InvertedLists
    pairs: Csr  # (documents that came later, labels)

    @classmethod
    def none(cls, features: DocumentFeatures, lists: InvertedLists) -> Later:
        return cls(Appended.none(features, len(lists.owners)), lists, csr_matrix((0, 0), dtype=np.float32))

    def __len__(self) -> int:
        return len(self.read)

    def with_documents(self, documents: Documents, pairs: Csr) -> Later:
        """And these. O(their texts + what came later before)."""
        both = vstack([widened(self.pairs, pairs.shape[1]), pairs], format="csr", dtype=np.float32)
        return Later(self.read.with_documents(documents), self.lists, both)

    @cached_property
    def grown(self) -> GrownLists:
        """All documents. Made when first asked for: O(entries of those that came later x log)."""
        return GrownLists.of(self.lists, self.read.rows)

    def merged(self, pairs: Csr) -> tuple[DocumentFeatures, InvertedLists, Csr]:
        """All as if fitted at once: features, lists and pairs, of which `pairs` are the fit's. O(nnz of all)."""
        features, rows = self.read.merged(csr_matrix(self.lists.matrix.T))
        lists = InvertedLists.of(csr_matrix(rows), compact=self.lists.weights.dtype == np.uint16)
        return features, lists, vstack([widened(pairs, self.pairs.shape[1]), self.pairs], format="csr")

    def state(self) -> dict[str, Any]:
        return self.read.state() | {"pairs": self.pairs}

    @classmethod
    def restored(cls, features: DocumentFeatures, lists: InvertedLists, state: Mapping[str, Any]) -> Later:
        return cls(Appended.restored(features, len(lists.owners), state), lists, state["pairs"])

    def check(self, n_labels: int) -> None:
        """Of those that were restored, with features and lists that hold. O(entries)."""
        checks.matrix(self.pairs, "pairs of later documents", None, None)
        n, n_known = self.pairs.shape
        checks.require(n_known <= n_labels, f"pairs of {n_known} labels for {n_labels}")
        self.read.check(n)


def widened(pairs: Csr, n_labels: int) -> Csr:
    """The same arrays, for as many labels."""
    return csr_of(pairs.data, pairs.indices, pairs.indptr, (pairs.shape[0], max(pairs.shape[1], n_labels)))


def rows_of_both(one: Csr, other: Csr, ids: IntArray) -> tuple[IntArray, Csr]:
    """The rows of two matrices, one below the other, that each row of `ids` names, in the order of their numbers; and
    where they stand, -1 where an id is. O(ids x log + entries of the rows): scipy takes ten times as long for a few."""
    order, n_one = np.argsort(ids, axis=1, kind="stable"), one.shape[0]
    taken = np.take_along_axis(ids, order, 1).ravel()
    places = np.empty_like(ids)
    np.put_along_axis(places, order, np.arange(ids.size, dtype=ids.dtype).reshape(ids.shape), 1)
    places[ids < 0] = -1
    starts, sizes = np.zeros(len(taken), np.int64), np.zeros(len(taken), np.int64)
    for part, first, last in ((one, 0, n_one), (other, n_one, n_one + other.shape[0])):
        here = np.flatnonzero((taken >= first) & (taken < last))
        rows = taken[here] - first
        starts[here] = part.indptr[rows]
        sizes[here] = part.indptr[rows + 1] - starts[here]
    of_one = np.repeat(taken < n_one, sizes)
    entries = ranges_of(starts, sizes)
    columns, values = np.empty(len(entries), np.int32), np.empty(len(entries), np.float32)
    for part, where in ((one, of_one), (other, ~of_one)):
        columns[where], values[where] = part.indices[entries[where]], part.data[entries[where]]
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    return places, csr_of(values, columns, indptr, (len(taken), max(one.shape[1], other.shape[1])))
