"""An index is one file: arrays in numpy's own format, one after the other, each of which can be memory-mapped.

The sizes are checked on load, the bytes are not: that would read them all, and the store does it (sha256).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from everylabel.atomic import replaced
from everylabel.errors import ModelError
from everylabel.mapping import array_in, map_file

_VERSION = (1, 0)
_ALIGNED = 64  # bytes at which each array begins, so that it can be used where it is


def write_arrays(path: str | Path, *arrays: Any) -> None:
    """Atomically. One pass over the bytes, no copy in memory."""
    with replaced(Path(path)) as partial, partial.open("wb") as stream:
        for array in arrays:
            npy.write_array(stream, np.ascontiguousarray(array), _VERSION, allow_pickle=False)
            stream.write(bytes(-stream.tell() % _ALIGNED))


def map_arrays(path: str | Path, n_arrays: int) -> list[Any]:
    """The arrays of a file, mapped and not read yet; ModelError where the file does not hold exactly these."""
    path = Path(path)
    try:
        mapped, arrays = map_file(path), list[Any]()
        for _ in range(n_arrays):
            shape, dtype = _header(mapped)
            arrays.append(array_in(mapped, dtype, shape, mapped.tell()))
            end = mapped.tell() + arrays[-1].nbytes
            mapped.seek(end + -end % _ALIGNED)
        if mapped.tell() != len(mapped):
            raise ValueError(f"it goes on after byte {mapped.tell()}")
    except Exception as error:  # of many kinds: numpy reads a header with Python's tokeniser
        raise ModelError(f"{path}: is no index or is damaged ({error}); restore it from a copy, or fit again") from None
    return arrays


def _header(stream: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    if npy.read_magic(stream) != _VERSION:
        raise ValueError("an unknown version of the npy format")
    shape, fortran_order, dtype = npy.read_array_header_1_0(stream)
    if fortran_order or dtype.hasobject or any(size < 0 for size in shape):
        raise ValueError("an array of a kind that is never written")
    return shape, dtype
