"""Which model folders this machine has written or checked: they are opened without a look at their contents.

A mark is an empty file in the cache, named by a hash of the manifest's checksum and, of each file, its size, times,
number and disk. A file that was changed behind an unchanged manifest has other times, a copy another number: both are
checked again. Who can write marks could write models as well. Where no mark can be written, each opening checks.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from everylabel import __version__
from everylabel.encoders.cache import cache_root
from everylabel.errors import ModelError
from everylabel.store.manifest import MANIFEST, digest_of, read_manifest

_CHECKS = 1  # another number when contents are checked more closely: what was checked before is checked again
_MOST = 1000  # marks that are kept
_TICK = 50_000_000  # nanoseconds: a file that was changed since then may change once more within its time stamp


def mark_of(path: Path, manifest: Mapping[str, Any]) -> str:
    """A folder as it is now. One look at each file's entry, none at its bytes; OSError where one is missing."""
    stamps = [[name, *_stamp(path / name)] for name in (MANIFEST, *sorted(manifest["files"]))]
    about = json.dumps([_CHECKS, __version__, digest_of(dict(manifest)), stamps])
    return hashlib.sha256(about.encode()).hexdigest()


def is_known(mark: str) -> bool:
    return (_folder() / mark).is_file()


def knows(path: Path) -> bool:
    """The folder as it is now; False if it cannot be read."""
    try:
        return is_known(mark_of(path, read_manifest(path)))
    except (OSError, ModelError):
        return False


def remember(mark: str) -> None:
    """Never an error."""
    with suppress(OSError):
        folder = _folder()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / mark).touch()
        if len(os.listdir(folder)) > _MOST:  # noqa: PTH208 (a path for each takes ten times as long)
            marks = sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime)
            for old in marks[: _MOST // 2]:
                old.unlink(missing_ok=True)


@contextmanager
def staying_known(folders: Iterable[Path]) -> Iterator[None]:
    """Of these models those that are known are so after the block, too, in which files of theirs are linked or links
    removed: that changes a file's times, and nothing else. For who writes models; see above."""
    known = [folder for folder in folders if knows(folder)]
    yield
    for folder in known:
        with suppress(OSError, ModelError):
            remember(mark_of(folder, read_manifest(folder)))


def is_settled(path: Path, manifest: Mapping[str, Any]) -> bool:
    """Were all files written long enough ago that a change to one would be seen?"""
    newest = max((path / name).stat().st_ctime_ns for name in (MANIFEST, *manifest["files"]))
    return bool(time.time_ns() - newest > _TICK)


def _stamp(file: Path) -> tuple[int, ...]:
    found = file.stat()
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev


def _folder() -> Path:
    return cache_root() / "checked"
