"""One writer at a time: a model folder that is read, changed and saved again by several commands at once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from everylabel.errors import ModelError
from everylabel.run import QUIET, Run
from everylabel.store.manifest import read_manifest

try:
    import fcntl
except ImportError:  # a system without: two writers there can lose an update, as without this file
    fcntl = None  # type: ignore[assignment]


@contextmanager
def locked(path: str | Path, run: Run = QUIET) -> Iterator[None]:
    """Nobody else who asks for this lock has it meanwhile, in any process; who comes second says so, and waits.

    Around load, change and save. Readers need no lock. The lock is on a file beside the folder, which is gone when the
    last one leaves it; it ends with the process that holds it, however that ends. Not to be nested: it would wait for
    itself.
    """
    path = Path(path).resolve()
    file = path.with_name(f".{path.name}.lock")
    if fcntl is None:
        yield
        return
    handle = _locked(file, path, run)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)  # before it is let go: who waits for it sees that it is gone, and makes a new one
        os.close(handle)


def _locked(file: Path, path: Path, run: Run) -> int:
    said = False
    while True:
        try:
            handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            read_manifest(path)  # says it better if there is no model
            raise ModelError(
                f"{path}: cannot be changed ({error.strerror} beside it); choose a folder you may write to"
            ) from None
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if not said:
                    run.say(f"{path}: another command is changing this model; waiting until it is done")
                    said = True
                fcntl.flock(handle, fcntl.LOCK_EX)
            if _is_at(handle, file):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _is_at(handle: int, file: Path) -> bool:
    """Is it still the file of this name? The one who had the lock before has removed it."""
    try:
        return os.path.samestat(os.fstat(handle), file.stat())
    except FileNotFoundError:
        return False
