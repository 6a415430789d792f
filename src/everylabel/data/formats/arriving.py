"""Lines of a stream as they arrive: what is there already together, and none waits for those that are not.

A pipe that is fed line by line (a log, another program that waits for the answer) gives one line at a time; a file that
is poured into a pipe gives full batches. Only where the system can say whether there is more without waiting for it;
elsewhere, and for what is compressed, batches are full.
"""

from __future__ import annotations

import io
import select
import time
from collections.abc import Callable, Iterator
from typing import BinaryIO

from everylabel.data.formats.limits import longest_line, too_long
from everylabel.data.formats.lines import marked, unpacked

AT_ONCE = 1 << 20  # bytes that are read at a time, at most
GRACE = 0.02  # seconds that a batch may wait for more: nobody notices, and who pours a file into a pipe fills it again

Batch = list[tuple[int, bytes]]


def batches(stream: BinaryIO, size: int, name: str) -> Iterator[Batch]:
    """Lines with their numbers, from 1, without their ends: at most `size` at a time."""
    content = unpacked(stream)
    more_soon = _more_soon(content, stream)
    batch: Batch = []
    number, begun = 0, time.monotonic()
    for found in _lines(content, name):
        for line in found:
            number += 1
            batch.append((number, (marked(line, name) if number == 1 else line).rstrip(b"\r")))
            if len(batch) == size:
                yield batch
                batch = []
            if len(batch) == 1:
                begun = time.monotonic()
        if batch and not more_soon(begun + GRACE - time.monotonic()):
            yield batch
            batch = []
    if batch:
        yield batch


def _lines(content: BinaryIO, name: str) -> Iterator[list[bytes]]:
    """The lines that each reading completes; the last one may have no end. Memory: a line, and what is read at once."""
    assert isinstance(content, io.BufferedReader)
    most, number = longest_line(), 1
    begun: list[bytes] = []  # of the line that has no end yet
    n_bytes = 0
    while data := content.read1(AT_ONCE):
        *whole, rest = data.split(b"\n")
        if whole:
            whole[0] = b"".join([*begun, whole[0]])
            begun, n_bytes = [], 0
        begun.append(rest)
        n_bytes += len(rest)
        if n_bytes > most or max(map(len, whole), default=0) > most:
            raise too_long(f"{name}:{number}", most)
        number += len(whole)
        yield whole
    if n_bytes:
        yield [b"".join(begun)]


def _more_soon(content: BinaryIO, stream: BinaryIO) -> Callable[[float], bool]:
    """Whether there is more to read within so many seconds, or the end: a function that waits no longer than that."""
    try:
        if content is not stream or not hasattr(select, "poll"):
            raise io.UnsupportedOperation
        poll = select.poll()
        poll.register(stream.fileno(), select.POLLIN)
    except (OSError, ValueError, AttributeError):  # packed, or in memory
        return lambda _seconds: True
    return lambda seconds: bool(poll.poll(max(0, 1000 * seconds)))
