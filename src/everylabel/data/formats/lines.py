"""Files as lines of bytes: gzip or not, with or without a byte-order mark, any line end; damage becomes a DataError.

No input takes more memory than a longest line: what has none, or unpacks to far more than it weighs, is refused
(limits.py).
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from everylabel.data.formats.limits import TooMuchError, Unpacked, longest_line, too_long
from everylabel.errors import DataError
from everylabel.run import Run

BOM = b"\xef\xbb\xbf"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
REPORT_EVERY = 512  # lines between two reports of progress
SNIFFED = 1 << 20  # a first line may be this long and still tell the format


def unpacked(raw: BinaryIO) -> BinaryIO:
    """The content of a stream, decompressed when its first bytes say gzip: names lie more often than content."""
    buffered = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, raw), 1 << 16)
    if buffered.peek(2)[:2] == b"\x1f\x8b":
        return io.BufferedReader(Unpacked(buffered), 1 << 20)
    return buffered


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Turns what goes wrong while a file is read into a DataError that names it."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(
            f"{name}: expected a whole gzip file, and it is damaged or ends early ({error}); "
            "the download or copy was likely interrupted: fetch the file again"
        ) from error
    except TooMuchError as error:
        raise DataError(
            f"{name}: this file {error}, which no text does, so it is not read; if it is meant to, unpack it first"
        ) from None
    except OSError as error:
        raise DataError(
            f"{name}: cannot be read ({error.strerror or error}); check the path and its permissions"
        ) from None


@contextmanager
def opened(path: Path) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """The file as it is on the disk, and its unpacked content."""
    with readable(str(path)), path.open("rb") as raw:
        if path.suffix == ".gz" and not raw.peek(1):
            raise EOFError("it has no bytes")
        with unpacked(raw) as content:
            yield raw, content


def lines(path: Path, run: Run, *, keep_ends: bool = False) -> Iterator[bytes]:
    """The lines of a file, without byte-order mark and (unless kept) line ends; reports progress in kB read."""
    with (
        opened(path) as (raw, content),
        run.task(f"reading {path.name} (kB)", path.stat().st_size // 1024) as advance,
    ):
        done = 0
        for number, line in enumerate(without_mark(content, str(path))):
            yield line if keep_ends else line.rstrip(b"\r\n")
            if number % REPORT_EVERY == 0:
                now = raw.tell() // 1024
                advance(now - done)
                done = now


def without_mark(content: BinaryIO, name: str) -> Iterator[bytes]:
    """The lines of a stream; a UTF-8 mark is dropped, a UTF-16 one is an error, as no line could be read."""
    most, number = longest_line(), 0
    while line := content.readline(most + 1):
        number += 1
        if len(line) > most:
            raise too_long(f"{name}:{number}", most)
        yield marked(line, name) if number == 1 else line


def marked(first: bytes, name: str) -> bytes:
    """The first line without its byte-order mark."""
    if first.startswith(UTF16_MARKS):
        raise DataError(f"{name}: expected UTF-8 text, got UTF-16 (by its byte-order mark); save the file as UTF-8")
    return first.removeprefix(BOM)


def content_of(path: Path) -> bytes:
    """The whole unpacked file, for formats that cannot be read line by line."""
    with opened(path) as (_, content):
        return content.read().removeprefix(BOM)


def text_of(content: BinaryIO, name: str) -> bytes:
    """A whole stream as one text: no longer than a line may be."""
    most = longest_line()
    data = content.read(most + 1)
    if len(data) > most:
        raise too_long(name, most)
    return data.removeprefix(BOM)


def first_lines(path: Path, count: int = 1) -> list[str]:
    """The first lines that are not blank, to tell formats apart; never fails on bad bytes."""
    found: list[str] = []
    with opened(path) as (_, content):
        line = content.readline(SNIFFED).removeprefix(BOM)
        n_bytes = 0
        while line and len(found) < count and n_bytes <= SNIFFED:
            n_bytes += len(line)
            text = line.decode("utf-8", errors="replace").rstrip("\r\n")
            if text.strip():
                found.append(text)
            line = content.readline(SNIFFED)
    return found


@contextmanager
def created(path: Path) -> Iterator[BinaryIO]:
    """A new file to write bytes to, compressed when its name ends in .gz; the same content gives the same bytes."""
    with path.open("wb") as raw:
        if path.suffix != ".gz":
            yield raw
            return
        packed = gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0)
        with packed, io.BufferedWriter(cast(io.RawIOBase, packed), 1 << 16) as buffered:
            yield buffered
