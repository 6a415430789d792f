"""What the experts say of a document's labels, as one table: a row a candidate, columns that a blend learns from.

Candidates are the best labels of every expert, and the best of those without training documents by every expert that
can rank them: there are few of them among the best of all, and they must be there to be found. Columns of an expert:
its score, the logarithm of the rank, and the distance to its best label's score; nan where the label is not among
those that it ranks. Columns of all: the label's frequency, how many experts have it among their first, and so on; of
unseen labels also their mean rank among each other; and the log odds that other corpora give (prior.py). An expert that
has not ranked a label counts as one that has it last; of unseen labels only those are asked that can rank them, or have
learned to since.
Cost: O(experts x ranks asked for) a document, however many labels there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everylabel.data.dataset import LabelSet
from everylabel.methods.traits import DEEP
from everylabel.parallel import for_each_part
from everylabel.types import FloatArray, IntArray, LongArray, Ranking

BEST = 50  # labels of an expert that are candidates
BEST_UNSEEN = 40  # and as many of those without training documents
FIRST = 10  # ranks that count as agreement
ADDED = -1  # training documents of a label that came after the fit
PRIOR = "prior"  # an opinion that is no expert's: a column of its own, of log odds
LEAST_ODDS = -9.0  # logarithms, of a label that the prior has not ranked
EXPERT_COLUMNS = ("score", "rank", "gap")
SHARED_COLUMNS = (
    "frequency",
    "unseen",
    "agreement",
    "best rank",
    "mean rank",
    "name words",
    "labels named",
    "rank among unseen",
    PRIOR,
)
BoolArray = NDArray[np.bool_]


class CandidateTable(NamedTuple):
    """Row i: the document, the label, and what is known of the pair. Documents in their order, their labels sorted."""

    documents: LongArray
    labels: LongArray
    columns: FloatArray
    n_documents: int

    def take(self, rows: LongArray | NDArray[np.bool_]) -> CandidateTable:
        return CandidateTable(self.documents[rows], self.labels[rows], self.columns[rows], self.n_documents)

    def shared(self, column: str) -> FloatArray:
        """One of SHARED_COLUMNS."""
        found: FloatArray = self.columns[:, SHARED_COLUMNS.index(column) - len(SHARED_COLUMNS)]
        return found

    def ranking(self, scores: FloatArray, k: int) -> Ranking:
        """The k best candidates of each document, without those of a score of -inf; equal scores in the order of the
        labels. O(rows log rows)."""
        order = np.lexsort((self.labels, -scores, self.documents))
        begins = np.searchsorted(self.documents[order], np.arange(self.n_documents))
        rank = np.arange(len(order)) - begins[self.documents[order]]
        shown = (rank < k) & (scores[order] > -np.inf)
        kept = order[shown]
        found = Ranking.empty(self.n_documents, k)
        found.ids[self.documents[kept], rank[shown]] = self.labels[kept]
        found.scores[self.documents[kept], rank[shown]] = scores[kept]
        return found

    @classmethod
    def joined(cls, parts: Sequence[CandidateTable]) -> CandidateTable:
        """The documents of all parts, one part after the other."""
        firsts = np.cumsum([0] + [part.n_documents for part in parts])
        documents = [part.documents + first for part, first in zip(parts, firsts, strict=False)]
        labels, columns = [part.labels for part in parts], [part.columns for part in parts]
        return cls(np.concatenate(documents), np.concatenate(labels), np.concatenate(columns), int(firsts[-1]))


def column_names(experts: Sequence[str]) -> list[str]:
    return [f"{expert}: {name}" for expert in experts for name in EXPERT_COLUMNS] + list(SHARED_COLUMNS)


def tabulated(
    opinions: Mapping[str, Ranking],
    ranks_unseen: Sequence[bool],
    counts: LongArray,
    name_lengths: LongArray,
    more: IntArray | None = None,
) -> CandidateTable:
    """`opinions`: each expert's ranking of the same documents; `ranks_unseen`: of each of them, whether it can rank
    unseen labels. `counts`: training documents of each label, as the experts know them. `name_lengths`: words of each
    label's name (`lengths_of_names`). `more` (documents, any number; -1: none): labels that are candidates besides.
    What is said of a candidate never depends on who else is one."""
    rankings = [ranking for name, ranking in opinions.items() if name != PRIOR]
    n_docs = rankings[0].n_docs
    ids = np.concatenate([ranking.ids[:, :DEEP] for ranking in rankings], axis=1)
    scores = np.concatenate([ranking.scores[:, :DEEP] for ranking in rankings], axis=1)
    firsts = np.cumsum([0] + [min(ranking.k, DEEP) for ranking in rankings])
    able = np.array([can for name, can in zip(opinions, ranks_unseen, strict=True) if name != PRIOR], np.bool_)
    more = np.empty((n_docs, 0), np.int32) if more is None else more
    parts: dict[int, CandidateTable] = {}

    def work(first: int, last: int) -> None:
        parts[first] = _part(ids, scores, firsts, able, counts, name_lengths, more, first, last)

    for_each_part(n_docs, work)
    table = CandidateTable.joined([parts[first] for first in sorted(parts)])
    table.shared(PRIOR)[:] = log_odds(opinions[PRIOR], table.documents, table.labels) if PRIOR in opinions else np.nan
    return table


def log_odds(probabilities: Ranking, documents: LongArray, labels: LongArray) -> FloatArray:
    """Of these pairs, from a ranking whose scores are probabilities."""
    scores, _, ranked = found_in(probabilities, documents, labels)
    inside = np.clip(scores, 1e-6, 1 - 1e-6)
    return np.where(ranked, np.log(inside / (1 - inside)), LEAST_ODDS).astype(np.float32)


def found_in(ranking: Ranking, documents: LongArray, labels: LongArray) -> tuple[FloatArray, LongArray, BoolArray]:
    """Scores and ranks of these pairs of a document and a label, and which of them are ranked. O(n log n)."""
    there = ranking.ids >= 0
    rows, places = np.nonzero(there)
    if not len(rows):
        return np.zeros(len(labels), np.float32), np.zeros(len(labels), np.int64), np.zeros(len(labels), np.bool_)
    width = int(max(labels.max(initial=0), ranking.ids.max())) + 1
    keys, wanted = rows * width + ranking.ids[there], documents * width + labels
    order = np.argsort(keys)
    at = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
    return ranking.scores[rows[at], places[at]], places[at], keys[at] == wanted


def _part(
    ids: NDArray[np.int32],
    scores: FloatArray,
    firsts: LongArray,
    able: NDArray[np.bool_],
    counts: LongArray,
    name_lengths: LongArray,
    more: IntArray,
    first: int,
    last: int,
) -> CandidateTable:
    from everylabel.tagger import kernels

    n_experts = len(able)
    labels = np.empty((last - first, n_experts * (BEST + BEST_UNSEEN) + more.shape[1]), np.int32)
    n_found = kernels.choose(ids, firsts, first, last, counts, BEST, BEST_UNSEEN, more, labels)
    columns = np.empty((n_found.sum(), n_experts * len(EXPERT_COLUMNS) + len(SHARED_COLUMNS)), np.float32)
    inputs = (ids, scores, firsts, able, first, n_found, labels, counts, name_lengths, DEEP, FIRST, BEST_UNSEEN)
    kernels.describe(*inputs, columns)
    inside = np.arange(labels.shape[1]) < n_found[:, None]
    documents = np.repeat(np.arange(last - first), n_found)
    return CandidateTable(documents, labels[inside].astype(np.int64), columns, last - first)


def lengths_of_names(labels: LabelSet) -> LongArray:
    """Words of each label's name."""
    return 1 + labels.names.occurrences(" ")
