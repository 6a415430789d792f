"""Vectors and models that need not be computed twice: where they are kept, and how vectors are found again.

SQLite, since it is safe against a crash in the middle and against two processes at once. float32: a vector from the
cache is the same to the last bit as one computed now; 1.7 KB a text at 384 dimensions. Each row has a checksum, and a
file that cannot be read is replaced. A cache that cannot be used is no error: it finds nothing and keeps nothing.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import sys
import zlib
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from everylabel.run import QUIET
from everylabel.types import FloatArray

R = TypeVar("R")
# Vectors in the key's own tree (WITHOUT ROWID), or small pages, would waste two thirds of the file.
_PAGES = "PRAGMA page_size = 16384"
_TABLE = "CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB NOT NULL)"
_AT_ONCE = 500  # keys of one question: SQLite's limit is 999 in old builds
_WAIT = 10.0  # seconds for another process that writes


def cache_root() -> Path:
    """$EVERYLABEL_CACHE, else everylabel's folder in the platform's place for caches. Nothing is created."""
    chosen = os.environ.get("EVERYLABEL_CACHE", "")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "everylabel"


class VectorCache:
    """The vectors of texts under one encoder. `encoder` is all that decides them: fingerprint and settings.

    A connection is opened for each call, so that threads and forked processes never share one: about 0.3 ms.
    """

    def __init__(self, encoder: str, dim: int, say: Callable[[str], None] = QUIET.say) -> None:
        self.file = cache_root() / "vectors" / f"{hashlib.sha256(encoder.encode()).hexdigest()[:32]}.sqlite"
        self.dim, self._say = dim, say

    def get(self, texts: Sequence[str]) -> tuple[FloatArray, NDArray[np.bool_]]:
        """The vectors, and which of them are known; the others are zero. Some 50,000 texts a second."""
        vectors = np.zeros((len(texts), self.dim), np.float32)
        known = np.zeros(len(texts), np.bool_)
        if not self.file.is_file():
            return vectors, known
        place = {_key(text): i for i, text in enumerate(texts)}
        for key, value in self._use(lambda connection: _select(connection, list(place))) or []:
            vector = _unpack(value, self.dim)
            if vector is not None:
                vectors[place[key]] = vector
                known[place[key]] = True
        return vectors, known

    def put(self, texts: Sequence[str], vectors: FloatArray) -> None:
        """All or none of them."""
        rows = [(_key(text), _pack(vector)) for text, vector in zip(texts, vectors, strict=True)]
        self._use(lambda connection: connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows))

    def _use(self, work: Callable[[sqlite3.Connection], R]) -> R | None:
        for _ in range(2):
            try:
                self.file.parent.mkdir(parents=True, exist_ok=True)
                with closing(sqlite3.connect(self.file, timeout=_WAIT)) as connection, connection:
                    connection.execute(_PAGES)
                    connection.execute(_TABLE)
                    return work(connection)
            except (sqlite3.OperationalError, OSError):  # not to be written to, full, or locked for long
                return None
            except sqlite3.DatabaseError as error:
                self._say(f"{self.file}: is damaged ({error}) and replaced by an empty one")
                if not _remove(self.file):
                    return None
        return None


def _select(connection: sqlite3.Connection, keys: list[bytes]) -> list[tuple[bytes, bytes]]:
    found: list[Any] = []
    for first in range(0, len(keys), _AT_ONCE):
        some = keys[first : first + _AT_ONCE]
        marks = ",".join("?" * len(some))
        found += connection.execute(f"SELECT text, vector FROM vectors WHERE text IN ({marks})", some).fetchall()
    return found


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _pack(vector: FloatArray) -> bytes:
    data = vector.astype("<f4").tobytes()
    return data + zlib.crc32(data).to_bytes(4, "little")


def _unpack(value: Any, dim: int) -> FloatArray | None:
    if not isinstance(value, bytes) or len(value) != 4 * dim + 4:
        return None
    if zlib.crc32(value[:-4]).to_bytes(4, "little") != value[-4:]:
        return None
    return np.frombuffer(value[:-4], "<f4")


def _remove(file: Path) -> bool:
    try:
        for rest in (file, file.with_name(f"{file.name}-journal")):
            rest.unlink(missing_ok=True)
    except OSError:
        return False
    return True
