"""Training of all classifiers of one level of a label tree, on all cores there are (kernels.py does the arithmetic)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, csr_matrix

from everylabel.errors import ConfigError
from everylabel.linear import LANES
from everylabel.run import QUIET, Run
from everylabel.types import Csr, FloatArray, LongArray

_LABELS_PER_TASK = 8 * LANES  # what is gathered for a task is used for this many classifiers


class Features(NamedTuple):
    """Documents as sparse and, side by side with them, dense features (none: zero columns)."""

    sparse: Csr
    dense: FloatArray

    @classmethod
    def of(cls, sparse: Csr, dense: FloatArray | None = None) -> Features:
        matrix = (
            sparse if sparse.format == "csr" and sparse.dtype == np.float32 else csr_matrix(sparse, dtype=np.float32)
        )
        matrix.sort_indices()
        if dense is None:
            dense = np.zeros((matrix.shape[0], 0), np.float32)
        if dense.shape[0] != matrix.shape[0]:
            raise ConfigError(
                f"sparse and dense features must have as many rows; got {matrix.shape[0]} and {dense.shape[0]}"
            )
        return cls(matrix, np.ascontiguousarray(dense, np.float32))

    @property
    def n_docs(self) -> int:
        return int(self.sparse.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self.sparse.shape[1] + self.dense.shape[1])

    def rows(self, start: int, stop: int) -> Features:
        if start == 0 and stop >= self.n_docs:
            return self
        return Features(self.sparse[start:stop], self.dense[start:stop])


@dataclass(kw_only=True, frozen=True)
class SolverConfig:
    """Settings of the classifiers' training."""

    cost_positive: float = 2.0  # loss weight of a label's own documents
    cost_negative: float = 1.0  # and of the other documents
    bias: float = 1.0  # value of the constant feature; 0 trains without a bias
    tolerance: float = 0.1  # liblinear's stopping rule
    max_epochs: int = 10  # enough for the ranking; the weights themselves converge in 20 to 40
    prune: float = 0.0012  # weights that move a margin by less are dropped, see _limits; chosen on dev
    shares: bool = False  # a document costs a node by the share of its labels below it: XR-Linear's relevance, l1

    def check(self) -> None:
        positive = (self.cost_positive, self.cost_negative, self.tolerance)
        if not all(0 < value < math.inf for value in positive) or self.max_epochs < 1:
            raise ConfigError("solver: costs and tolerance must be above 0, and max_epochs at least 1")
        if not 0 <= self.prune < math.inf or not 0 <= self.bias < math.inf:
            raise ConfigError(f"solver.prune and solver.bias must not be negative; got {self.prune} and {self.bias}")


_Part: TypeAlias = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]  # columns, nodes and values of kept weights


class _Task(NamedTuple):
    parent: int
    first: int
    last: int


def train_level(
    features: Features,
    positives: Csr,
    candidates: Csr,
    children: LongArray,
    config: SolverConfig,
    *,
    seed: int,
    name: str,
    weighted: bool = False,
    run: Run = QUIET,
) -> Csr:
    """Weights (columns of the features + bias, nodes) of one level's classifiers.

    `positives` (documents x nodes) says where a document belongs; `candidates` (documents x parents) which documents
    the children of a parent are trained on, a superset of the positives' parents. With `weighted` the values of
    `positives` multiply the cost of a node's own documents. Cost: see kernels.py, with each node seeing its parent's
    documents only.
    """
    positive_docs = csc_matrix(positives)
    positive_docs.sort_indices()
    parent_docs = csc_matrix(candidates)
    parent_docs.sort_indices()
    n_nodes = positives.shape[1]
    work = partial(
        _solve_task,
        features=features,
        parent_docs=parent_docs,
        positive_docs=positive_docs,
        config=config,
        limits=_limits(features, config.prune),
        seed=seed,
        weighted=weighted,
    )
    parts: list[_Part] = []
    with run.task(name, n_nodes) as advance:
        tasks = list(_tasks(children))
        for part, item in zip(run.spread(work, tasks), tasks, strict=True):
            parts.append(part)
            advance(item.last - item.first)
    return _joined(parts, (features.n_columns + 1, n_nodes))


