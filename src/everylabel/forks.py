"""What a fork does not carry over, mended in the child: threads are gone, and locks that they held would never open.

A process may be forked at any moment, from any thread, by `multiprocessing`, a server or `os.fork`: the child has the
thread that forked, and nothing else. Ours: `Lock`, and the pool of threads (parallel.py). OpenMP's threads (LightGBM,
torch) cannot be mended: who asks for them in a child waits for ever, so that it gets one thread (`openmp_is_gone`).
Compilers' locks are taken before the fork: it waits until what is compiled is done.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from types import TracebackType
from typing import Any, Protocol, Self

_OPENMP = ("torch", "lightgbm")  # those that we use
_renewed: weakref.WeakSet[Renewed] = weakref.WeakSet()
_is_gone = False


class Renewed(Protocol):
    """Something with a part that must be made anew in a child."""

    def renew(self) -> None: ...


def renewed(one: Renewed) -> None:
    """Have it renewed in every child, as long as it is there."""
    _renewed.add(one)


class Lock:
    """As `threading.RLock`; open in a forked child, unless the thread that forked holds it. A copy is open, too."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        renewed(self)

    def __enter__(self) -> Self:
        self._lock.acquire()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def renew(self) -> None:
        """For the only thread of a child. Its own hold on the lock goes on."""
        if not self._lock._is_owned():  # type: ignore[attr-defined]
            self._lock = threading.RLock()

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        """To another process, or copied with what it is a part of: nobody holds it there."""
        return Lock, ()


def openmp_is_gone() -> bool:
    """Is this a forked process whose parent had OpenMP's threads?"""
    return _is_gone


def _compiler_lock() -> Any:
    """numba's, which is held while a kernel is compiled; None where there is no numba."""
    module = sys.modules.get("numba.core.compiler_lock")
    return getattr(module, "global_compiler_lock", None)


def _before() -> None:
    if (lock := _compiler_lock()) is not None:
        lock.acquire()


def _after_in_parent() -> None:
    if (lock := _compiler_lock()) is not None:
        lock.release()


def _after_in_child() -> None:
    global _is_gone
    _after_in_parent()
    for one in list(_renewed):
        one.renew()
    if any(name in sys.modules for name in _OPENMP):
        _is_gone = True
        torch = sys.modules.get("torch")
        if torch is not None and hasattr(torch, "set_num_threads"):
            torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
