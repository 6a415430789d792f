"""Trees that LightGBM has learned, as arrays: read by a kernel, by any number of threads, without LightGBM.

Prediction is most of what a blend does, and LightGBM's own takes a second to import, has threads that do not survive a
fork, and copies each request. The sums are the same to the last bit. Cost of a row: features x trees, eight at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everylabel.parallel import for_each_part
from everylabel.types import FloatArray

_ROWS = 256  # fewer are not worth a second core
_PARTS = ("firsts", "features", "thresholds", "missing", "left", "right", "values")
_CATEGORICAL, _DEFAULT_LEFT, _MISSING = 1, 2, 12  # bits of a node's decision type, as LightGBM writes it
_ZERO, _NAN = 4, 8
MOST_LEAVES = 32  # of a tree: one bit each
_LEAST = np.float64(np.float32(1e-35))  # up to which LightGBM takes a number for 0


class Lookup(NamedTuple):
    """As `kernels.sum_trees` reads them."""

    used: NDArray[np.int64]  # features
    starts: NDArray[np.int64]  # of each one's thresholds
    thresholds: NDArray[np.float64]
    table: NDArray[np.uint32]  # (used features, places among thresholds, trees): leaves that are left
    values: NDArray[np.float64]  # (trees, leaves from the left)


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

        out = np.empty(len(columns), np.float64)
        if len(columns) < _ROWS:
            kernels.sum_trees(columns, *self._lookup, out)
        else:
            for_each_part(len(columns), lambda a, b: kernels.sum_trees(columns[a:b], *self._lookup, out[a:b]))
        return out

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
        return Lookup(used.astype(np.int64), starts, thresholds, table, values)

    def state(self) -> dict[str, Any]:
        return {part: getattr(self, part) for part in _PARTS}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Trees:
        return cls(**{part: state[part] for part in _PARTS})


def _fields(tree: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in tree.split("\n") if "=" in line)


def _numbers(tree: dict[str, str], key: str, kind: Any) -> Any:
    """A tree of one leaf has no nodes."""
    return (
        np.array(tree.get(key, "").split(), kind)
        if tree.get("num_leaves") != "1" or key == "leaf_value"
        else (np.empty(0, kind))
    )
