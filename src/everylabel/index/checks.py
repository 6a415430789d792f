"""What goes into an index is checked once, here: a wrong vector would be found nowhere and reported by nobody."""

from __future__ import annotations

from typing import Any

import numpy as np

from everylabel import checks
from everylabel.errors import DataError
from everylabel.types import FloatArray, IntArray

_LARGEST_ID = np.iinfo(np.int32).max  # a Ranking has 32 bits for it
_LENGTH_ERROR = 0.01  # of a row's length; rows that were float16 once are off by 0.001


def checked_vectors(given: Any, dim: int) -> FloatArray:
    """(n, dim) float32, C order; rows of length 1 or 0. O(n dim), a copy only if the type is another."""
    vectors: FloatArray = np.ascontiguousarray(given, np.float32)
    if vectors.ndim != 2 or vectors.shape[1] != dim:
        raise DataError(f"expected vectors of shape (n, {dim}); got {vectors.shape}: use the encoder the index is for")
    squares = np.einsum("nd,nd->n", vectors, vectors)
    if not np.isfinite(squares).all():
        row = int(np.argmin(np.isfinite(squares)))
        raise DataError(f"row {row} of the vectors has NaN or infinite values; look for what the encoder was given")
    wrong = (abs(squares - 1) > 2 * _LENGTH_ERROR) & (squares > 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"expected rows of length 1 (or 0); row {row} has length {squares[row] ** 0.5:.3g}: "
            "use everylabel.vectors.unit_rows"
        )
    return vectors


def checked_new_ids(ids: Any, n_vectors: int) -> IntArray:
    ids = np.asarray(ids)
    if ids.shape != (n_vectors,) or (n_vectors and ids.dtype.kind not in "iu"):
        raise DataError(f"expected {n_vectors} whole numbers as ids, one a vector; got {ids.dtype} {ids.shape}")
    if n_vectors and (ids.min() < 0 or ids.max() > _LARGEST_ID):
        raise DataError(f"ids must be from 0 to {_LARGEST_ID}; got {ids.min()} to {ids.max()}")
    refuse(_twice(ids), "given twice; give each once")
    return np.asarray(ids, np.int32)


def check_ids(ids: Any, below: int | None) -> None:
    """Of an index that was loaded: int32, each once, from 0 on and below that."""
    checks.indexes(ids, "ids of an index", _LARGEST_ID + 1 if below is None else below)
    checks.require(not len(_twice(ids)), "an id is twice in an index")


def checked_old_ids(ids: Any, known: Any) -> Any:
    """The ids to remove, all of them known, each once. O(n log n)."""
    ids = np.asarray(ids)
    if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
        raise DataError(f"expected a list of whole numbers as ids; got {ids.dtype} {ids.shape}")
    refuse(_twice(ids), "given twice; give each once")
    refuse(ids[~np.isin(ids, known)], "not in the index; nothing was removed")
    return ids


def refuse(ids: Any, why: str) -> None:
    if len(ids):
        some = ", ".join(map(str, ids[:3])) + (", ..." if len(ids) > 3 else "")
        raise DataError(f"{len(ids)} ids are {why}: {some}")


def checked_k(k: int) -> int:
    if k < 1:
        raise DataError(f"k must be at least 1; got {k}")
    return k


def _twice(ids: Any) -> Any:
    values, counts = np.unique(ids, return_counts=True)
    return values[counts > 1]
