"""A model to be changed: one in memory, or one in a folder, which nobody else changes meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from everylabel.errors import ModelError
from everylabel.methods.base import Method
from everylabel.run import QUIET, Run


@contextmanager
def changing(model: Method | str | Path, run: Run = QUIET) -> Iterator[Method]:
    """The method to change inside the block. One in a folder is saved at the end; after an error it is as it was.

    The folder is locked from before it is read until it is written, so that of two updates none is lost; who has to
    wait for another says so. If somebody without the lock has put another model there meanwhile (by `mv`), that one
    stays. Whether the folder can be written to is tried first.
    """
    if isinstance(model, Method):
        yield model
        return
    from everylabel.store import check_destination, load, locked, read_manifest

    with locked(model, run):
        method, before = load(model), read_manifest(model)
        check_destination(model)
        yield method
        if read_manifest(model) != before:
            raise ModelError(f"{model}: was changed by somebody else meanwhile; nothing was written: try again")
        method.save(model)
