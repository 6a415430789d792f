"""Writing that is all or nothing: beside its final place first, then renamed."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replaced(target: Path) -> Iterator[Path]:
    """A name beside the target to write a file or folder to; it takes the target's place at the end.

    On any error, Ctrl-C too, what was written is removed and the target is what it was before.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    mark = uuid.uuid4().hex[:8]
    partial = target.with_name(f".{mark}.partial.{target.name}")  # the suffix stays: it decides about compression
    old = target.with_name(f".{mark}.old.{target.name}")
    try:
        yield partial
        if target.is_dir():  # a folder cannot be renamed over a full one
            target.rename(old)
            partial.rename(target)
        else:
            partial.replace(target)
    finally:
        if old.exists() and not target.exists():
            old.rename(target)
        for rest in (old, partial):
            if rest.is_dir():
                shutil.rmtree(rest, ignore_errors=True)
            else:
                rest.unlink(missing_ok=True)
