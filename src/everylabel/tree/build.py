"""A balanced tree over labels, by spherical 2-means down from the root (Prabhu et al., Parabel, 2018).

Every split sorts a group by how much nearer each label is to one centre than to the other and cuts at the wanted size,
so leaves differ by one label at most. A group is split into any number of parts by halving it. Cost: O(nnz of the label
vectors x log2(leaves) x iterations); deterministic under a seed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

from everylabel import checks
from everylabel.errors import ConfigError
from everylabel.run import QUIET, Run
from everylabel.types import Csr, FloatArray, IntArray, LongArray

_ITERATIONS = 20
_DEEPEST = 64  # levels: each has at least twice the nodes of the one above


@dataclass(frozen=True)
class LabelTree:
    """`order` is the labels from left to right; `children[t]` says where each node's children begin, level by level.

    `children[0]` has the root alone; the children of the last level are places in `order`. One level: a flat tree.
    """

    order: IntArray
    children: tuple[LongArray, ...]

    @property
    def depth(self) -> int:
        return len(self.children)

    def node_of_label(self, level: int) -> LongArray:
        """For each place in `order`, its node at a level (level `depth` is the labels themselves)."""
        node = np.arange(len(self.order), dtype=np.int64)
        for starts in reversed(self.children[level:]):
            node = np.searchsorted(starts, node, side="right") - 1
        return node

    def check(self, n_labels: int) -> None:
        """Of one that was restored: each level's nodes share out the next level's, the last one's the labels."""
        checks.require(0 < self.depth <= _DEEPEST, f"a tree of {self.depth} levels")
        checks.indexes(self.order, "labels of the tree", n_labels)
        checks.once_each(self.order, "labels of the tree", n_labels)
        checks.require(len(self.order), "a tree must have a label")
        n_nodes = 1
        for t, level in enumerate(self.children):
            checks.array(level, "children of the tree", np.int64, n_nodes + 1)
            n_nodes = len(self.order) if t == self.depth - 1 else len(self.children[t + 1]) - 1
            checks.offsets(level, "children of the tree", n_nodes)

    def state(self) -> dict[str, Any]:
        return {"order": self.order} | {f"children{t}": starts for t, starts in enumerate(self.children)}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> LabelTree:
        depth = sum(key.startswith("children") for key in state)
        return cls(state["order"], tuple(state[f"children{t}"] for t in range(depth)))


def flat_tree(labels: IntArray) -> LabelTree:
    return LabelTree(labels.astype(np.int32), (np.array([0, len(labels)], np.int64),))


def pifa(X: Csr, Y: Csr) -> Csr:
    """Positive instance feature aggregation: a label is the sum of its documents. O(pairs x words)."""
    return csr_matrix(Y.T @ X, dtype=np.float32)


def build_tree(
    vectors: Any,
    labels: IntArray,
    *,
    leaf_size: int,
    arity: int,
    first: int | None = None,
    rng: np.random.Generator,
    run: Run = QUIET,
) -> LabelTree:
    """The tree of `labels`; row i of `vectors` (csr or dense, only its direction counts) belongs to labels[i].

    `first` is the number of the root's children, below which nodes have up to `arity` each. Without it the root has
    what is left: `arity` children at most, and sometimes two.
    """
    if leaf_size < 2 or arity < 2:
        raise ConfigError(f"leaf_size and arity must be at least 2; got {leaf_size} and {arity}")
    n_leaves = max(1, math.ceil(len(labels) / leaf_size))
    depth = _levels_above_leaves(n_leaves, arity)
    if first is not None and n_leaves > 1:
        depth = 1 + _levels_above_leaves(math.ceil(n_leaves / first), arity)
    vectors = Directions.of(vectors if issparse(vectors) else np.asarray(vectors, np.float32))
    groups: list[tuple[NDArray[np.int64], int]] = [(np.arange(len(labels), dtype=np.int64), n_leaves)]
    children: list[LongArray] = []
    with run.task("label tree", n_leaves) as advance:
        for level in range(depth):
            most_leaves = arity ** (depth - 1 - level)
            split: list[tuple[NDArray[np.int64], int]] = []
            starts = [0]
            for group, leaves in groups:
                n_parts = math.ceil(leaves / most_leaves) if level or first is None else min(first, leaves)
                parts = np.array_split(np.arange(leaves), n_parts)
                split += _split(vectors, group, [len(part) for part in parts], rng)
                starts.append(len(split))
            children.append(np.array(starts, np.int64))
            groups = split
        advance(n_leaves)
    order = np.concatenate([group for group, _ in groups])
    children.append(np.concatenate([[0], np.cumsum([len(group) for group, _ in groups])]).astype(np.int64))
    return LabelTree(labels[order].astype(np.int32), tuple(children))


