"""A model on every node: mapped where the node sees its folder, else its files are sent there, once a node."""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from everylabel.atomic import replaced
from everylabel.distributed.cluster import on_this_node
from everylabel.errors import ModelError
from everylabel.store.manifest import MANIFEST, read_manifest

if TYPE_CHECKING:
    from ray import ObjectRef

PIECE = 64 << 20  # bytes that are sent at a time


class Files:
    """An actor where the model is: gives its files to who does not see them. What nobody asks for is not read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pieces: dict[str, list[ObjectRef[np.ndarray]]] = {}

    def pieces(self, name: str) -> list[ObjectRef[np.ndarray]]:
        """Where they are in Ray's object store: put there once, and from then on nodes have them of each other."""
        import ray

        if name not in self._pieces:
            self._pieces[name] = [ray.put(piece) for piece in _pieces(self._path / name)]
        return self._pieces[name]


@dataclass(frozen=True)
class Carried:
    """To be sent to tasks. `files`: the actor that has them."""

    path: Path
    digest: str
    files: Any

    @classmethod
    def of(cls, path: Path) -> Carried:
        import ray

        path = path.resolve()
        files = ray.remote(num_cpus=0, scheduling_strategy=on_this_node())(Files).remote(path)
        return cls(path, _digest(path), files)

    def folder(self) -> Path:
        """On a node: where the model is. What was sent stays there for later, by its content."""
        if _digest(self.path) == self.digest:
            return self.path
        place = _kept() / self.digest
        if _digest(place) != self.digest:
            with replaced(place) as fresh:
                fresh.mkdir()
                self._write(fresh, MANIFEST)
                if _digest(fresh) != self.digest:
                    raise ModelError(f"{self.path}: was replaced while it was in use; give the command again")
                for name in read_manifest(fresh)["files"]:
                    self._write(fresh, name)
        return place

    def _write(self, folder: Path, name: str) -> None:
        import ray

        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with (folder / name).open("wb") as stream:
            for piece in ray.get(self.files.pieces.remote(name)):
                stream.write(ray.get(piece).data)


def _kept() -> Path:
    """A folder of this user alone: what is in it is loaded."""
    folder = Path(tempfile.gettempdir()) / f"everylabel-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        return Path(tempfile.mkdtemp(prefix="everylabel-"))
    return folder


def _pieces(file: Path) -> list[np.ndarray]:
    with file.open("rb") as stream:
        return [np.frombuffer(piece, np.uint8) for piece in iter(lambda: stream.read(PIECE), b"")]


def _digest(path: Path) -> str:
    """The manifest has the checksums of all files."""
    try:
        return hashlib.sha256((path / MANIFEST).read_bytes()).hexdigest()
    except OSError:
        return ""
