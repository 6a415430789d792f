"""Reading a folder that others replace as a whole: what is read is all of the old one or all of the new one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from everylabel.errors import ModelError
from everylabel.leftovers import come_back, moved_to

TRIES = 100  # each time the model was replaced while it was being read
T = TypeVar("T")


def steadily(path: Path, read: Callable[[], T]) -> T:
    """What `read` finds in the folder, read again if that was replaced meanwhile.

    A folder that a killed writer has moved away comes back first; for a living one we wait.
    """
    target = Path(os.path.realpath(path))
    for _ in range(TRIES):
        if not come_back(target):
            raise ModelError(
                f"{path}: a save that was killed has left the model as {moved_to(target)}, and it cannot be put back "
                f"here; rename that folder to {target.name}"
            )
        with _watching(path) as is_the_same:
            try:
                found = read()
            except (ModelError, OSError):
                if moved_to(target) is None and is_the_same():  # in this order: it may come back in between
                    raise
                continue
            if is_the_same():
                return found
    raise ModelError(f"{path}: is replaced again and again while it is being opened; try again when that has ended")


@contextmanager
def _watching(path: Path) -> Iterator[Callable[[], bool]]:
    """Is it the folder that it was? It is kept open, so that no other gets its number."""
    handle = None
    with suppress(OSError):  # there is none, or a system that does not open folders
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    before = _about(path) if handle is None else os.fstat(handle)

    def is_the_same() -> bool:
        now = _about(path)
        return before is None and now is None if before is None or now is None else os.path.samestat(before, now)

    try:
        yield is_the_same
    finally:
        if handle is not None:
            os.close(handle)


def _about(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None
