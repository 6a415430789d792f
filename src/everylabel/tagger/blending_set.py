"""What a blend learns from: candidates of documents that the experts have not read, and what is true of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, vstack

from everylabel.data.splits import of_labels, ranks
from everylabel.tagger.candidates import PRIOR, CandidateTable, lengths_of_names, tabulated
from everylabel.tagger.experts import ranks_unseen
from everylabel.tagger.rehearsal import Rehearsal
from everylabel.types import Csr, LongArray, Ranking


class BlendingSet(NamedTuple):
    """Candidates of held-out documents, and what is true of them."""

    table: CandidateTable
    counts: LongArray  # of each row: training documents of its label, as the experts know them
    hidden: NDArray[np.bool_]  # of each row: its label was hidden on purpose
    truth: Csr  # (documents, labels), all pairs
    truth_without_hidden: Csr  # the same without those of labels that were hidden
    n_unseen_pairs: int = 0  # of all pairs: those of labels without training documents, as the experts know them

    @property
    def hits(self) -> NDArray[np.bool_]:
        if not len(self.table.labels):  # scipy has no empty selection of entries
            return np.zeros(0, np.bool_)
        return np.asarray(self.truth[self.table.documents, self.table.labels]).ravel() > 0

    @classmethod
    def joined(cls, parts: Sequence[BlendingSet]) -> BlendingSet:
        return cls(
            CandidateTable.joined([part.table for part in parts]),
            np.concatenate([part.counts for part in parts]),
            np.concatenate([part.hidden for part in parts]),
            csr_matrix(vstack([part.truth for part in parts])),
            csr_matrix(vstack([part.truth_without_hidden for part in parts])),
            sum(part.n_unseen_pairs for part in parts),
        )


def blending_set(one: Rehearsal, rankings: Mapping[str, Ranking]) -> BlendingSet:
    """The candidates of a rehearsal's documents; by the labels' ids, so that their order does not matter."""
    counts, truth = one.train.counts, one.held.required_pairs
    table = tabulated(rankings, ranks_unseen(list(rankings)), counts, lengths_of_names(one.train.labels))
    table = table.take(np.lexsort((ranks(one.train.labels.ids)[table.labels], table.documents)))
    hidden = np.zeros(len(counts), np.bool_)
    hidden[one.hidden] = True
    without_hidden = of_labels(truth, one.hidden, keep=False)
    n_unseen = int((counts[truth.indices] == 0).sum())
    return BlendingSet(table, counts[table.labels], hidden[table.labels], truth, without_hidden, n_unseen)


def joined_set(
    rehearsed: Sequence[Rehearsal], rankings: Sequence[Mapping[str, Ranking]], names: Sequence[str]
) -> BlendingSet:
    """The candidates of all rehearsals, by these opinions and, where it is there, the prior's."""
    wanted = (*names, PRIOR)
    return BlendingSet.joined(
        [
            blending_set(one, {name: found[name] for name in wanted if name in found})
            for one, found in zip(rehearsed, rankings, strict=True)
        ]
    )
