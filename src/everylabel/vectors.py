"""Arithmetic on rows, the same for csr and dense matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from everylabel.types import Csr


def unit_rows(vectors: Any) -> Any:
    """Rows of length 1 (rows of zeros stay), float32; csr stays csr."""
    if not issparse(vectors):
        dense = np.asarray(vectors, np.float32)
        norms = np.linalg.norm(dense, axis=1, keepdims=True)
        return dense / np.where(norms > 0, norms, 1)
    matrix = csr_matrix(vectors, dtype=np.float32, copy=True)
    norms = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    matrix.data /= np.repeat(np.where(norms > 0, norms, 1), np.diff(matrix.indptr)).astype(np.float32)
    return matrix


def largest_of_rows(matrix: Csr, n: int) -> Csr:
    """The n largest values of each row, of equal ones the first columns'. O(nnz log nnz)."""
    lengths = np.diff(matrix.indptr)
    if not len(lengths) or lengths.max() <= n:
        return matrix
    rows = np.repeat(np.arange(len(lengths)), lengths)
    place = np.empty(matrix.nnz, np.int64)
    place[np.lexsort((matrix.indices, -matrix.data, rows))] = np.arange(matrix.nnz)
    kept = place - np.repeat(matrix.indptr[:-1], lengths) < n
    indptr = np.concatenate([[0], np.cumsum(np.minimum(lengths, n))])
    return csr_matrix((matrix.data[kept], matrix.indices[kept], indptr), shape=matrix.shape)
