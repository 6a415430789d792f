"""What a model from anywhere must keep before compiled kernels index by it, compute with it, or allocate for it.

Kernels look at no bounds: an index that is too large reads or writes somewhere else in memory. So each part of a method
says, beside what it restores, what its arrays are (`check`), with the words of this file. Each is one or two passes
over an array, without a copy of it. A ValueError says what is wrong; the store makes it a `ModelError`.
A model that this machine has written or checked is not checked again (store/known.py).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

LARGEST = 1e9  # of a number in a model: products and sums of such stay finite in what a kernel computes
_LARGEST_SETTING = 1 << 40
_BLOCK = 1 << 20  # bytes of texts that are looked at at a time
_FLOATS = (np.dtype("<f2"), np.dtype("<f4"), np.dtype("<f8"))


def require(fits: Any, what: str) -> None:
    if not fits:
        raise ValueError(what)


def whole(value: Any, name: str, least: int = 0, most: int = 1 << 40) -> int:
    """A whole number, which may decide how much is allocated."""
    right = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
    require(right, f"{name} must be a whole number from {least} to {most}")
    return int(value)


def number(value: Any, name: str, least: float = -LARGEST, most: float = LARGEST) -> float:
    right = isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most
    require(right, f"{name} must be a number from {least:g} to {most:g}")
    return float(value)


def settings(values: Any) -> None:
    """Those of a method that was loaded, and of its parts: a number of any size would be a finite one."""
    for name, value in values.items():
        if isinstance(value, dict):
            settings(value)
        elif isinstance(value, (int, float)):
            require(abs(value) <= _LARGEST_SETTING, f"the setting {name} is too large")


def array(values: Any, name: str, kinds: Any, *shape: int | None) -> None:
    """An array of one of these types (kernels are compiled for few) and this shape; None: any length."""
    allowed = [np.dtype(kind) for kind in (kinds if isinstance(kinds, tuple) else (kinds,))]
    require(isinstance(values, np.ndarray), f"{name} must be an array")
    require(values.dtype in allowed, f"{name} must be {allowed[0]}, not {values.dtype}")
    same = values.ndim == len(shape) and all(n is None or n == own for n, own in zip(shape, values.shape, strict=True))
    require(same, f"{name} must have the shape {_spoken(shape)}, not {values.shape}")


def within(values: Any, name: str, least: float, most: float) -> None:
    """All from `least` to `most`; NaN is nowhere."""
    if values.size:
        low, high = _extremes(values)
        require(low >= least and high <= most, f"{name} must be from {least:g} to {most:g}")


def numbers(values: Any, name: str, *shape: int | None, kinds: Any = np.float32, most: float = LARGEST) -> None:
    """An array of finite numbers, none of them huge."""
    array(values, name, kinds, *shape)
    within(values, name, -most, most)


def indexes(values: Any, name: str, below: int, *shape: int | None, kinds: Any = np.int32, least: int = 0) -> None:
    """Places in something of the length `below`."""
    array(values, name, kinds, *(shape or (None,)))
    if values.size:
        low, high = _extremes(values)
        require(least <= low and high < below, f"{name} must be from {least} to {below - 1}")


def offsets(values: Any, name: str, end: int, n: int | None = None) -> None:
    """Where each of n parts begins, from 0 to `end`, and never goes back."""
    array(values, name, np.int64, None if n is None else n + 1)
    right = len(values) > 0 and values[0] == 0 and values[-1] == end and bool((values[1:] >= values[:-1]).all())
    require(right, f"{name} must go from 0 to {end}, and never back")


def ascending(values: Any, name: str, *, strictly: bool = False) -> None:
    right = (values[1:] > values[:-1]) if strictly else (values[1:] >= values[:-1])
    require(right.all(), f"{name} must ascend")


def once_each(values: Any, name: str, below: int) -> None:
    """No place twice; they are `indexes` below that. 1 byte for each place there could be."""
    seen = np.zeros(below, np.bool_)
    seen[values] = True
    require(int(seen.sum()) == values.size, f"{name} must not have a value twice")


def no_nan(values: Any, name: str) -> None:
    """What must hold for all floats of a model, whatever they are; infinite ones a few have (thresholds of trees)."""
    if values.dtype in _FLOATS and values.size:
        require(not math.isnan(values.min()), f"{name} has NaN among its values")


def utf8(data: Any, name: str, begins: Any = ()) -> None:
    """Bytes of texts, halves of characters included; `begins`: of each text, never inside a character."""
    first = 0
    while first < len(data):
        last = min(first + _BLOCK, len(data))
        for _ in range(3):  # a character has four bytes at most
            last -= int(first < last < len(data) and data[last] & 0xC0 == 0x80)
        _decodes(data[first:last], name)
        first = last
    inside = np.asarray(begins, np.int64)
    inside = inside[inside < len(data)]
    require(not ((data[inside] & 0xC0) == 0x80).any(), f"{name} has a text that begins inside a character")


def csr(matrix: Any, name: str, *, is_sorted: bool) -> None:
    """A matrix whose parts were put together without a look at them."""
    rows, columns = matrix.shape
    require(matrix.indices.dtype in (np.dtype("<i4"), np.dtype("<i8")), f"{name}: columns must be int32 or int64")
    require(matrix.indptr.dtype == matrix.indices.dtype, f"{name}: rows and columns must be of one type")
    offsets(matrix.indptr.astype(np.int64, copy=False), f"{name}: rows", len(matrix.indices), rows)
    indexes(matrix.indices, f"{name}: columns", columns, kinds=(np.int32, np.int64))
    if is_sorted and len(matrix.indices) > 1:
        rises = matrix.indices[1:] > matrix.indices[:-1]
        begins = matrix.indptr[1:-1]
        rises[begins[(begins > 0) & (begins < len(matrix.indices))] - 1] = True
        require(rises.all(), f"{name}: columns must ascend in each row")


def matrix(value: Any, name: str, *shape: int | None, kinds: Any = np.float32) -> None:
    """A csr matrix of this shape; that its parts fit together the store has seen to."""
    require(hasattr(value, "indptr"), f"{name} must be a sparse matrix")
    right = all(n is None or n == own for n, own in zip(shape, value.shape, strict=True))
    require(right, f"{name} must have the shape {_spoken(shape)}, not {value.shape}")
    numbers(value.data, name, None, kinds=kinds)


def _decodes(data: Any, name: str) -> None:
    try:
        if (data > 127).any():
            data.tobytes().decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not UTF-8 ({error.reason})") from None


def _extremes(values: Any) -> tuple[Any, Any]:
    """Both are NaN where one is among them."""
    return values.min().item(), values.max().item()


def _spoken(shape: tuple[int | None, ...]) -> str:
    return f"({', '.join('any' if n is None else str(n) for n in shape)})"
