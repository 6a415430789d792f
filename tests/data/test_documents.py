"""Documents to be tagged: files, folders, and streams of unknown kind."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from everylabel.data import load_documents, stream_documents
from everylabel.errors import DataError

Make = Callable[..., Path]


@pytest.mark.parametrize("packed", [False, True])
def test_a_stream_is_plain_text_or_json_lines(packed: bool) -> None:
    def stream(content: bytes) -> io.BytesIO:
        return io.BytesIO(gzip.compress(content) if packed else content)

    plain = load_documents(stream(b"\xef\xbb\xbfone {\r\n\r\n two\tb\n"))
    assert plain.texts == ["one {", " two\tb"]
    assert plain.ids == ["0", "2"]
    found = load_documents(stream(b'\n {"text": "one", "title": "T"}\n{"id": 7, "text": "two"}\n'))
    assert (found.ids, found.texts, found.titles) == (["1", "7"], ["one", "two"], ["T", ""])
    assert load_documents(stream(b"")).texts == []


def test_a_broken_stream_is_named() -> None:
    with pytest.raises(DataError, match="<stdin>: expected a whole gzip file"):
        load_documents(io.BytesIO(gzip.compress(b"x" * 99)[:-9]))
    with pytest.raises(DataError, match="<stdin>:2: expected UTF-8"):
        load_documents(io.BytesIO(b"x\n\xff\n"))
    assert load_documents(io.BytesIO(b"x\n\xff\ny\n"), on_bad_row="skip").ids == ["0", "2"]


def test_files_and_folders(make: Make, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ttab\ntwo\n")
    assert load_documents(tmp_path / "a.txt").texts == ["one\ttab", "two"]
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b'{"text": "one"}\n'))
    assert load_documents(tmp_path / "b.jsonl.gz").texts == ["one"]
    (tmp_path / "c.csv").write_text("body\none\n")
    assert load_documents(tmp_path / "c.csv", text_column="body").texts == ["one"]
    folder = make("native")
    assert load_documents(folder, "test").ids == ["4"]
    with pytest.raises(DataError, match="there are train, test; name one"):
        load_documents(folder)
    with pytest.raises(DataError, match="nowhere"):
        load_documents(tmp_path / "nowhere")


def test_streaming_in_parts() -> None:
    parts = list(stream_documents(io.BytesIO(b"a\nb\nc\n"), size=2))
    assert [part.texts for part in parts] == [["a", "b"], ["c"]]
