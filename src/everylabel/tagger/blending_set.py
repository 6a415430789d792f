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
from everylabel.tagger.judgements import Judgements
from everylabel.tagger.rehearsal import Rehearsal
from everylabel.types import Csr, FloatArray, LongArray, Ranking

JUDGED_WEIGHT = 2.0  # of a row that a person has judged, beside one that is wrong as nobody has said it is right


class BlendingSet(NamedTuple):
    """Candidates of held-out documents, and what is true of them."""

    table: CandidateTable
    counts: LongArray  # of each row: training documents of its label, as the experts know them
    hidden: NDArray[np.bool_]  # of each row: its label was hidden on purpose
    truth: Csr  # (documents, labels), all pairs
    truth_without_hidden: Csr  # the same without those of labels that were hidden
    n_unseen_pairs: int = 0  # of all pairs: those of labels without training documents, as the experts know them
    weights: FloatArray | None = None  # of each row, 0: nothing is known of it; None: all are worth the same

    @property
    def hits(self) -> NDArray[np.bool_]:
        if not len(self.table.labels):  # scipy has no empty selection of entries
            return np.zeros(0, np.bool_)
        return np.asarray(self.truth[self.table.documents, self.table.labels]).ravel() > 0

    @classmethod
    def judged(cls, table: CandidateTable, counts: LongArray, truth: Csr, judgements: Judgements) -> BlendingSet:
        """Of new documents; `counts`: of each label."""
        nothing, weights = np.zeros(len(table.labels), np.bool_), _judged_weights(table, judgements, truth)
        return cls(table, counts[table.labels], nothing, truth, truth, weights=weights)

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


def _judged_weights(table: CandidateTable, judgements: Judgements, truth: Csr) -> FloatArray | None:
    """What a person has seen and accepted, added or rejected counts more than what is wrong because nobody named it:
    people overlook labels. Right and wrong rows that were judged weigh the same, so that probabilities stay what they
    are. Of a document that was not judged to the end nothing else counts."""
    rows = table.documents, table.labels
    if not len(table.labels) or (judgements.complete.all() and not judgements.rejected.nnz):
        return None
    rejected = np.asarray(judgements.rejected[rows]).ravel() > 0
    accepted = np.asarray(truth[rows]).ravel() > 0
    reviewed = (np.diff(judgements.rejected.indptr) > 0) | ~judgements.complete
    judged = rejected | (accepted & reviewed[table.documents])
    return np.where(judged, JUDGED_WEIGHT, judgements.complete[table.documents]).astype(np.float32)


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
