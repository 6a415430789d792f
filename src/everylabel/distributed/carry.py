"""A model on every node: mapped where the node sees its folder, else its files are sent there, once a node."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from everylabel.atomic import replaced
from everylabel.store.manifest import MANIFEST, read_manifest

if TYPE_CHECKING:
    from ray import ObjectRef

PIECE = 64 << 20  # bytes that are sent at a time


@dataclass(frozen=True)
class Carried:
    """To be sent to tasks. `files`: where they are in Ray's object store, in pieces; none: all nodes see the folder."""

    path: Path
    digest: str
    files: Mapping[str, list[ObjectRef[np.ndarray]]] = field(default_factory=dict)

    @classmethod
    def of(cls, path: Path, *, send: bool) -> Carried:
        import ray

        names = [MANIFEST, *read_manifest(path)["files"]]
        files = {name: [ray.put(piece) for piece in _pieces(path / name)] for name in names} if send else {}
        return cls(path.resolve(), _digest(path), files)

    def folder(self) -> Path:
        """On a node: where the model is. What was sent stays there for later, by its content."""
        if _digest(self.path) == self.digest or not self.files:
            return self.path
        place = _kept() / self.digest
        if _digest(place) != self.digest:
            import ray

            with replaced(place) as fresh:
                for name, pieces in self.files.items():
                    (fresh / name).parent.mkdir(parents=True, exist_ok=True)
                    with (fresh / name).open("wb") as stream:
                        for piece in pieces:
                            stream.write(ray.get(piece).data)
        return place


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
