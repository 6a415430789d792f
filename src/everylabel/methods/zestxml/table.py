"""The sparse table W of ZestXML: which document features go with which label features, before weights are learned."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, vstack

from everylabel.methods.zestxml.bounds import affordable_entries
from everylabel.parallel import parallel_map
from everylabel.run import QUIET, Run
from everylabel.types import Csr
from everylabel.vectors import largest_of_rows, unit_rows

_BLOCK = 256  # label features whose associations are there at a time, at least
_COLUMNS_OF_A_BLOCK = 200  # a block's scratch is as wide as the documents: the wider, the more features share it
_LEAST = 1e-9  # an association below it is none
START = 5.0  # margin of a perfect match before anything is learned
_START_OWN = 1.0  # of the label's own feature
_START_BIAS = -3.0


class Table(NamedTuple):
    """W by label features: csr (label features, document features), and the constant."""

    weights: Csr
    bias: float


def associated(
    X: Csr, pairs: Csr, Z: Csr, same: Csr, own: int, entries: int, run: Run = QUIET, most: int | None = None
) -> Table:
    """The `entries` document features that go most with each label feature, beyond chance; and the word itself. Fewer
    where all would be more than `most`.

    O(words of the documents of each label feature), on all cores. Rows have length 1, then the start's
    scale; the labels' own features, from `own` on, begin low: they are to learn what the words do not say.
    """
    from everylabel.linear.bilinear import associate

    of_features = csr_matrix((pairs @ Z).T)  # label features x documents
    if most is not None:
        words = np.diff(X.indptr).astype(np.int64)
        there = csr_matrix((np.ones(of_features.nnz, np.bool_), of_features.indices, of_features.indptr))
        there.resize(of_features.shape)
        entries = affordable_entries(there @ words, entries, most)
    mean = np.asarray(X.mean(axis=0), np.float32).ravel()
    chance = np.asarray(of_features.sum(axis=1), np.float32).ravel()
    inputs = (parts(of_features), parts(X), mean, chance, np.float32(_LEAST))
    block_size = max(_BLOCK, X.shape[1] // _COLUMNS_OF_A_BLOCK)

    def work(first: int) -> Csr:
        last = min(first + block_size, Z.shape[1])
        indices, values = np.empty((last - first, entries), np.int32), np.empty((last - first, entries), np.float32)
        sizes = associate(first, last, *inputs, indices, values)
        there = np.arange(entries) < sizes[:, None]
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        return csr_matrix((values[there], indices[there], indptr), shape=(last - first, X.shape[1]))

    with run.task("label words: associations", Z.shape[1]) as advance:
        blocks = []
        for block in parallel_map(work, range(0, Z.shape[1], block_size)):
            blocks.append(block)
            advance(block.shape[0])
    weights = csr_matrix(unit_rows(vstack(blocks, format="csr")).maximum(same))
    weights.sort_indices()
    begins = np.where(np.arange(weights.shape[0]) < own, START, _START_OWN)
    weights.data = (weights.data * np.repeat(begins, np.diff(weights.indptr))).astype(np.float32)
    return Table(weights, _START_BIAS)


def with_bounded_columns(table: Table, most: int) -> Table:
    """Each document feature with the `most` label features that it says most about; the word itself begins highest of
    all, and stays. O(entries)."""
    bounded = csr_matrix(largest_of_rows(by_document_words(table), most).T)
    bounded.sort_indices()
    return Table(bounded, table.bias)


def same_words(n: int, first: int, shape: tuple[int, int]) -> Csr:
    """Label features x document features, 1 where both are the same of the n label words, from column `first` on."""
    places = np.arange(n)
    return csr_matrix((np.ones(n, np.float32), (places, first + places)), shape=shape)


def is_same_word(weights: Csr, first: int) -> NDArray[np.bool_]:
    """For each entry whether it is in `same_words`. O(entries)."""
    rows = np.repeat(np.arange(weights.shape[0], dtype=np.int32), np.diff(weights.indptr))
    return np.asarray(weights.indices - np.int32(first) == rows)


def by_document_words(table: Table) -> Csr:
    found = csr_matrix(table.weights.T)
    found.sort_indices()
    return found


def parts(matrix: Csr) -> tuple[Any, Any, Any]:
    """What a kernel reads; the values are the matrix's own."""
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False), matrix.data


def in_matrix(matrix: Csr, other: Csr) -> NDArray[np.bool_]:
    """For each entry of a matrix whether another one of the same shape has it. O(entries log entries)."""
    rows, others = (np.repeat(np.arange(m.shape[0], dtype=np.int64), np.diff(m.indptr)) for m in (matrix, other))
    width = matrix.shape[1]
    return np.isin(rows * width + matrix.indices, others * width + other.indices)
