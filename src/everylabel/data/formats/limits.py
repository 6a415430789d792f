"""How much memory input may take: a limit for a line, and for what a small gzip file unpacks to.

A file of 10 MB may hold 10 GB of the letter a, in one line or in a billion: nobody's text, and the end of a machine.
Texts are packed to a third or a tenth; gzip's best is a thousandth.
"""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from typing import BinaryIO, cast

from everylabel.errors import ConfigError, DataError

VARIABLE = "EVERYLABEL_MAX_LINE"
MB = 1_000_000
LONGEST_LINE = 64 * MB  # some 10 million words: more than any document
MOST_UNPACKED = 200  # times its size; repetitive tables reach some 50
WATCHED_FROM = 8 * MB  # unpacked bytes below which it does not matter


class TooMuchError(Exception):
    """Something packed that is far larger than it can be. Who knows the file's name makes a DataError of it."""

    def __init__(self) -> None:
        super().__init__(f"unpacks to more than {MOST_UNPACKED} times its size")


def longest_line() -> int:
    """Bytes of a line, at most. EVERYLABEL_MAX_LINE overrides it, in MB."""
    chosen = os.environ.get(VARIABLE, "").strip()
    if not chosen:
        return LONGEST_LINE
    if not chosen.isdecimal() or int(chosen) < 1:
        raise ConfigError(f"{VARIABLE} must be a whole number of MB, at least 1; got {chosen!r}")
    return int(chosen) * MB


def too_long(where: str, most: int) -> DataError:
    return DataError(
        f"{where}: expected lines of at most {most // MB:,} MB, and this one is longer; break it up, or set the "
        f"environment variable {VARIABLE} to more MB"
    )


class Unpacked(io.RawIOBase):
    """The content of a gzip stream. What grows beyond all measure is an error, while little of it is in memory."""

    def __init__(self, packed: BinaryIO) -> None:
        self._packed = _Counted(packed)
        self._content = gzip.GzipFile(fileobj=cast(BinaryIO, self._packed))
        self._n_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object, /) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self._content.read1(len(view))
        view[: len(data)] = data
        self._n_bytes += len(data)
        if self._n_bytes > max(WATCHED_FROM, MOST_UNPACKED * self._packed.n_bytes):
            raise TooMuchError
        return len(data)


def check_zip(archive: BinaryIO) -> None:
    """Before any of it is unpacked; what a directory says of its files is checked while they are read."""
    with zipfile.ZipFile(archive) as found:
        files = found.infolist()
    n_bytes, n_packed = sum(file.file_size for file in files), sum(file.compress_size for file in files)
    if n_bytes > max(WATCHED_FROM, MOST_UNPACKED * n_packed):
        raise TooMuchError
    archive.seek(0)


class _Counted:
    """A stream, and how much of it was read."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self.n_bytes = stream, 0

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self.n_bytes += len(data)
        return data
