"""Writing that is all or nothing: beside its final place first, then put there in one step.

A folder changes places with the one it replaces where the system can exchange two names at once (Linux, renameat2), so
that a reader finds the old one or the new one at any time. Elsewhere it takes two renames, with a moment between them
in which there is neither. Nothing is forced to the disk: after a power cut, `everylabel check` says what is whole.
"""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)  # the system, or this file system, has no exchange


@contextmanager
def replaced(target: Path) -> Iterator[Path]:
    """A name beside the target to write a file or folder to; it takes the target's place at the end.

    On any error, Ctrl-C too, what was written is removed and the target is what it was before. What writers that were
    killed have left beside the target is removed first, or put in its place if there is nothing else.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    clear(target)
    mark = f"{_host()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    partial = target.with_name(f".{mark}.partial.{target.name}")  # the suffix stays: it decides about compression
    old = target.with_name(f".{mark}.old.{target.name}")
    try:
        yield partial
        if not target.is_dir():
            partial.replace(target)
        elif not exchange(partial, target):  # a folder cannot be renamed over a full one
            target.rename(old)
            partial.rename(target)
    finally:
        if old.exists() and not target.exists():
            old.rename(target)
        for rest in (old, partial):
            _remove(rest)


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


def clear(target: Path) -> None:
    """What is left of writers that are gone is removed; a target that one of them had moved away comes back first."""
    for rest in _rests(target):
        if not rest.alive:
            if rest.kind == "old" and not target.exists():
                with suppress(OSError):  # somebody else was faster
                    rest.path.rename(target)
            _remove(rest.path)


def is_moving(target: Path) -> bool:
    """Is it away for a moment, since somebody is replacing it by two renames?"""
    return any(rest.kind == "old" and rest.alive for rest in _rests(target))


class _Rest(NamedTuple):
    path: Path
    kind: str
    alive: bool  # its writer may still be at work


def _rests(target: Path) -> list[_Rest]:
    pattern = re.compile(r"\.([0-9a-f]{6})-(\d+)-[0-9a-f]{8}\.(partial|old)\." + re.escape(target.name))
    found = []
    with suppress(OSError):
        for path in target.parent.iterdir():
            if match := pattern.fullmatch(path.name):
                alive = match[1] != _host() or _is_alive(int(match[2]))
                found.append(_Rest(path, match[3], alive))
    return found


def _is_alive(pid: int) -> bool:
    if os.name != "posix":  # where a signal of 0 is not a question
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _host() -> str:
    """A process's number says something on its own machine only, and folders may be shared."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:6]


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)


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
