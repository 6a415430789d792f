"""The weights of all levels of a tree as inverted lists, in the four bytes an entry that scoring reads them in.

A list belongs to a feature column and a level, and holds (node, weight) in the order of the tree. The lists of one
column lie side by side, level after level: a search comes back for the next level while they are still in the cache.
Weights are 16-bit whole numbers with one scale a level: a step is 1 / 32,767 of the largest weight.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from everylabel import checks
from everylabel.types import Csr, FloatArray, LongArray

_LARGEST = 32_767
_COLUMNS = 4096  # whose lists are looked at at a time


class Lists(NamedTuple):
    """The list of column f at level t has the entries starts[r]:starts[r + 1], with r = f * levels + t."""

    starts: LongArray
    nodes: NDArray[Any]  # uint16 where the nodes of every level fit, else int32
    weights: NDArray[Any]  # int16; or float32, with scales of 1
    scales: FloatArray  # of each level

    @classmethod
    def of_levels(cls, levels: list[Csr]) -> Self:
        """From one csr matrix (columns, nodes) a level. O(entries); beside these, no copy but the lists."""
        from everylabel.linear import kernels

        n_levels = len(levels)
        lengths = np.stack([np.diff(level.indptr) for level in levels], axis=1).ravel()
        starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        small = max(level.shape[1] for level in levels) <= 1 << 16
        nodes = np.empty(starts[-1], np.uint16 if small else np.int32)
        weights = np.empty(starts[-1], np.int16)
        scales = np.ones(n_levels, np.float32)
        for t, level in enumerate(levels):
            largest = max(level.data.max(initial=0), -level.data.min(initial=0))
            scales[t] = (largest or 1.0) / _LARGEST
            first = starts[t:-1:n_levels]
            kernels.put_level(level.indptr, level.indices, level.data, scales[t], first, nodes, weights)
        return cls(starts, nodes, weights, scales)

    def level(self, t: int, n_nodes: int) -> Csr:
        """The weights of one level as a csr matrix (columns, nodes)."""
        n_levels = len(self.scales)
        first, last = self.starts[t:-1:n_levels], self.starts[t + 1 :: n_levels]
        indptr = np.concatenate([[0], np.cumsum(last - first)])
        at = np.repeat(first - indptr[:-1], last - first) + np.arange(indptr[-1])
        data = self.weights[at] * self.scales[t]
        return csr_matrix((data, self.nodes[at].astype(np.int32), indptr), shape=(len(first), n_nodes))

    def state(self) -> dict[str, Any]:
        lengths = np.diff(self.starts)
        smallest = np.min_scalar_type(int(lengths.max(initial=0)))
        return {
            "lengths": lengths.astype(smallest),
            "nodes": self.nodes,
            "weights": self.weights,
            "scales": self.scales,
        }

    def check(self, n_columns: int, n_nodes: list[int]) -> None:
        """Of those that were restored: a list for each column and level, of that level's nodes (so many)."""
        n_levels, n_entries = len(n_nodes), len(self.nodes)
        checks.offsets(self.starts, "lists of weights", n_entries, n_columns * n_levels)
        checks.numbers(self.scales, "scales of weights", n_levels)
        checks.numbers(self.weights, "weights", n_entries, kinds=(np.int16, np.float32))
        checks.indexes(self.nodes, "nodes of weights", max(n_nodes), kinds=(np.uint16, np.int32))
        limits = np.array(n_nodes, np.int32)
        for first in range(0, n_columns if n_levels > 1 else 0, _COLUMNS):
            own = self.starts[first * n_levels : (first + _COLUMNS) * n_levels + 1]
            levels = np.repeat(np.arange(len(own) - 1) % n_levels, np.diff(own))
            inside = self.nodes[own[0] : own[-1]] < limits[levels]
            checks.require(inside.all(), "nodes of weights must be of their level")

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Self:
        checks.array(state["lengths"], "lengths of lists", (np.uint8, np.uint16, np.uint32, np.uint64), None)
        checks.within(state["lengths"], "lengths of lists", 0, len(state["nodes"]))  # their sum stays a sum
        starts = np.concatenate([[0], np.cumsum(state["lengths"], dtype=np.int64)])
        return cls(starts, state["nodes"], state["weights"], state["scales"])
