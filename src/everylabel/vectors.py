"""Arithmetic on rows, the same for csr and dense matrices."""

from __future__ import annotations

import copy
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from everylabel.types import Csr

_FEW = 16  # rows of a matrix whose making counts


def unit_rows(vectors: Any) -> Any:
    """Rows of length 1 (rows of zeros stay), float32; csr stays csr."""
    if not issparse(vectors):
        dense = np.asarray(vectors, np.float32)
        norms = np.linalg.norm(dense, axis=1, keepdims=True)
        return dense / np.where(norms > 0, norms, 1)
    matrix = vectors if vectors.format == "csr" else csr_matrix(vectors)
    data, indptr = matrix.data.astype(np.float32, copy=False), matrix.indptr
    lengths = np.diff(indptr)
    filled = lengths > 0
    norms = np.ones(len(lengths), np.float32)
    norms[filled] = np.sqrt(np.add.reduceat(np.square(data), indptr[:-1][filled])) if filled.any() else 1
    return csr_of(data / np.repeat(np.where(norms > 0, norms, 1), lengths), matrix.indices, indptr, matrix.shape)


def rotation(vectors: Any, onto: Any) -> Any:
    """(dim, dim), orthogonal: it turns these rows to where they are nearest to the others (Procrustes). O(n dim^2)."""
    left, _, right = np.linalg.svd(np.asarray(vectors, np.float64).T @ np.asarray(onto, np.float64))
    return (left @ right).astype(np.float32)


def logistic(odds: Any) -> Any:
    """1 / (1 + exp(-odds)), without overflow; scipy's takes half a second to import."""
    small = np.exp(-np.abs(odds))
    return np.where(np.asarray(odds) >= 0, 1, small) / (1 + small)


def largest_of_rows(matrix: Csr, n: int) -> Csr:
    """The n largest values of each row, of equal ones the first columns'. O(nnz)."""
    from everylabel import vector_kernels

    lengths = np.diff(matrix.indptr)
    if not len(lengths) or lengths.max() <= n:
        return matrix
    kept = vector_kernels.largest_of_rows(matrix.indptr, matrix.indices, matrix.data, n)
    indptr = np.concatenate([[0], np.cumsum(np.minimum(lengths, n))])
    return csr_of(matrix.data[kept], matrix.indices[kept], indptr, matrix.shape)


def side_by_side(left: Csr, right: Csr) -> Csr:
    """scipy's `hstack` of two, without what it checks: for one row that takes ten times as long as the rest. O(nnz)."""
    n_left, n_right = np.diff(left.indptr), np.diff(right.indptr)
    to_left = np.arange(left.nnz) + np.repeat(right.indptr[:-1], n_left)
    to_right = np.arange(right.nnz) + np.repeat(left.indptr[1:], n_right)
    data, indices = np.empty(left.nnz + right.nnz, np.float32), np.empty(left.nnz + right.nnz, np.int32)
    data[to_left], data[to_right] = left.data, right.data
    indices[to_left], indices[to_right] = left.indices, right.indices + np.int32(left.shape[1])
    shape = left.shape[0], left.shape[1] + right.shape[1]
    return csr_of(data, indices, np.concatenate([[0], np.cumsum(n_left + n_right)]), shape)


def csr_of(data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> Csr:
    """A matrix of these very arrays; the constructor would look at all of them, and may copy."""
    kind = np.int32 if len(data) < 1 << 31 else np.int64  # scipy wants one for both
    dtype = np.dtype(data.dtype)
    matrix = copy.copy(_empty(shape, dtype)) if shape[0] <= _FEW else csr_matrix(shape, dtype=dtype)
    matrix.data, matrix.indices, matrix.indptr = data, indices.astype(kind, copy=False), indptr.astype(kind, copy=False)
    return matrix


@lru_cache(maxsize=64)
def _empty(shape: tuple[int, int], dtype: np.dtype[Any]) -> Csr:
    """To be copied: even an empty matrix takes scipy as long to make as a kernel takes for a whole text."""
    return csr_matrix(shape, dtype=dtype)
