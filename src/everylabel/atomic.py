"""Writing that is all or nothing: beside its final place first, then put there in one step.

A folder changes places with the one it replaces where the system can exchange two names at once (Linux, renameat2), so
that a reader finds the old one or the new one at any time. Elsewhere it takes two renames, with a moment between them
in which there is neither. No file is ever written to in its place: who has the old one open or mapped keeps it.
Nothing is forced to the disk: after a power cut, `everylabel check` says what is whole.
"""

from __future__ import annotations

import errno
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from everylabel.errors import EverylabelError
from everylabel.foreign import Ours, carry, foreign, give_to_owner
from everylabel.leftovers import clear, names_beside, remove

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)  # the system, or this file system, has no exchange
_IN_THE_WAY = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)
_TRIED = bytes(1 << 16)  # a disk without room for so much has none for anything


@contextmanager
def replaced(target: Path, ours: Ours | None = None) -> Iterator[Path]:
    """A name beside the target to write a file or folder to; it takes the target's place at the end.

    On any error, Ctrl-C too, what was written is removed and the target is what it was before. What writers that were
    killed have left beside the target is removed first, or put in its place if there is nothing else. A link stays,
    what it points to is replaced. With `ours`, what is not ours in a folder comes along; without, all is ours.
    """
    target = _real(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    clear(target)
    with names_beside(target) as (partial, old):
        try:
            yield partial
            if target.is_dir():  # it cannot be renamed over if there is something in it
                _replace_folder(target, partial, old, ours)
            else:
                partial.replace(target)
        finally:
            if old.exists() and not target.exists():
                old.rename(target)
            for rest in (old, partial):
                remove(rest)


def check_replaceable(target: Path, ours: Ours | None = None) -> None:
    """OSError if `replaced` would fail, known by trying: worth asking before long work. Nothing is left of it."""
    target = _real(target)
    missing = [folder for folder in target.parents if not folder.exists()]
    with names_beside(target) as (partial, _):
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            partial.mkdir()
            (partial / "tried").write_bytes(_TRIED)
            if target.exists():
                _try_to_move(partial, target)
            if target.is_dir() and ours is not None:
                for _ in foreign(target, ours):
                    pass
        except OSError as error:
            raise OSError(error.errno, error.strerror, _named(error, target)) from None
        finally:
            remove(partial)
            for folder in missing:
                with suppress(OSError):
                    folder.rmdir()


def check_writable(target: Path, ours: Ours | None = None) -> None:
    """The same as an error for the user."""
    try:
        check_replaceable(target, ours)
    except OSError as error:
        raise EverylabelError(
            f"{error.filename}: cannot be written ({error.strerror}); nothing was done: make room, or choose a place "
            "you may write to"
        ) from None


def exchange(one: Path, other: Path) -> bool:
    """Each name stands for what the other stood for, from one moment to the next; False: it cannot be done here."""
    renameat2 = _renameat2()
    if renameat2 is None:
        return False
    import ctypes

    if renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(other))


def _replace_folder(target: Path, partial: Path, old: Path, ours: Ours | None) -> None:
    if ours is not None:
        carry(target, partial, ours)
    if partial.is_dir():
        partial.chmod(target.stat().st_mode & 0o7777)  # who could not look into it still cannot
        give_to_owner(target, partial)
    if exchange(partial, target):
        before = partial
    else:
        target.rename(old)
        partial.rename(target)
        before = old
    if ours is not None:
        with suppress(OSError):
            carry(before, target, ours)  # what came while we carried


def _try_to_move(partial: Path, target: Path) -> None:
    """Harmless: a folder never takes the place of a file, or of a folder with something in it; the system says so
    last, after all that is wrong besides."""
    try:
        if not target.is_dir() or any(target.iterdir()):
            partial.rename(target)
        elif exchange(partial, target):
            exchange(partial, target)
    except OSError as error:
        if error.errno == errno.EBUSY:
            why = "a disk is mounted there, and a folder is replaced as a whole: choose one inside it"
            raise OSError(error.errno, why, str(target)) from None
        if error.errno not in _IN_THE_WAY:
            raise


def _real(target: Path) -> Path:
    target = Path(os.path.realpath(target))
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise OSError(errno.EINVAL, "is no file and no folder", str(target))
    return target


def _named(error: OSError, target: Path) -> str:
    """What stands in the way, if it is something of the user's, not what we tried to write."""
    named = str(error.filename or "")
    return named if Path(named).is_relative_to(target) else str(target)


def _renameat2() -> Any:
    """The system's function, or None."""
    if platform.system() != "Linux":
        return None
    import ctypes

    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return function