def _joined(parts: list[_Part], shape: tuple[int, int]) -> Csr:
    """One csr matrix of the parts, which are in the order of their nodes; takes them from the list as it goes on."""
    from everylabel.linear import kernels

    lengths = np.zeros(shape[0], np.int64)
    for columns, _, _ in parts:
        lengths += np.bincount(columns, minlength=shape[0])
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    nodes = np.empty(indptr[-1], np.int32)
    weights = np.empty(indptr[-1], np.float32)
    at = indptr[:-1].copy()
    for _ in range(len(parts)):
        kernels.append_to_rows(*parts.pop(0), at, nodes, weights)
    return csr_matrix((weights, nodes, indptr), shape=shape)


def _limits(features: Features, prune: float) -> FloatArray:
    """How large a weight of each column must be to be kept, for a classifier of length 1; 0 for the bias.

    What a weight does to a margin is its size times the feature's value, so a column's limit is `prune` over the root
    mean square of its values where it is not zero. What a list costs in prediction goes with how often its column
    occurs, and so does what its weights do in sum: with this limit every entry that is kept earns the same. Classifiers
    of frequent labels are long and have many entries to spare: the limit grows with the root of a classifier's length.
    On eurlex57k's dev this has fewer entries than one limit for all weights at the same nDCG@5, and a higher PSP@5.
    """
    X = features.sparse
    squares = np.bincount(X.indices, weights=np.square(X.data, dtype=np.float64), minlength=X.shape[1])
    counts = np.bincount(X.indices, minlength=X.shape[1])
    typical = np.sqrt(np.concatenate([squares / np.maximum(counts, 1), np.square(features.dense).mean(axis=0)]))
    limits = np.append(prune / np.maximum(typical, 1e-12), 0.0)
    return np.asarray(limits, np.float32)


def _tasks(children: LongArray) -> Iterator[_Task]:
    for parent in range(len(children) - 1):
        for first in range(children[parent], children[parent + 1], _LABELS_PER_TASK):
            yield _Task(parent, first, min(first + _LABELS_PER_TASK, int(children[parent + 1])))


def _solve_task(
    item: _Task,
    *,
    features: Features,
    parent_docs: Any,
    positive_docs: Any,
    config: SolverConfig,
    limits: Any,
    seed: int,
    weighted: bool,
) -> _Part:
    from everylabel.linear import kernels

    sparse = features.sparse
    rows = parent_docs.indices[parent_docs.indptr[item.parent] : parent_docs.indptr[item.parent + 1]]
    scratch = np.zeros(sparse.shape[1], np.int32)
    indptr, indices, values, used = kernels.gather(sparse.indptr, sparse.indices, sparse.data, rows, scratch)
    taken = indptr, indices, values, features.dense[rows]
    costs, stop = (config.cost_positive, config.cost_negative), (config.tolerance, config.max_epochs)
    at_dense = np.arange(sparse.shape[1], features.n_columns + 1)
    original = np.concatenate([used, at_dense]).astype(np.int32)  # also the bias, which comes last
    columns, nodes, weights = [], [], []
    for first in range(item.first, item.last, LANES):
        n_lanes = min(LANES, item.last - first)
        y = np.full((len(rows), LANES), -1, np.int8)
        of_positives = np.ones((len(rows), LANES), np.float32) if weighted else None
        for lane in range(n_lanes):
            own = slice(positive_docs.indptr[first + lane], positive_docs.indptr[first + lane + 1])
            at = np.searchsorted(rows, positive_docs.indices[own])
            y[at, lane] = 1
            if of_positives is not None:
                of_positives[at, lane] = positive_docs.data[own]
        W, _ = kernels.solve(taken, y, of_positives, n_lanes, len(used), costs, np.float32(config.bias), stop, seed)
        kept_rows, lanes, kept = kernels.kept_weights(W, n_lanes, limits[original])
        columns.append(original[kept_rows])
        nodes.append(lanes + np.int32(first))
        weights.append(kept)
    return np.concatenate(columns), np.concatenate(nodes), np.concatenate(weights)
