"""All vectors in one array, every query compared with every vector: exact, and fast enough for most vocabularies."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np

from everylabel.errors import ConfigError, ModelError
from everylabel.index.checks import check_ids, checked_k, checked_new_ids, checked_old_ids, checked_vectors, refuse
from everylabel.index.files import map_arrays, write_arrays
from everylabel.parallel import for_each_part
from everylabel.types import FloatArray, LongArray, Ranking

_DTYPES = {"f32": np.float32, "f16": np.float16}
_QUERIES, _VECTORS = 512, 8192  # a block of scores: 16 MB, however many labels there are
_CELLS = 1 << 22  # of scores, where all vectors are looked at at once
_LEAST = 5  # queries at once


class ExactIndex:
    """Memory and file: 4 bytes (f16: 2) a value. Search O(queries x vectors x dim) on all cores, by blocks.

    "f16" changes scores by less than 0.0001 and is as fast for many queries at once, but several times slower for one.
    """

    kind: ClassVar[str] = "exact"

    def __init__(self, dim: int, *, dtype: Literal["f32", "f16"] = "f32") -> None:
        if dim < 1 or dtype not in _DTYPES:
            raise ConfigError(f"an index needs dim >= 1 and dtype 'f32' or 'f16'; got {dim} and {dtype!r}")
        self.dim = dim
        self._ids: Any = np.empty(0, np.int32)
        self._vectors: Any = np.empty((0, dim), _DTYPES[dtype])

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, ids: LongArray, vectors: FloatArray) -> None:
        """O(all vectors): they are copied, so add many at once."""
        vectors = checked_vectors(vectors, self.dim)
        new = checked_new_ids(ids, len(vectors))
        refuse(new[np.isin(new, self._ids)], "in the index already; nothing was added")
        self._ids, self._vectors = (
            np.concatenate([self._ids, new]),
            np.concatenate([self._vectors, vectors.astype(self._vectors.dtype, copy=False)]),
        )

    def remove(self, ids: LongArray) -> None:
        """O(all vectors): what stays is copied."""
        stay = ~np.isin(self._ids, checked_old_ids(ids, self._ids))
        self._ids, self._vectors = np.asarray(self._ids[stay]), np.asarray(self._vectors[stay])

    def known(self, ids: LongArray) -> LongArray:
        return np.asarray(ids)[np.isin(ids, self._ids)]

    def content(self) -> tuple[LongArray, FloatArray]:
        """All ids and vectors, in the order of their adding."""
        return self._ids.astype(np.int64), np.asarray(self._vectors, np.float32)

    def search(self, vectors: FloatArray, k: int) -> Ranking:
        """Exact; a query's ranking does not depend on the others. Memory beside the result: two blocks, 30 MB."""
        from everylabel.index.kernels import sort_best

        queries = checked_vectors(vectors, self.dim)
        best = Ranking.empty(len(queries), min(checked_k(k), len(self)))
        sizes = np.zeros(len(queries), np.int64)
        slack = self._slack
        for first in range(0, len(self), _VECTORS):
            ids = np.asarray(self._ids[first : first + _VECTORS])
            block = np.ascontiguousarray(self._vectors[first : first + _VECTORS], np.float32)
            for start in range(0, len(queries), _QUERIES):
                asked = queries[start : start + _QUERIES]
                rough = _rough_products(asked, block)
                rows = (asked, rough, *(part[start : start + _QUERIES] for part in (sizes, best.ids, best.scores)))
                for_each_part(len(asked), partial(_keep, rows, block, ids, slack))
        for_each_part(len(queries), lambda a, b: sort_best(sizes[a:b], best.ids[a:b], best.scores[a:b]))
        return best.top(k)

    def search_owners(self, vectors: FloatArray, begins: LongArray, k: int) -> Ranking:
        """The k owners of the nearest vectors, of which owner o has those from begins[o] to begins[o + 1] in the order
        of their adding: its best one counts. As exact as `search`, which would have to be asked for more than k."""
        queries = checked_vectors(vectors, self.dim)
        best = Ranking.empty(len(queries), min(checked_k(k), len(begins) - 1))
        slack = self._slack
        block = np.ascontiguousarray(self._vectors, np.float32)
        size = max(_LEAST, _CELLS // max(len(self), 1))
        for start in range(0, len(queries), size):
            asked = queries[start : start + size]
            rough = _rough_products(asked, block)
            rows = (asked, rough, *(part[start : start + size] for part in best))
            for_each_part(len(asked), partial(_best_owners, rows, block, begins, slack))
        return best.top(k)

    @property
    def _slack(self) -> Any:
        """More than rounding does to a sum of dim products."""
        return np.float32(2 * self.dim * np.finfo(np.float32).eps)

    def scores(self, vectors: FloatArray) -> FloatArray:
        """(queries, vectors), in the order of their adding: the scores of `search`, of all. For few vectors."""
        from everylabel.index.kernels import products

        queries = checked_vectors(vectors, self.dim)
        own = np.ascontiguousarray(self._vectors, np.float32)
        found = np.empty((len(queries), len(own)), np.float32)

        def work(first: int, last: int) -> None:
            found[first:last] = products(queries[first:last], own)

        for_each_part(len(queries), work)
        return found

    def check(self, below: int | None = None) -> None:
        """Of one that was loaded: unit vectors, each with an id of its own, below that. O(vectors), by blocks."""
        check_ids(self._ids, below)
        for first in range(0, len(self), _VECTORS):
            checked_vectors(self._vectors[first : first + _VECTORS], self.dim)

    def save(self, path: str | Path) -> None:
        write_arrays(path, self._ids, self._vectors)

    @classmethod
    def load(cls, path: str | Path, **settings: Any) -> Self:
        """Memory-mapped; the first search reads the file. There is nothing to set."""
        if settings:
            raise ConfigError(f"an exact index has no settings on load; got {', '.join(settings)}")
        ids, vectors = map_arrays(path, 2)
        if ids.dtype != np.int32 or vectors.ndim != 2 or ids.shape != vectors.shape[:1]:
            raise ModelError(f"{path}: is no exact index: its ids and vectors do not fit together; fit again")
        index = cls(vectors.shape[1], dtype=_name(vectors.dtype, path))
        index._ids, index._vectors = ids, vectors
        return index


def _rough_products(queries: FloatArray, block: FloatArray) -> FloatArray:
    """(queries, vectors), on all cores, each with a part of the vectors: of one query there is no part."""
    from everylabel.index.kernels import rough_products

    found = np.empty((len(queries), len(block)), np.float32)
    for_each_part(len(block), lambda first, last: rough_products(queries, block, first, last, found))
    return found


def _keep(rows: Any, block: Any, ids: Any, slack: Any, first: int, last: int) -> None:
    """The best of one block for some of the queries: what belongs to them is in `rows`."""
    from everylabel.index.kernels import keep_best

    queries, rough, sizes, best_ids, best_scores = (part[first:last] for part in rows)
    keep_best(queries, block, ids, rough, slack, sizes, best_ids, best_scores)


def _best_owners(rows: Any, block: Any, begins: Any, slack: Any, first: int, last: int) -> None:
    from everylabel.index.kernels import best_owners

    queries, rough, best_ids, best_scores = (part[first:last] for part in rows)
    best_owners(queries, block, begins, rough, slack, best_ids, best_scores)


def _name(dtype: Any, path: str | Path) -> Literal["f32", "f16"]:
    if dtype == np.float32:
        return "f32"
    if dtype == np.float16:
        return "f16"
    raise ModelError(f"{path}: is no exact index: its vectors are {dtype}, expected float32 or float16; fit again")