def _levels_above_leaves(n_leaves: int, arity: int) -> int:
    depth = 0
    while arity**depth < n_leaves:
        depth += 1
    return depth


@dataclass(frozen=True)
class Directions:
    """Vectors, csr or dense float32, of which only the direction counts.

    They are kept as they came and multiplied by float32 alone, because every copy of them would be large.
    """

    vectors: Any
    scale: FloatArray  # 1 / length of each vector; 0 for a vector of zeros

    @classmethod
    def of(cls, vectors: Any) -> Self:
        squares = np.zeros(vectors.shape[0], np.float32)
        if issparse(vectors):
            filled = np.diff(vectors.indptr) > 0
            squares[filled] = np.add.reduceat(np.square(vectors.data), vectors.indptr[:-1][filled])
        else:
            squares[:] = np.square(vectors).sum(axis=1)
        return cls(vectors, np.divide(1, np.sqrt(squares), out=np.zeros_like(squares), where=squares > 0))

    def subset(self, rows: Any) -> Directions:
        return Directions(self.vectors[rows], self.scale[rows])

    def direction(self, i: int) -> Any:
        row = self.vectors[i].toarray().ravel() if issparse(self.vectors) else self.vectors[i]
        return row * self.scale[i]

    def along(self, direction: Any) -> Any:
        """Dot product of each with a direction; rounded, so that the order in which a sum was made decides no tie."""
        return np.round(np.asarray(self.vectors @ direction, dtype=np.float64) * self.scale, 6)

    def centre(self, rows: NDArray[np.int64]) -> Any:
        member = np.zeros(len(self.scale), np.float32)
        member[rows] = self.scale[rows]
        total = np.asarray(self.vectors.T @ member).ravel()
        return total / (np.linalg.norm(total) or 1.0)


def _split(
    vectors: Directions, group: NDArray[np.int64], leaves: list[int], rng: np.random.Generator
) -> list[tuple[NDArray[np.int64], int]]:
    """The group in len(leaves) parts, each with its number of leaves and a fair share of the labels."""
    if len(leaves) == 1:
        return [(np.sort(group), leaves[0])]
    half = (len(leaves) + 1) // 2
    n_left = round(len(group) * sum(leaves[:half]) / sum(leaves))
    everything = len(group) == len(vectors.scale)
    left, right = _halve(vectors if everything else vectors.subset(group), n_left, rng)
    return _split(vectors, group[left], leaves[:half], rng) + _split(vectors, group[right], leaves[half:], rng)


def _halve(vectors: Directions, n_left: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Balanced spherical 2-means; starts from a random label and the one least like it."""
    n_labels = len(vectors.scale)
    first = int(rng.integers(n_labels))
    second = int(np.argmin(vectors.along(vectors.direction(first))))
    difference = vectors.direction(first) - vectors.direction(second)
    left = np.empty(0, np.int64)
    for _ in range(_ITERATIONS):
        order = np.argsort(-vectors.along(difference), kind="stable")
        new_left = np.sort(order[:n_left])
        if np.array_equal(new_left, left):
            break
        left = new_left
        difference = vectors.centre(left) - vectors.centre(np.sort(order[n_left:]))
    return left, np.setdiff1d(np.arange(n_labels), left)
