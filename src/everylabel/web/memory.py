"""Memory that is free goes back to the system: a server that learns all day must not grow by what it used once.

glibc keeps what threads have freed in the middle of their heaps. A learning takes some ten MB for a moment, each time
somewhere else; without this a server on the sample grew by 50 MB in an hour of learning.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress


def give_back() -> None:
    """Milliseconds; nothing where the C library has no such thing (macOS, Windows, musl)."""
    with suppress(OSError, AttributeError, TypeError):  # TypeError: Windows has no library of the process itself
        ctypes.CDLL(None).malloc_trim(0)
