"""Arithmetic on rows, the same for csr and dense matrices."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from everylabel.types import Csr

_FEW = 64  # rows of a matrix whose making counts


def unit_rows(vectors: Any) -> Any:
    """Rows of length 1 (rows of zeros stay), float32; csr stays csr."""
    if not issparse(vectors):
        dense = np.asarray(vectors, np.float32)
        norms = np.sqrt(np.add.reduce(dense * dense, axis=1, keepdims=True))  # as np.linalg.norm, which asks more
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
    from everylabel import vector_kernels

    n_left = left.shape[1]
    data, indices, indptr = vector_kernels.side_by_side(_parts(left), _parts(right), n_left)
    return csr_of(data, indices, indptr, (left.shape[0], n_left + right.shape[1]))


def mean_of_two(one: Csr, other: Csr, weight: Any) -> Csr:
    """(one + weight x other) / (1 + weight), row by row: what scipy computes, to the last bit and in its types, without
    what it checks. Columns must be sorted, each once. O(nnz)."""
    from everylabel import vector_kernels

    weight = np.float32(weight)
    data, indices, indptr = vector_kernels.sum_of_two(_parts(one), _parts(other), weight)
    return csr_of(data.astype(np.float64) * (1 / (1 + weight)), indices, indptr, one.shape)


def _parts(matrix: Csr) -> tuple[Any, Any, Any]:
    return matrix.indptr, matrix.indices, matrix.data


def csr_of(data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> Csr:
    """A matrix of these very arrays; the constructor would look at all of them, and may copy."""
    kind = np.int32 if len(data) < 1 << 31 else np.int64  # scipy wants one for both
    dtype = np.dtype(data.dtype)
    if shape[0] <= _FEW:
        matrix = object.__new__(csr_matrix)
        matrix.__dict__.update(_empty(shape, dtype).__dict__)
    else:
        matrix = csr_matrix(shape, dtype=dtype)
    matrix.data, matrix.indices, matrix.indptr = data, indices.astype(kind, copy=False), indptr.astype(kind, copy=False)
    return matrix


@lru_cache(maxsize=1024)
def _empty(shape: tuple[int, int], dtype: np.dtype[Any]) -> Csr:
    """To be copied: even an empty matrix takes scipy as long to make as a kernel takes for a whole text. A server has
    batches of all sizes, by some ten vocabularies."""
    return csr_matrix(shape, dtype=dtype)
