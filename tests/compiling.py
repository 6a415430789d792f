"""Each kernel is compiled once for all workers of a run, by the first one that needs it; the others read it from disk.

Numba's cache beside the sources is shared by all processes, but does not expect two that compile the same: both take
the time, and as an index is written before what it points to, a third may read what belongs to other types.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from filelock import FileLock
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

import everylabel

SOURCES = Path(everylabel.__file__).parent


def compile_in_turn() -> None:
    """A lock a kernel of ours, from the look into the cache until what was compiled is in it.

    A kernel's lock is taken while those that call it are held, never the other way round: nobody waits in a circle.
    Numba's own lock comes first, as threads of one process would otherwise wait for each other.
    """
    usual = Dispatcher.compile

    def compile_(self: Dispatcher, signature: Any) -> Any:
        source = Path(self.py_func.__code__.co_filename)
        if not source.is_relative_to(SOURCES):
            return usual(self, signature)
        folder = source.parent / "__pycache__"  # where the cache is
        folder.mkdir(exist_ok=True)
        with global_compiler_lock, FileLock(folder / f"{source.stem}.{self.py_func.__name__}.lock"):
            return usual(self, signature)

    Dispatcher.compile = compile_  # type: ignore[method-assign,assignment]
