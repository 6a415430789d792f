"""Trees that LightGBM has learned, as arrays: read by a kernel, by any number of threads, without LightGBM.

Prediction is most of what a blend does, and LightGBM's own takes a second to import, has threads that do not survive a
fork, and copies each request. The sums are the same to the last bit. Cost of a row: features x trees, eight at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everylabel import checks
from everylabel.parallel import for_each_part
from everylabel.types import FloatArray

_ROWS = 256  # fewer are not worth a second core
_PARTS = {
    "firsts": np.int64,
    "features": np.int32,
    "thresholds": np.float64,
    "missing": np.int8,
    "left": np.int32,
    "right": np.int32,
    "values": np.float64,
    "shrinkage": np.float64,
}
_CATEGORICAL, _DEFAULT_LEFT, _MISSING = 1, 2, 12  # bits of a node's decision type, as LightGBM writes it
_ZERO, _NAN = 4, 8
MOST_LEAVES = 32  # of a tree: one bit each
MOST_TREES = 1_000  # that are read
_MOST_THRESHOLDS = 1_024  # of a feature: LightGBM has 255
_LARGEST_VALUE = 1e6  # of a leaf
_LEAST = np.float64(np.float32(1e-35))  # up to which LightGBM takes a number for 0
_NOTHING = 1e-15  # of curvature, so that a leaf without rows has an output


class Lookup(NamedTuple):
    """As `kernels.sum_trees` reads them."""

    used: NDArray[np.int64]  # features
    starts: NDArray[np.int64]  # of each one's thresholds
    thresholds: NDArray[np.float64]
    table: NDArray[np.uint32]  # (used features, places among thresholds, trees): leaves that are left
    values: NDArray[np.float64]  # (trees, leaves from the left)
    order: NDArray[np.int64]  # (trees, leaves from the left): the place of each among the tree's leaves


@dataclass(frozen=True, eq=False)
class Trees:
    """As they are saved. Nodes of tree t begin at firsts[t]; a child below 0 is a leaf, -1 - its place among the tree's
    leaves, whose values begin at firsts[t] + t. `missing`: where a value that is not there goes, 1 left, 0 right; 2: it
    is 0."""

    firsts: NDArray[np.int64]
    features: NDArray[np.int32]
    thresholds: NDArray[np.float64]
    missing: NDArray[np.int8]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    values: NDArray[np.float64]
    shrinkage: NDArray[np.float64]  # of each tree: how much of what its rows ask for a leaf gives

    @classmethod
    def of_text(cls, model: str) -> Trees:
        """From LightGBM's own text. O(nodes)."""
        trees = [_fields(part) for part in model.partition("end of trees")[0].split("\nTree=")[1:]]
        sizes = [len(_numbers(tree, "left_child", np.int32)) for tree in trees]
        joined = {
            name: np.concatenate([np.empty(0, kind), *(_numbers(tree, key, kind) for tree in trees)])
            for name, key, kind in (
                ("features", "split_feature", np.int32),
                ("thresholds", "threshold", np.float64),
                ("left", "left_child", np.int32),
                ("right", "right_child", np.int32),
                ("values", "leaf_value", np.float64),
                ("decisions", "decision_type", np.int32),
                ("shrinkage", "shrinkage", np.float64),
            )
        }
        decisions = joined.pop("decisions")
        if max(sizes, default=0) >= MOST_LEAVES:
            raise ValueError(f"a tree of more than {MOST_LEAVES} leaves is never learned here")
        if (decisions & _CATEGORICAL).any() or ((decisions & _MISSING) == _ZERO).any():
            raise ValueError("a tree that splits by categories, or takes 0 for missing, is never learned here")
        least = joined["thresholds"] == -_LEAST  # the one split that would tell such a number from 0
        joined["thresholds"][least] = np.nextafter(-_LEAST, -1)
        by_default = np.where(decisions & _DEFAULT_LEFT, 1, 0)
        missing = np.where((decisions & _MISSING) == _NAN, by_default, 2).astype(np.int8)
        return cls(firsts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), missing=missing, **joined)

    def sums(self, columns: FloatArray) -> NDArray[np.float64]:
        from everylabel.tagger import kernels

        out, lookup = np.empty(len(columns), np.float64), self._lookup[:-1]
        if len(lookup[0]) and lookup[0][-1] >= columns.shape[1]:
            raise ValueError(f"trees of {lookup[0][-1] + 1} columns, and there are {columns.shape[1]}")
        if len(columns) < _ROWS:
            kernels.sum_trees(columns, *lookup, out)
        else:
            for_each_part(len(columns), lambda a, b: kernels.sum_trees(columns[a:b], *lookup, out[a:b]))
        return out

    def refitted(
        self, columns: FloatArray, hits: NDArray[np.bool_], kept: float, weights: FloatArray | None = None
    ) -> Trees:
        """The same trees, each leaf moved towards what these rows ask for by the logistic loss; `kept`: of its old
        value; `weights`: of the rows. As LightGBM's `refit`, tree after tree, each on what those before it give now.
        O(rows x trees)."""
        from everylabel.tagger import kernels

        lookup = self._lookup
        places = np.empty((len(columns), len(self.firsts) - 1), np.int64)
        kernels.find_leaves(columns, *lookup[:4], places)
        values, sums, sides = self.values.copy(), np.zeros(len(columns)), np.where(hits, 1.0, -1.0)
        for t, first in enumerate(self.firsts[:-1] + np.arange(len(self.firsts) - 1)):
            leaves, n_leaves = lookup.order[t][places[:, t]], int(self.firsts[t + 1] - self.firsts[t]) + 1
            asked = (-sides / (1 + np.exp(sides * sums))).astype(np.float32).astype(np.float64)
            curved = (np.abs(asked) * (1 - np.abs(asked))).astype(np.float32)
            if weights is not None:
                asked, curved = asked * weights, curved * weights
            slopes, curvature = (np.bincount(leaves, weights, n_leaves) for weights in (asked, curved))
            new = -slopes / (curvature + _NOTHING) * self.shrinkage[t]
            values[first : first + n_leaves] = kept * values[first : first + n_leaves] + (1 - kept) * new
            sums += values[first + leaves]
        return replace(self, values=values)

    @cached_property
    def _lookup(self) -> Lookup:
        """Made once, on first use: some 10 ms, and 4 bytes x trees x thresholds. See `kernels.sum_trees`."""
        from everylabel.tagger import kernels

        n_trees, n_nodes = len(self.firsts) - 1, len(self.features)
        order, below = np.zeros((n_trees, MOST_LEAVES), np.int64), np.zeros(n_nodes, np.uint32)
        kernels.leaves_from_the_left(self.firsts, self.left, self.right, order, below)
        first_leaf = self.firsts[:-1] + np.arange(n_trees)
        values = self.values[np.minimum(first_leaf[:, None] + order, len(self.values) - 1)]
        used = np.unique(self.features)
        by_feature = [np.unique(self.thresholds[self.features == feature]) for feature in used]
        starts = np.concatenate([[0], np.cumsum([len(own) for own in by_feature])]).astype(np.int64)
        most = max(map(len, by_feature), default=0)
        table = np.full((len(used), most + 2, n_trees), 0xFFFFFFFF, np.uint32)  # the last place: not there
        tree = np.repeat(np.arange(n_trees), np.diff(self.firsts))
        to_right = np.where(self.missing == 2, self.thresholds < 0, self.missing == 0)
        for i, feature in enumerate(used):
            nodes = np.flatnonzero(self.features == feature)
            above = 1 + np.searchsorted(by_feature[i], self.thresholds[nodes])  # the first place that goes to the right
            np.bitwise_and.at(table[i], (above, tree[nodes]), ~below[nodes])
            table[i, :-1] = np.bitwise_and.accumulate(table[i, :-1], axis=0)
            gone = nodes[to_right[nodes]]
            np.bitwise_and.at(table[i, most + 1], tree[gone], ~below[gone])
        thresholds = np.concatenate([np.empty(0), *by_feature])
        return Lookup(used.astype(np.int64), starts, thresholds, table, values, order)

    def state(self) -> dict[str, Any]:
        return {part: getattr(self, part) for part in _PARTS}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Trees:
        """Trees that are never refitted may come without `shrinkage`."""
        given = {"shrinkage": np.ones(max(len(state["firsts"]) - 1, 0)), **state}
        return cls(**{part: np.asarray(given[part], kind) for part, kind in _PARTS.items()})

    def check(self, n_columns: int) -> None:
        """Of those that were restored: whole trees on so many columns. O(nodes)."""
        n_nodes, n_trees = len(self.features), len(self.firsts) - 1
        checks.require(n_trees <= MOST_TREES, f"{n_trees} trees are more than are ever learned")
        checks.offsets(self.firsts, "trees", n_nodes)
        sizes = np.diff(self.firsts)
        checks.within(sizes, "nodes of a tree", 0, MOST_LEAVES - 1)
        checks.indexes(self.features, "features of trees", n_columns)
        checks.numbers(self.thresholds, "thresholds of trees", n_nodes, kinds=np.float64, most=np.inf)
        used = np.unique(np.column_stack([self.features, self.thresholds]), axis=0)[:, 0].astype(np.int64)
        most = int(np.bincount(used, minlength=1).max())
        checks.require(most <= _MOST_THRESHOLDS, f"{most} thresholds of a feature are more than are ever learned")
        checks.indexes(self.missing, "missing values of trees", 3, n_nodes, kinds=np.int8)
        checks.numbers(self.values, "leaves of trees", n_nodes + n_trees, kinds=np.float64, most=_LARGEST_VALUE)
        checks.numbers(self.shrinkage, "shrinkage of trees", n_trees, kinds=np.float64, most=1)
        for side in (self.left, self.right):
            checks.array(side, "children of trees", np.int32, n_nodes)
        self._check_children(sizes)

    def _check_children(self, sizes: NDArray[np.int64]) -> None:
        """Each node but the root, and each leaf, is the child of one node, which stands before it."""
        first, own = np.repeat(self.firsts[:-1], sizes), np.repeat(sizes, sizes)
        place = np.arange(len(first)) - first
        first_leaf = np.repeat(self.firsts[:-1] + np.arange(len(sizes)), sizes)
        nodes, leaves = [], []
        for child in (self.left.astype(np.int64), self.right.astype(np.int64)):
            inner = child >= 0
            right = np.where(inner, (child > place) & (child < own), -1 - child <= own)
            checks.require(right.all(), "a node of a tree has a child that is none")
            nodes.append((first + child)[inner])
            leaves.append((first_leaf - 1 - child)[~inner])
        for found, n, name in ((nodes, len(first), "nodes"), (leaves, len(self.values), "leaves")):
            once = np.concatenate(found)
            checks.once_each(once, f"{name} of trees", n)
        with_nodes = int((sizes > 0).sum())
        n_found = len(np.concatenate(nodes)), len(np.concatenate(leaves))
        whole = n_found == (len(first) - with_nodes, len(self.values) - (len(sizes) - with_nodes))
        checks.require(whole, "a tree has nodes or leaves that nothing leads to")


def _fields(tree: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in tree.split("\n") if "=" in line)


def _numbers(tree: dict[str, str], key: str, kind: Any) -> Any:
    """A tree of one leaf has no nodes."""
    if tree.get("num_leaves") == "1" and key not in ("leaf_value", "shrinkage"):
        return np.empty(0, kind)
    return np.array(tree.get(key, "").split(), kind)
