"""Documents of a stream: what is there already at once, and in full batches where there is much."""

from __future__ import annotations

import gzip
import io
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

import pytest

from everylabel.data import stream_documents
from everylabel.data.dataset import Documents
from everylabel.errors import DataError

SIZE = 256


class Feeder:
    """The other end of a pipe."""

    def __init__(self, end: int) -> None:
        self.end = end

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self.end, data) :]

    def close(self) -> None:
        with suppress(OSError):
            os.close(self.end)


@contextmanager
def piped() -> Iterator[tuple[Feeder, Iterator[Documents]]]:
    out, into = os.pipe()
    feeder = Feeder(into)
    with os.fdopen(out, "rb") as stream:
        try:
            yield feeder, iter(stream_documents(stream, size=SIZE))
        finally:
            feeder.close()


@pytest.mark.timeout(20)
@pytest.mark.parametrize("packed_as", [b"a text %d\n", b'{"text": "a text %d"}\r\n'])
def test_a_document_does_not_wait_for_others(packed_as: bytes) -> None:
    """The writer waits for each answer: one that waited for a second line would hang."""
    with piped() as (feeder, parts):
        for i in range(3):
            feeder.write(packed_as % i)
            part = next(parts)
            assert (part.ids, part.texts) == ([str(i)], [f"a text {i}"])
        feeder.close()
        assert list(parts) == []


@pytest.mark.timeout(20)
def test_nor_for_the_line_after_a_blank_one() -> None:
    with piped() as (feeder, parts):
        feeder.write(b"\xef\xbb\xbffirst\n\n  \n")
        assert next(parts).texts == ["first"]
        feeder.write(b"\n\nsecond\nthi")  # half a line is no document
        part = next(parts)
        assert (part.ids, part.texts) == (["5"], ["second"])
        feeder.write(b"rd")
        feeder.close()
        assert [part.texts for part in parts] == [["third"]]


@pytest.mark.timeout(20)
def test_nor_for_a_bad_row() -> None:
    with piped() as (feeder, parts):
        feeder.write(b"first\n")
        assert next(parts).texts == ["first"]
        feeder.write(b"\xff\n")
        with pytest.raises(DataError, match="<stdin>:2: expected UTF-8"):
            next(parts)


@pytest.mark.timeout(60)
def test_what_is_poured_into_a_pipe_comes_in_full_batches() -> None:
    """Documents of 6 kB: a pipe holds ten of them at a time, and its writer fills it again while it is read."""
    texts = [f"{i} {'word ' * 1200}" for i in range(3 * SIZE)]
    with piped() as (feeder, parts):
        content = "".join(f"{text}\n" for text in texts).encode()

        def pour() -> None:
            feeder.write(content)
            feeder.close()

        writer = threading.Thread(target=pour)
        writer.start()
        found = []
        for part in parts:
            found.append(part.texts)
            time.sleep(0.01)  # as if they were ranked
        writer.join()
    assert [text for part in found for text in part] == texts
    assert max(map(len, found)) == SIZE
    assert len(found) <= 12  # 3 where nothing else runs


def test_what_is_in_memory_comes_in_full_batches() -> None:
    content = b"text\n" * (2 * SIZE + 1)
    streams: list[BinaryIO] = [io.BytesIO(content), io.BytesIO(gzip.compress(content))]
    for stream in streams:
        assert [len(part) for part in stream_documents(stream, size=SIZE)] == [SIZE, SIZE, 1]
