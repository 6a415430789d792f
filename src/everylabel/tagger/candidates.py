"""What the experts say of a document's labels, as one table: a row a candidate, columns that a blend learns from.

Candidates are the best labels of every expert, and the best of those without training documents by every expert that
can rank them: there are few of them among the best of all, and they must be there to be found. Columns of an expert:
its score, the logarithm of the rank, and the distance to its best label's score; nan where the label is not among
those that it ranks. Columns of all: the label's frequency, how many experts have it among their first, and so on; of
labels without training documents also their mean rank among each other.
Cost: O(experts x (depth log depth)) a document; memory: chunks of documents x labels, bounded by `_CELLS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everylabel.data.dataset import LabelSet
from everylabel.types import FloatArray, LongArray, Ranking

DEPTH = 600  # labels that an expert is asked for: so deep those without training documents are among them
BEST = 50  # labels of an expert that are candidates
BEST_UNSEEN = 40  # and as many of those without training documents
FIRST = 10  # ranks that count as agreement
ADDED = -1  # training documents of a label that came after the fit
LABEL_BY_LABEL = ("svm", "xr-linear", "knn")  # experts that cannot rank a label without training documents
OWN = ("score", "rank", "gap")  # columns of an expert
COMMON = (
    "frequency",
    "unseen",
    "agreement",
    "best rank",
    "mean rank",
    "name words",
    "labels named",
    "rank among unseen",
)
_CELLS = 1 << 24  # documents x labels that are there at a time


class Table(NamedTuple):
    """Row i: the document, the label, and what is known of the pair."""

    documents: LongArray
    labels: LongArray
    columns: FloatArray
    n_documents: int

    def take(self, rows: LongArray | NDArray[np.bool_]) -> Table:
        return Table(self.documents[rows], self.labels[rows], self.columns[rows], self.n_documents)

    def ranking(self, scores: FloatArray, k: int) -> Ranking:
        """The k best candidates of each document; equal scores in the order of the labels. O(rows log rows)."""
        order = np.lexsort((self.labels, -scores, self.documents))
        begins = np.searchsorted(self.documents[order], np.arange(self.n_documents))
        rank = np.arange(len(order)) - begins[self.documents[order]]
        kept = order[rank < k]
        found = Ranking.empty(self.n_documents, k)
        found.ids[self.documents[kept], rank[rank < k]] = self.labels[kept]
        found.scores[self.documents[kept], rank[rank < k]] = scores[kept]
        return found

    def with_room(self, scores: FloatArray, unseen: NDArray[np.bool_], first: int, every: int) -> FloatArray:
        """Scores by which the u-th best label of `unseen` (a mask of rows) stands at place first + every x u or before.

        Its score is raised to just above that of the label whose place it takes. O(rows log rows).
        """
        kind = 2 * self.documents + unseen
        order = np.lexsort((self.labels, -scores, kind))
        kinds = kind[order]
        place = np.arange(len(order)) - np.searchsorted(kinds, kinds)  # from 0, among its own kind
        own = unseen[order]
        taken = first + (every - 1) * (place + 1)  # how many of the others stand before it at most
        begins = np.searchsorted(kinds, kinds - 1)  # where the others of its document begin
        ends = np.searchsorted(kinds, kinds - 1, side="right")
        at = begins + taken
        found = scores[order].copy()
        lifted = own & (at < ends) & (at >= begins)
        above = np.nextafter(scores[order][np.minimum(at, len(order) - 1)], np.float32(2), dtype=np.float32)
        found[lifted] = np.maximum(found[lifted], np.minimum(above[lifted], 1))
        raised = np.empty_like(found)
        raised[order] = found
        return raised

    @classmethod
    def joined(cls, parts: Sequence[Table]) -> Table:
        """The documents of all parts, one part after the other."""
        firsts = np.cumsum([0] + [part.n_documents for part in parts])
        documents = [part.documents + first for part, first in zip(parts, firsts, strict=False)]
        labels, columns = [part.labels for part in parts], [part.columns for part in parts]
        return cls(np.concatenate(documents), np.concatenate(labels), np.concatenate(columns), int(firsts[-1]))


def column_names(experts: Sequence[str]) -> list[str]:
    return [f"{expert}: {name}" for expert in experts for name in OWN] + list(COMMON)


def tabulated(opinions: Mapping[str, Ranking], counts: LongArray, names: LongArray) -> Table:
    """`opinions`: each expert's ranking of the same documents, of which DEPTH ranks count. `counts`: training documents
    of each label, as the experts know them. `names`: words of each label's name (`name_lengths`)."""
    n_documents = next(iter(opinions.values())).n_docs
    size = max(1, _CELLS // max(len(counts), 1))
    parts = []
    for first in range(0, n_documents, size):
        at = slice(first, first + size), slice(DEPTH)
        parts.append(_table({e: Ranking(r.ids[at], r.scores[at]) for e, r in opinions.items()}, counts, names))
    return Table.joined(parts)


def name_lengths(labels: LabelSet) -> LongArray:
    return 1 + labels.names.occurrences(" ")


def _table(opinions: Mapping[str, Ranking], counts: LongArray, names: LongArray) -> Table:
    n_documents, n_labels = next(iter(opinions.values())).n_docs, len(counts)
    found = np.zeros((n_documents, n_labels), np.bool_)
    for ranking in opinions.values():
        _mark(found, ranking.top(min(BEST, ranking.k)).ids)
        _mark(found, _first_of(ranking, counts <= 0, BEST_UNSEEN))
    documents, labels = np.nonzero(found)
    places = np.full((n_documents, n_labels), -1, np.int32)
    columns, ranks = [], []
    for ranking in opinions.values():
        _put(places, ranking.ids)
        place = places[documents, labels]
        _put(places, ranking.ids, clear=True)
        there = place >= 0
        score = np.where(there, ranking.scores[documents, place], np.nan)
        rank = np.where(there, np.log1p(np.maximum(place, 0)), np.nan)
        columns += [score, rank, score - ranking.scores[documents, 0]]
        ranks.append(rank)
    able = np.array([name not in LABEL_BY_LABEL for name in opinions])
    columns += _common(np.stack(ranks), able, documents, labels, counts, names)
    readers = [ranking for ranking, reads in zip(opinions.values(), able, strict=True) if reads]
    columns.append(_among(readers, counts <= 0, documents, labels, places))
    return Table(documents, labels, np.stack(columns, axis=1).astype(np.float32), n_documents)


def _common(
    ranks: NDArray[np.float64],
    able: NDArray[np.bool_],
    documents: LongArray,
    labels: LongArray,
    counts: LongArray,
    names: LongArray,
) -> list[NDArray[np.float64]]:
    """In the order of COMMON, but for the last of them. An expert that has not ranked the label counts as one that has
    it last; of labels without training documents only those are asked that are `able` to rank them, or have learned to
    since."""
    filled = np.where(np.isnan(ranks), np.log1p(DEPTH), ranks)
    first = filled < np.log1p(FIRST)
    agreement = first.sum(axis=0)
    most = np.zeros(documents.max(initial=-1) + 1, np.int64)
    np.add.at(most, documents, agreement > len(ranks) / 2)  # how many labels most experts agree on
    n = np.maximum(counts[labels], 0)
    asked = (n > 0) | able[:, None] | ~np.isnan(ranks)
    mean = (filled * asked).sum(axis=0) / np.maximum(asked.sum(axis=0), 1)
    return [
        np.log1p(n),
        (n == 0).astype(np.float64),
        agreement.astype(np.float64),
        filled.min(axis=0),
        mean,
        names[labels].astype(np.float64),
        most[documents].astype(np.float64),
    ]


def _among(
    readers: list[Ranking],
    unseen: NDArray[np.bool_],
    documents: LongArray,
    labels: LongArray,
    places: NDArray[np.int32],
) -> NDArray[np.float64]:
    """The mean logarithm of the ranks that labels without training documents have among each other; nan of the others.

    One that a reader does not list comes after those that it lists, and not among its first BEST_UNSEEN.
    """
    rows = np.flatnonzero(unseen[labels])
    total = np.zeros(len(rows))
    for ranking in readers:
        own = Ranking(np.where((ranking.ids >= 0) & unseen[ranking.ids], ranking.ids, -1), ranking.scores)
        listed = np.cumsum(own.ids >= 0, axis=1)
        _put(places, own.ids)
        place = places[documents[rows], labels[rows]]
        _put(places, own.ids, clear=True)
        rank = np.where(
            place >= 0, listed[documents[rows], place] - 1, np.maximum(listed[documents[rows], -1], BEST_UNSEEN)
        )
        total += np.log1p(rank)
    found = np.full(len(labels), np.nan)
    found[rows] = total / len(readers) if readers else np.nan
    return found


def _mark(found: NDArray[np.bool_], ids: NDArray[np.int32]) -> None:
    rows, ranks = np.nonzero(ids >= 0)
    found[rows, ids[rows, ranks]] = True


def _put(places: NDArray[np.int32], ids: NDArray[np.int32], *, clear: bool = False) -> None:
    """The rank of each label in a scratch table; and nothing again, which is quicker than a new table."""
    rows, ranks = np.nonzero(ids >= 0)
    places[rows, ids[rows, ranks]] = -1 if clear else ranks


def _first_of(ranking: Ranking, mask: NDArray[np.bool_], n: int) -> NDArray[np.int32]:
    """The first n labels of the mask in each row, -1 elsewhere."""
    wanted = (ranking.ids >= 0) & mask[ranking.ids]
    wanted &= np.cumsum(wanted, axis=1) <= n
    return np.where(wanted, ranking.ids, -1).astype(np.int32)
