"""One writer at a time: a model folder that is read, changed and saved again by several commands at once."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from everylabel.errors import ModelError
from everylabel.run import QUIET, Run
from everylabel.store.manifest import read_manifest

try:
    import fcntl
except ImportError:  # a system without: two writers there can lose an update, as without this file
    fcntl = None  # type: ignore[assignment]

_NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK)  # a file system without: the same
_held = threading.local()  # .paths: what this thread has locked


@contextmanager
def locked(path: str | Path, run: Run = QUIET) -> Iterator[None]:
    """Nobody else who asks for this lock has it meanwhile, in any process; who comes second says so, and waits.

    Around load, change and save, which asks for it by itself, too. Readers need no lock. The lock is on a file beside
    the folder, which is gone when the last one leaves it; it ends with the process that holds it, however that ends.
    """
    try:
        lock = _Lock(path, run)
    except OSError as error:
        read_manifest(path)  # says it better if there is no model
        raise ModelError(
            f"{path}: cannot be changed ({error.strerror} beside it); choose a folder you may write to"
        ) from None
    with lock.held():
        yield


@contextmanager
def locked_to_save(path: Path) -> Iterator[None]:
    """The same for a place where there need be no model yet. OSError: nothing can be written there."""
    with _Lock(path, QUIET).held():
        yield


class _Lock:
    """Taken when it is made, let go by `held`. One that this thread has already is nothing."""

    def __init__(self, path: str | Path, run: Run) -> None:
        self._path = Path(os.path.realpath(path))
        self._file = self._path.with_name(f".{self._path.name}.lock")
        self._handle = None if fcntl is None or self._path in _paths() else self._wait(run)

    @contextmanager
    def held(self) -> Iterator[None]:
        if self._handle is None:
            yield
            return
        _paths().add(self._path)
        try:
            yield
        finally:
            _paths().discard(self._path)
            with suppress(OSError):
                self._file.unlink()  # before it is let go: who waits sees that it is gone, and makes a new one
            os.close(self._handle)

    def _wait(self, run: Run) -> int:
        said = False
        while True:
            handle = _opened(self._file)
            try:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    if not said:
                        run.say(f"{self._path}: another command is changing this model; waiting until it is done")
                        said = True
                    fcntl.flock(handle, fcntl.LOCK_EX)
                if _is_at(handle, self._file):
                    return handle
            except OSError as error:
                if error.errno in _NO_LOCKS:
                    return handle
                os.close(handle)
                raise
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)


def _paths() -> set[Path]:
    if not hasattr(_held, "paths"):
        _held.paths = set()
    found: set[Path] = _held.paths
    return found


def _opened(file: Path) -> int:
    """Made if there is none. One that another user left is not to be written to, and can be locked all the same."""
    try:
        return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except PermissionError:
        if not file.exists():
            raise
        return os.open(file, os.O_RDONLY | os.O_CLOEXEC)


def _is_at(handle: int, file: Path) -> bool:
    """Is it still the file of this name? The one who had the lock before has removed it."""
    try:
        return os.path.samestat(os.fstat(handle), file.stat())
    except FileNotFoundError:
        return False
