"""A state, name -> value, as entries of the manifest: which arrays a value is made of. The rest is plain JSON."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from everylabel import checks
from everylabel.data.columns import TextColumn
from everylabel.index.build import INDEX_KINDS, load_index
from everylabel.store.arrays import ArrayReader, ArrayWriter

Entry = dict[str, Any]
"""{"array": NAME}, {"texts": [NAMES]}, {"csr": [NAMES], "shape": ..., "sorted": ...} or {"index": KIND, "file": ...}"""


def entries_of(state: Mapping[str, Any], writer: ArrayWriter, folder: Path) -> tuple[dict[str, Entry], dict[str, Any]]:
    """(entries of the values that are arrays or made of them, the others); the arrays are written."""
    entries: dict[str, Entry] = {}
    plain: dict[str, Any] = {}
    for key, value in state.items():
        if issparse(value):
            matrix = csr_matrix(value)
            parts = [writer.add(part) for part in (matrix.data, matrix.indices, matrix.indptr)]
            shape = [int(size) for size in matrix.shape]
            entries[key] = {"csr": parts, "shape": shape, "sorted": bool(matrix.has_sorted_indices)}
        elif isinstance(value, np.ndarray):
            entries[key] = {"array": writer.add(value)}
        elif isinstance(value, TextColumn):
            entries[key] = {"texts": [writer.add(part) for part in value.whole()]}
        elif (kind := getattr(value, "kind", None)) in INDEX_KINDS:
            value.save(folder / "index")
            entries[key] = {"index": kind, "file": writer.add_file(str(kind), folder / "index")}
        else:
            plain[key] = value
    return entries, plain


def arrays_in(entry: Entry) -> list[str]:
    """The names of the arrays that a value is made of."""
    if "array" in entry:
        return [entry["array"]]
    return list(entry.get("texts") or entry.get("csr") or ())


def values_of(entries: Mapping[str, Entry], arrays: ArrayReader) -> dict[str, Any]:
    """The values, mapped. KeyError, TypeError or ValueError where entries and arrays do not fit together."""
    return {key: _value(entry, arrays) for key, entry in entries.items()}


def check_values(values: Mapping[str, Any]) -> None:
    """What holds for all values of a kind, whoever has them: ValueError where it does not. Reads all bytes."""
    for key, value in values.items():
        if isinstance(value, np.ndarray):
            checks.no_nan(value, key)
        elif isinstance(value, TextColumn):
            value.check(key)
        elif issparse(value):
            checks.no_nan(value.data, key)
            checks.csr(value, key, is_sorted=getattr(value, "_has_sorted_indices", False))  # as the manifest says
        elif getattr(value, "kind", None) in INDEX_KINDS:
            value.check()


def _value(entry: Entry, arrays: ArrayReader) -> Any:
    if "array" in entry:
        return arrays[entry["array"]]
    if "texts" in entry:
        data, offsets = (arrays[name] for name in entry["texts"])
        checks.array(data, "texts", np.uint8, None)
        checks.array(offsets, "texts", np.int64, None)
        checks.require(len(offsets), "a column of texts is none")
        return TextColumn(data, offsets)
    if "csr" in entry:
        data, indices, indptr = (arrays[name] for name in entry["csr"])
        if data.ndim != 1 or data.shape != indices.shape or indptr.shape != (entry["shape"][0] + 1,):
            raise ValueError("a csr matrix has parts of different lengths")
        matrix = csr_matrix(tuple(entry["shape"]), dtype=data.dtype)  # filled in by hand: the constructor would copy
        matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
        if entry["sorted"]:
            matrix.has_sorted_indices = True  # else the first who asks would read all of it
        return matrix
    return load_index(entry["index"], arrays.path_of(entry["file"]))
