"""Arrays as files, named by their content: what occurs twice in a model is stored once, and is one array when loaded.

Each is a .npy file, which any tool reads. Those of less than 64 KB stand one after the other in one file, small.npy, as
each mapping takes a file handle and some of the system's time. The manifest has type, shape and place of each array, so
that nothing is read when a model is opened.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from everylabel.mapping import array_in, map_file
from everylabel.store.manifest import ARRAYS
from everylabel.store.structure import DTYPES

SMALL = 1 << 16  # bytes
SMALL_FILE = f"{ARRAYS}/small.npy"
NAME_LENGTH = 24  # hexadecimal digits of a sha256: two arrays in 2^96 have one name by chance
_ALIGNED = 64  # bytes at which each array begins, so that it can be used where it is


class ArrayWriter:
    """Writes arrays below a folder. Cost: a sha256 and one pass over the bytes; a copy only of what has gaps.

    `like`: a model whose files of the same content are linked instead of written, where the system lets us. No file of
    a model is ever changed in its place, so that two models may share one.
    """

    def __init__(self, folder: Path, like: Path | None = None) -> None:
        self._like = like
        self.arrays: dict[str, dict[str, Any]] = {}  # name -> where it is
        self.files: dict[str, dict[str, Any]] = {}  # file -> size and checksum
        self._folder = folder
        self._small = bytearray()
        self._names: dict[int, tuple[Any, str]] = {}  # by identity: the array is kept, so that no other gets its number
        (folder / ARRAYS).mkdir()

    def add(self, array: Any) -> str:
        """The array's name."""
        if id(array) in self._names:
            return self._names[id(array)][1]
        values = np.asarray(array, order="C")
        if values.dtype.str not in DTYPES or values.dtype.names:
            raise TypeError(f"an array of {values.dtype} cannot be saved in a model; numbers can")
        header = _header(values)
        content: Any = values.reshape(-1).view(np.uint8) if values.size else np.empty(0, np.uint8)
        found = hashlib.sha256(header)
        found.update(content)
        name = found.hexdigest()[:NAME_LENGTH]
        self._names[id(array)] = (array, name)
        if name not in self.arrays:
            small = len(header) + len(content) < SMALL
            place = self._pack(header, content) if small else self._write(name, header, content, found.hexdigest())
            self.arrays[name] = {"dtype": values.dtype.str, "shape": list(values.shape)} | place
        return name

    def add_file(self, suffix: str, content: Path) -> str:
        """A file that is no array, moved to a name of its content."""
        from everylabel.store.manifest import about

        what = about(content)
        name = f"{ARRAYS}/{what['sha256'][:NAME_LENGTH]}.{suffix}"
        if self._linked(name, what["bytes"]):
            content.unlink()
        else:
            content.replace(self._folder / name)
        self.files[name] = what
        return name

    def finish(self) -> None:
        """Write the small ones, if there are any."""
        if self._small:
            (self._folder / SMALL_FILE).write_bytes(self._small)
            self.files[SMALL_FILE] = {"bytes": len(self._small), "sha256": hashlib.sha256(self._small).hexdigest()}

    def _pack(self, header: bytes, content: Any) -> dict[str, Any]:
        offset = len(self._small) + len(header)
        self._small += header + content.tobytes()
        self._small += bytes(-len(self._small) % _ALIGNED)
        return {"file": SMALL_FILE, "offset": offset}

    def _write(self, name: str, header: bytes, content: Any, digest: str) -> dict[str, Any]:
        file = f"{ARRAYS}/{name}.npy"
        if not self._linked(file, len(header) + len(content)):
            with (self._folder / file).open("xb") as stream:
                stream.write(header)
                stream.write(content)
        self.files[file] = {"bytes": len(header) + len(content), "sha256": digest}
        return {"file": file, "offset": len(header)}

    def _linked(self, file: str, n_bytes: int) -> bool:
        """A file of the same name has the same content; one that was cut short has not the same length."""
        if self._like is None:
            return False
        try:
            if (self._like / file).stat().st_size != n_bytes:
                return False
            os.link(self._like / file, self._folder / file)
        except FileExistsError:
            return True  # twice in one model
        except OSError:
            return False  # not there, another disk, somebody else's, a system without
        return True


class ArrayReader:
    """The arrays of a model by their names, each mapped once, when it is asked for first."""

    def __init__(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        self._folder, self._places, self._listed = folder, manifest["arrays"], manifest["files"]
        self._files: dict[str, Any] = {}
        self._arrays: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._arrays:
            place = self._places[name]
            file = place["file"]
            if file not in self._files:
                self._files[file] = map_file(self.path_of(file))
            self._arrays[name] = array_in(self._files[file], place["dtype"], place["shape"], place["offset"])
        return self._arrays[name]

    def path_of(self, file: str) -> Path:
        """Of a file that the manifest lists: no model leads out of its folder."""
        if file not in self._listed:
            raise KeyError(file)
        return self._folder / file


def _header(values: Any) -> bytes:
    stream = io.BytesIO()
    npy.write_array_header_1_0(stream, npy.header_data_from_array_1_0(values))
    return stream.getvalue()
