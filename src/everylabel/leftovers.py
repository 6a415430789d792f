"""What writers keep beside a file or folder while they replace it, and what is left of those that were killed.

Names say who writes: this machine (since its last start, and its processes as this one sees them), the process, a
number. What its writer cannot need any more is removed by the next one; a folder that was moved away comes back.
Of writers that we cannot ask (another machine, another container) we know only when they last did something.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

PATIENCE = 3.0  # seconds in which a folder that is being replaced is back: the moment between two renames
LONG = 3600.0  # seconds: no writer is idle for so long
_WAIT = 0.01
_at_work: set[str] = set()  # marks of this process's own writers


class Beside(NamedTuple):
    """Names beside a target. The target's suffix stays: it decides about compression."""

    partial: Path
    old: Path


@contextmanager
def names_beside(target: Path) -> Iterator[Beside]:
    """Names that nobody else has; inside the block they are known to be in use."""
    mark = f"{_host()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    _at_work.add(mark)
    try:
        yield Beside(*(target.with_name(f".{mark}.{kind}.{target.name}") for kind in Beside._fields))
    finally:
        _at_work.discard(mark)


def clear(target: Path) -> None:
    """Remove what is left of writers that are gone; a target that one of them had moved away comes back first."""
    come_back(target)
    for rest in _rests(target):
        if not rest.alive and (rest.kind == "partial" or os.path.lexists(target)):  # else it is all there is
            remove(rest.path)


def come_back(target: Path) -> bool:
    """A target that is away, since somebody replaces it by two renames: wait for it, or put the old one back.

    False: it is away, and we may not.
    """
    until = time.monotonic() + PATIENCE
    while not os.path.lexists(target) and (moved := _moved(target)):
        if any(rest.alive for rest in moved) and time.monotonic() < until:
            time.sleep(_WAIT)
            continue
        try:
            moved[-1].path.rename(target)
        except FileNotFoundError:
            continue  # somebody else was faster
        except OSError:
            return os.path.lexists(target)
    return True


def moved_to(target: Path) -> Path | None:
    """Where a target is that is away, if it is known."""
    moved = [] if os.path.lexists(target) else _moved(target)
    return moved[-1].path if moved else None


def remove(path: Path) -> None:
    """Also what is in folders that must not be written to; what cannot be removed stays."""
    if path.is_symlink() or not path.is_dir():
        with suppress(OSError):
            path.unlink(missing_ok=True)
        return
    shutil.rmtree(path, ignore_errors=True)
    if path.exists():
        for folder, _, _ in os.walk(path):
            with suppress(OSError):
                Path(folder).chmod(0o700)
        shutil.rmtree(path, ignore_errors=True)


class _Rest(NamedTuple):
    path: Path
    kind: str
    alive: bool  # its writer may still be at work


def _rests(target: Path) -> list[_Rest]:
    pattern = re.compile(r"\.(([0-9a-f]{6})-(\d+)-[0-9a-f]{8})\.(partial|old)\." + re.escape(target.name))
    found = []
    with suppress(OSError):
        for path in target.parent.iterdir():
            if match := pattern.fullmatch(path.name):
                mark, host, pid, kind = match.groups()
                gone = host == _host() and mark not in _at_work and not _is_another_process(int(pid))
                found.append(_Rest(path, kind, not gone and _touched_since(path, time.time() - LONG)))
    return found


def _moved(target: Path) -> list[_Rest]:
    """The newest last."""
    return sorted(
        (rest for rest in _rests(target) if rest.kind == "old"), key=lambda rest: (_touched(rest.path), rest.path)
    )


def _is_another_process(pid: int) -> bool:
    """Is there one of this number? Our own marks are known: one of our number is of a process before us."""
    if pid == os.getpid():
        return False
    if os.name != "posix":  # where a signal of 0 is not a question
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _touched_since(path: Path, moment: float) -> bool:
    """Was anything in it made, written to or renamed since then?"""
    if _touched(path) >= moment:
        return True
    below = (Path(folder) / name for folder, _, names in os.walk(path) for name in (".", *names))
    return any(_touched(one) >= moment for one in below)


def _touched(path: Path) -> float:
    try:
        about = path.lstat()
    except OSError:
        return 0.0
    return max(about.st_mtime, about.st_ctime)  # a rename changes the second alone


@cache
def _host() -> str:
    """A process's number says something on its own machine only, until that starts again, and in its own container."""
    about = [platform.node()]
    with suppress(OSError):
        about.append(Path("/proc/sys/kernel/random/boot_id").read_text())
    with suppress(OSError):
        about.append(str(Path("/proc/self/ns/pid").readlink()))
    return hashlib.sha256(" ".join(about).encode()).hexdigest()[:6]
