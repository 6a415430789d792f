"""Trees that LightGBM has learned, as arrays: read by a kernel, by any number of threads, without LightGBM.

Prediction is most of what a blend does, and LightGBM's own takes a second to import, has threads that do not survive a
fork, and copies each request. The sums are the same to the last bit. Cost of a row: trees x depth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everylabel.parallel import for_each_part
from everylabel.types import FloatArray

_ROWS = 256  # fewer are not worth a second core
_PARTS = ("firsts", "features", "thresholds", "missing", "left", "right", "values")
_CATEGORICAL, _DEFAULT_LEFT, _MISSING = 1, 2, 12  # bits of a node's decision type, as LightGBM writes it
_ZERO, _NAN = 4, 8
_LEAST = np.float64(np.float32(1e-35))  # up to which LightGBM takes a number for 0


@dataclass(frozen=True, eq=False)
class Trees:
    """As `kernels.sum_trees` reads them."""

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
        own = tuple(getattr(self, part) for part in _PARTS)
        if len(columns) < _ROWS:
            kernels.sum_trees(columns, *own, out)
        else:
            for_each_part(len(columns), lambda a, b: kernels.sum_trees(columns[a:b], *own, out[a:b]))
        return out

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
