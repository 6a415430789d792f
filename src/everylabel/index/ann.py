"""Approximate search for very many labels: a graph of near neighbours (HNSW, Malkov and Yashunin 2018), by usearch.

Why usearch, and the numbers: docs/label_index.md. Bytes are scaled here and not by usearch, which takes 1 for the
largest value: the values of unit vectors are near 1 / sqrt(dim), so that few of the 255 steps would be used. With our
scale the nearest 100 by bytes are 99 % the nearest 100 (usearch's: 96 %), and nothing has to be scored again.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np

from everylabel import checks, config
from everylabel.errors import ConfigError, ModelError
from everylabel.forks import Lock
from everylabel.index.checks import check_ids, checked_k, checked_new_ids, checked_old_ids, checked_vectors, refuse
from everylabel.index.files import map_arrays, write_arrays
from everylabel.index.graph import check_graph
from everylabel.parallel import n_threads
from everylabel.run import QUIET, Run
from everylabel.types import FloatArray, LongArray, Ranking

_BLOCK = 4096  # vectors added between two reports of progress
_SAMPLE = 4096  # vectors that decide about the scale of bytes
_WIDEST = 8  # standard deviations of a unit vector's values; one odd vector must not cost the others their precision


@dataclass(kw_only=True, frozen=True)
class AnnSettings:
    """Larger: better recall, slower. The defaults were measured (docs/label_index.md)."""

    connectivity: int = 16  # neighbours a vector; memory grows with it
    expansion_add: int = 128  # candidates when a vector is added
    expansion_search: int | None = None  # candidates of a search, at least `per_k` times k; None: by the size
    per_k: float = 2.0
    dtype: Literal["i8", "f16", "f32"] = "i8"
    threads: int = 1  # of building: more are faster, and build another graph every time; searching uses all

    def check(self) -> None:
        counts = (self.expansion_add, 1 if self.expansion_search is None else self.expansion_search, self.threads)
        if self.connectivity < 2 or min(counts) < 1 or self.per_k < 1:
            raise ConfigError(f"connectivity must be at least 2, the other numbers at least 1; got {self}")
        if max(self.connectivity, self.per_k) > 1_000 or max(counts) > 1 << 20:
            raise ConfigError(f"connectivity and per_k must be at most 1,000, the others a million; got {self}")
        if self.dtype not in ("i8", "f16", "f32"):
            raise ConfigError(f"dtype must be 'i8', 'f16' or 'f32'; got {self.dtype!r}")


class AnnIndex:
    """Memory and file: dim x 1 byte (f16: 2, f32: 4) + 150 bytes a vector. Scores of "i8" are off by 0.001.

    Build O(n log n), search O(log n). Deterministic unless settings.threads > 1. Of vectors with equal scores at rank
    k any may be found; those found stand by id.
    """

    kind: ClassVar[str] = "ann"

    def __init__(self, dim: int, settings: AnnSettings | None = None) -> None:
        self.settings = settings or AnnSettings()
        self.settings.check()
        if dim < 1:
            raise ConfigError(f"an index needs dim >= 1; got {dim}")
        self.dim = dim
        self._scale = 0.0  # steps of a byte for 1; known with the first vectors
        self._ids: Any = np.empty(0, np.int32)
        self._graph = self._new_graph()
        self._mapped: Any = None  # the bytes of a graph that is used where it is, in a file
        self._by_width: dict[int, Any] = {}  # graphs on the same bytes, one for each width of a search
        self._turn = Lock()

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, ids: LongArray, vectors: FloatArray, run: Run = QUIET) -> None:
        """O(new x log n); the ids alone are compared with all others."""
        vectors = checked_vectors(vectors, self.dim)
        new = checked_new_ids(ids, len(vectors))
        refuse(new[np.isin(new, self._ids)], "in the index already; nothing was added")
        if not len(new):
            return
        self._own()
        if not self._scale:
            self._scale = _scale(vectors[:_SAMPLE])
        with run.task("index", len(new)) as advance:
            for first in range(0, len(new), _BLOCK):
                part = new[first : first + _BLOCK]
                stored = self._stored(vectors[first : first + _BLOCK])
                self._graph.add(part.astype(np.uint64), stored, threads=self.settings.threads)
                self._ids = np.concatenate([self._ids, part])  # block by block: an interrupt leaves a whole index
                advance(len(part))

    def remove(self, ids: LongArray) -> None:
        """O(n). Removed vectors are passed over, and their places used again; build anew after exchanging most."""
        gone = checked_old_ids(ids, self._ids)
        if not len(gone):
            return
        self._own()
        self._ids = self._ids[~np.isin(self._ids, gone)]
        if len(self._ids):
            self._graph.remove(gone.astype(np.uint64), threads=1)
        else:
            self._graph, self._scale = self._new_graph(), 0.0

    def known(self, ids: LongArray) -> LongArray:
        return np.asarray(ids)[np.isin(ids, self._ids)]

    def search(self, vectors: FloatArray, k: int) -> Ranking:
        """At most `expansion_search` x 2 `connectivity` comparisons a query, on all cores."""
        queries = checked_vectors(vectors, self.dim)
        best = Ranking.empty(len(queries), min(checked_k(k), len(self)))
        if best.ids.size == 0:
            return best.top(k)
        width = min(max(self._expansion, int(self.settings.per_k * best.k)), len(self))
        found = self._search(self._stored(queries), best.k, width)
        distances = np.atleast_2d(found.distances)  # of one query usearch gives a row
        n_found: Any = getattr(found, "counts", distances.shape[1])
        here = np.arange(distances.shape[1]) < np.reshape(n_found, (-1, 1))
        scores = np.where(here, np.clip((1 - distances) / (self._scale**2 if self._bytes else 1), -1, 1), -np.inf)
        ids = np.where(here, np.atleast_2d(found.keys), 0).astype(np.int32)
        ids[~here] = -1
        order = np.lexsort((ids, -scores))
        best.ids[:, : ids.shape[1]] = np.take_along_axis(ids, order, axis=1)
        best.scores[:, : ids.shape[1]] = np.take_along_axis(scores, order, axis=1)
        return best.top(k)

    def _search(self, queries: Any, k: int, width: int) -> Any:
        """usearch keeps the width with the graph, for all who search: so each width has a graph of its own, which on
        mapped bytes costs nothing; searches of a graph that is being built take turns."""
        if self._mapped is None:
            with self._turn:
                self._graph.expansion_search = width
                return self._graph.search(queries, k, threads=n_threads())
        width = 1 << (width - 1).bit_length()  # few widths, few graphs
        graph = self._by_width.get(width)
        if graph is None:
            graph = self._new_graph(enable_key_lookups=False)  # a table of all ids would read the file
            graph.view(self._mapped)
            graph.expansion_search = width
            graph = self._by_width.setdefault(width, graph)
        return graph.search(queries, k, threads=n_threads())

    def save(self, path: str | Path) -> None:
        """One pass over the bytes; a copy of the graph in memory while it is written."""
        about = json.dumps({"dim": self.dim, "scale": self._scale, "settings": asdict(self.settings)})
        graph = self._mapped if self._mapped is not None else np.frombuffer(self._graph.save(), np.uint8)
        write_arrays(path, np.frombuffer(about.encode(), np.uint8), self._ids, graph)

    @classmethod
    def load(cls, path: str | Path, **settings: Any) -> Self:
        """Memory-mapped: a search reads what it visits. `settings` replace those it was saved with."""
        about, ids, graph = map_arrays(path, 3)
        try:
            saved = json.loads(about.tobytes())
            dim = checks.whole(saved["dim"], "dim", 1, 1 << 20)
            index = cls(dim, config.build(AnnSettings, saved["settings"] | settings))
            index._scale = checks.number(saved["scale"], "scale", least=0)
            index._ids, index._mapped = ids, graph  # which usearch has not seen before the first search
            checks.array(ids, "ids", np.int32, None)
        except (ValueError, KeyError, TypeError, RecursionError, ConfigError) as error:
            raise ModelError(f"{path}: is no approximate index or is damaged ({error}); fit again") from None
        return index

    def check(self, below: int | None = None) -> None:
        check_ids(self._ids, below)
        if self._mapped is not None and len(self._ids):
            check_graph(self._mapped, self._ids, self.dim, self.settings.dtype, self.settings.connectivity)
            checks.number(self._scale, "scale", least=1e-6)

    @property
    def _expansion(self) -> int:
        """Measured: 192 candidates give recall@100 0.95 at 200,000 vectors, 1,280 at a million."""
        if self.settings.expansion_search is not None:
            return self.settings.expansion_search
        return min(max(len(self) // 780, 192), 2048)

    @property
    def _bytes(self) -> bool:
        return self.settings.dtype == "i8"

    def _stored(self, vectors: FloatArray) -> Any:
        if not self._bytes:
            return vectors
        return np.clip(np.rint(vectors * np.float32(self._scale)), -127, 127).astype(np.int8)

    def _own(self) -> None:
        """What is mapped from a file cannot be changed: read it."""
        if self._mapped is None:
            return
        if len(self._ids):
            graph = self._new_graph()
            graph.load(self._mapped)
            self._graph = graph
        self._ids, self._mapped, self._by_width = np.array(self._ids), None, {}

    def _new_graph(self, **options: Any) -> Any:
        try:
            from usearch.index import Index
        except ImportError as error:
            raise ConfigError(
                f"approximate search needs usearch ({error}); pip install 'everylabel[neural]', or choose index 'exact'"
            ) from error
        settings = self.settings
        return Index(
            ndim=self.dim,
            metric="ip",
            dtype=settings.dtype,
            connectivity=settings.connectivity,
            expansion_add=settings.expansion_add,
            **options,
        )


def _scale(vectors: FloatArray) -> float:
    """Steps of a byte for 1, so that the values of these vectors fit. Larger ones that come later are clipped."""
    largest = min(float(abs(vectors).max()), _WIDEST / vectors.shape[1] ** 0.5)
    return 127 / largest if largest > 0 else 127.0
