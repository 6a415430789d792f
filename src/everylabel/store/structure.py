"""What a manifest may say of files, arrays and values: all of it is looked at before a byte of them is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

DTYPES = {
    f"{'|' if size == '1' else '<'}{kind}{size}": int(size)  # bytes
    for kind, sizes in (("b", "1"), ("i", "1248"), ("u", "1248"), ("f", "248"))
    for size in sizes
}
_MOST_AXES = 4
_PARTS = {"array": 1, "texts": 2, "csr": 3}  # arrays that a value of each kind is made of, see values.py


def wrong_part(manifest: Mapping[str, Any]) -> str:
    """What cannot be, in words; "" if all can. Sizes are compared before anything is mapped or allocated."""
    files, arrays = manifest["files"], manifest["arrays"]
    for name, about in files.items():
        if not (isinstance(about, dict) and is_count(about.get("bytes")) and isinstance(about.get("sha256"), str)):
            return f"nothing is said of the file {name}"
    for name, place in arrays.items():
        if not _has_place(place, files):
            return f"the array {name[:40]} has no place in any file"
    for key, entry in (*manifest["labels"].items(), *manifest["state"].items()):
        if not _is_entry(entry, files, arrays):
            return f"{key[:80]!r} is made of nothing that is there"
    return "" if is_count(manifest["n_labels"]) and is_count(manifest["n_train"]) else "a count is none"


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62


def _has_place(place: Any, files: Mapping[str, Any]) -> bool:
    """An array of an allowed type that lies within its file, where it can be used as it is."""
    if not isinstance(place, dict):
        return False
    dtype, file, shape, offset = (place.get(key) for key in ("dtype", "file", "shape", "offset"))
    if not isinstance(dtype, str) or dtype not in DTYPES or not isinstance(file, str) or file not in files:
        return False
    if not isinstance(shape, list) or len(shape) > _MOST_AXES or not all(map(is_count, (*shape, offset))):
        return False
    size, first = DTYPES[dtype], int(offset or 0)
    return bool(first % size == 0 and first + size * math.prod(shape) <= files[file]["bytes"])


def _is_entry(entry: Any, files: Mapping[str, Any], arrays: Mapping[str, Any]) -> bool:
    if not isinstance(entry, dict):
        return False
    kind = next((kind for kind in _PARTS if kind in entry), None)
    if kind is None:
        file = entry.get("file")
        return isinstance(entry.get("index"), str) and isinstance(file, str) and file in files
    names = [entry[kind]] if kind == "array" else entry[kind]
    if not isinstance(names, list) or len(names) != _PARTS[kind]:
        return False
    if kind == "csr" and not (_is_shape(entry.get("shape")) and isinstance(entry.get("sorted"), bool)):
        return False
    return all(isinstance(name, str) and name in arrays for name in names)


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, list) and len(shape) == 2 and all(map(is_count, shape))
