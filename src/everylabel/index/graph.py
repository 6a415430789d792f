"""What is in usearch's bytes, looked at before usearch itself reads them: it follows every number in them unchecked.

The format of usearch 2: the vectors (two 32-bit sizes, then rows), 64 bytes of what they are, five 64-bit numbers of
the graph, a 16-bit level for each node, and the nodes: key, level, and for each level the number of neighbours and room
for them, twice as much on the lowest one. Cost: one pass over the bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from everylabel import checks
from everylabel.index.checks import checked_vectors

_MAGIC, _MAJOR = b"usearch", 2
_METRIC, _KEY, _SLOT = ord("i"), 14, 15  # inner product, 64-bit keys, 32-bit places of nodes
_SCALARS: dict[str, tuple[int, Any]] = {
    "i8": (23, np.dtype("i1")),
    "f16": (12, np.dtype("<f2")),
    "f32": (11, np.dtype("<f4")),
}
_HEAD, _ABOUT = 64, 40  # bytes
_NODE = 10  # bytes of a key and a level
_REMOVED = (1 << 64) - 1  # the key of a node that was removed
_BLOCK = 8192  # vectors that are looked at at a time


def check_graph(data: Any, ids: Any, dim: int, scalar: str, connectivity: int) -> None:
    """ValueError (of vectors: DataError) unless these bytes are a graph of these ids and settings."""
    from everylabel.index.graph_kernels import wrong_node

    code, dtype = _SCALARS[scalar]
    checks.array(data, "a graph", np.uint8, None)
    n, width = (int(size) for size in _numbers(data, 0, "<u4", 2))
    checks.require(width == dim * dtype.itemsize and n >= len(ids), "a graph of other vectors")
    head = 8 + n * width
    levels_at = head + _HEAD + _ABOUT
    checks.require(levels_at + 2 * n <= len(data), "a graph that is too short")
    if dtype.kind == "f":
        vectors = data[8:head].view(dtype).reshape(n, dim)
        for first in range(0, n, _BLOCK):
            checked_vectors(vectors[first : first + _BLOCK], dim)
    _check_head(data[head : head + _HEAD], n, len(ids), dim, code)
    size, own, lowest, deepest, entry = (int(number) for number in _numbers(data, head + _HEAD, "<u8", 5))
    right = size == n and own == connectivity and lowest == 2 * connectivity and entry < n and deepest < 1 << 15
    checks.require(right, "a graph of other settings")
    levels = _numbers(data, levels_at, "<i2", n)
    checks.require(n and levels.min() >= 0 and levels.max() == deepest == levels[entry], "a graph of other levels")
    sizes = _NODE + 4 * (1 + lowest) + levels.astype(np.int64) * (4 * (1 + connectivity))
    begins = levels_at + 2 * n + np.concatenate([[0], np.cumsum(sizes)])
    checks.require(begins[-1] == len(data), "a graph of another size")
    keys = np.empty(n, np.uint64)
    checks.require(wrong_node(data, begins, levels, connectivity, keys) < 0, "a graph with neighbours that are none")
    there = np.sort(keys[keys != _REMOVED])
    checks.require(np.array_equal(there, np.sort(ids).astype(np.uint64)), "a graph of other ids")


def _check_head(head: Any, n: int, n_ids: int, dim: int, code: int) -> None:
    kinds = head[:7].tobytes(), int(_numbers(head, 7, "<u2", 1)[0]), *head[13:17].tolist(), int(head[41])
    checks.require(kinds == (_MAGIC, _MAJOR, _METRIC, code, _KEY, _SLOT, 0), "a graph of another kind")
    counts = tuple(int(number) for number in _numbers(head, 17, "<u8", 3))
    checks.require(counts == (n_ids, n - n_ids, dim), "a graph of another size")


def _numbers(data: Any, first: int, kind: str, n: int) -> Any:
    """A copy: they stand anywhere."""
    size = n * np.dtype(kind).itemsize
    checks.require(first + size <= len(data), "a graph that is too short")
    return np.frombuffer(data[first : first + size].tobytes(), kind)
