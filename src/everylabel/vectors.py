"""Arithmetic on rows, the same for csr and dense matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse


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
