"""What ZestXML ranks with: from the words of a document to label features, and from these to labels.

Few labels are all scored. Of many (`MANY_LABELS`) a document finds a shortlist by the label features that it leads to
most, in the heads of their lists, and these labels are scored with all of their words: of what is found, scores are the
same to the last bit. The bounds are in bounds.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack, identity, vstack

from everylabel.methods.facts import MANY_LABELS
from everylabel.methods.zestxml.bounds import AS_GOOD_AS_ALL, MOST_LABELS_OF_A_FEATURE, Limits
from everylabel.methods.zestxml.table import parts
from everylabel.parallel import for_each_part
from everylabel.types import Csr, FloatArray, Ranking
from everylabel.vectors import csr_of, largest_of_rows


@dataclass(frozen=True)
class RankingTables:
    """`table` is W by document features, `labels_by_word` is Z transposed; with `words_by_label`, which is Z, it has
    only the labels of each feature with the largest values."""

    table: Csr
    labels_by_word: Csr
    words_by_label: Csr | None = None

    @classmethod
    def of(cls, table: Csr, Z: Csr, many: bool, most: int = MOST_LABELS_OF_A_FEATURE) -> RankingTables:
        if not many:
            return cls(table, csr_matrix(Z.T))
        words_by_label = Z.sorted_indices()  # the order in which scores are added up
        return cls(table, largest_of_rows(csr_matrix(Z.T), most), words_by_label)

    def ranked(self, X: Csr, bias: float, k: int, limits: Limits = AS_GOOD_AS_ALL) -> Ranking:
        """On all cores. A document: O(entries of its words), and, of few labels, O(labels + label features)."""
        from everylabel.linear.bilinear import rank_labels

        found = Ranking.empty(X.shape[0], k)
        if self.words_by_label is not None:
            self._ranked_by_shortlist(X, bias, limits, found)
            return found
        out = (found.ids, found.scores, self.labels_by_word.shape[1])
        inputs = (parts(X), *self._parts, np.float32(bias))
        for_each_part(X.shape[0], lambda first, last: rank_labels(first, last, *inputs, out))
        return found

    def _ranked_by_shortlist(self, X: Csr, bias: float, limits: Limits, found: Ranking) -> None:
        from everylabel.linear.bilinear import rank_shortlist

        own = limits.walked, limits.visits, max(limits.shortlist, 2 * found.ids.shape[1])
        inputs = (parts(X), *self._parts, self._label_parts, self._largest, own, np.float32(bias))

        def work(first: int, last: int) -> None:
            scratch = self._taken_scratch()
            rank_shortlist(first, last, *inputs, scratch, found.ids, found.scores)
            self._scratch.append(scratch)

        for_each_part(X.shape[0], work)

    def with_labels(self, Z: Csr, n_new_words: int, new_word: float) -> RankingTables:
        """Also with labels of these features, the last `n_new_words` of which are new words, of the documents too, that
        count by themselves. O(the table, copied), and what all labels have."""
        old, itself = self.table, identity(n_new_words, np.float32, format="csr") * np.float32(new_word)
        table = csr_of(
            np.concatenate([old.data, itself.data]),
            np.concatenate([old.indices, itself.indices + old.shape[1]]),
            np.concatenate([old.indptr, old.indptr[-1] + itself.indptr[1:]]),
            (old.shape[0] + n_new_words, old.shape[1] + n_new_words),
        )
        n_features, n_known = self.labels_by_word.shape
        nowhere = csr_matrix((n_new_words, n_known), dtype=np.float32)
        labels_by_word = hstack([vstack([self.labels_by_word, nowhere]), Z.T], format="csr")
        if labels_by_word.shape[1] <= MANY_LABELS and self.words_by_label is None:
            return RankingTables(table, labels_by_word)
        if self.words_by_label is None:
            return RankingTables.of(table, csr_matrix(labels_by_word.T), many=True)
        known = self.words_by_label
        wider = csr_of(known.data, known.indices, known.indptr, (n_known, n_features + n_new_words))
        heads = largest_of_rows(labels_by_word, MOST_LABELS_OF_A_FEATURE)
        return RankingTables(table, heads, vstack([wider, Z.sorted_indices()], format="csr"))

    @cached_property
    def _parts(self) -> tuple[Any, Any]:
        return parts(self.table), parts(self.labels_by_word)

    @cached_property
    def _label_parts(self) -> tuple[Any, Any, Any]:
        assert self.words_by_label is not None
        return parts(self.words_by_label)

    @cached_property
    def _largest(self) -> FloatArray:
        """How much a label feature counts for a label, at most."""
        return np.asarray(abs(self.labels_by_word).max(axis=1).todense(), np.float32).ravel()

    @cached_property
    def _scratch(self) -> list[Any]:
        """Clean accumulators that no thread uses: making them anew would cost each document O(labels)."""
        return []

    def _taken_scratch(self) -> Any:
        try:
            return self._scratch.pop()
        except IndexError:
            return tuple(
                np.zeros(size, kind) for size in self.labels_by_word.shape for kind in (np.float32, np.bool_, np.int32)
            )
