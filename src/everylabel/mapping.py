"""Arrays that stay in their file: mapped into memory, read when they are used, their pages shared by all processes.

Copy-on-write: they look writable, so that compiled kernels see one kind of array; a write would change this process's
own copy of a page and never the file. Before Python 3.13 each mapping keeps a file open.
"""

from __future__ import annotations

import math
import mmap
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

_UNTRACKED: dict[str, Any] = {"trackfd": False} if sys.version_info >= (3, 13) else {}


def map_file(path: Path) -> mmap.mmap:
    """The whole file, which must not be empty. Nothing is read."""
    with path.open("rb") as stream:
        return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY, **_UNTRACKED)


def array_in(mapped: mmap.mmap, dtype: Any, shape: Sequence[int], offset: int) -> Any:
    """The array that begins at a byte of a mapped file; ValueError where the file is too short for it."""
    dtype, size = np.dtype(dtype), math.prod(shape)
    if dtype.hasobject or min(shape, default=0) < 0 or not 0 <= offset <= len(mapped) - size * dtype.itemsize:
        raise ValueError(f"no array of {dtype} {tuple(shape)} is at byte {offset} of {len(mapped)}")
    if size == 0:
        return np.empty(shape, dtype)
    return np.frombuffer(mapped, dtype, size, offset).reshape(shape)


def is_mapped(array: Any) -> bool:
    """Does an array stand in a file?"""
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array.obj if isinstance(array, memoryview) else array, mmap.mmap)
