"""Hostile input: a reader returns, or raises a DataError that names a file; never anything else."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everylabel.data import available_splits, load_dataset, load_documents
from everylabel.data.formats.rows import OnBadRow
from everylabel.data.inspect import inspect
from everylabel.errors import DataError

Folders = dict[str, tuple[str, dict[str, bytes]]]
NAMES = [
    "native", "bow", "xmc_split", "xmc_raw", "pecos", "text2text", "attentionxml", "libmultilabel", "annif_tsv",
    "annif_csv", "annif_jsonl", "annif_skos", "annif_folder", "csv",
]  # fmt: skip
PIECES = [
    b"", b"\n", b"\r\n", b"\r", b"\t", b'"', b"\xef\xbb\xbf", b"\xff", b"\xed\xa0\x80", b"\x00", b"{", b"}", b"[[",
    b'{"text": null}\n', b'{"text": "\\ud800", "labels": [[]]}\n', b'{"id": 1e999}\n', b"-1", b":", b",", b"0:1",
    b"null", b"9" * 25, b"1 1 1\n", b" ", b"1e999", b"<x>", b"\x1f\x8b\x08", b"\xc2\x85", b"\xe2\x80\xa8",
]  # fmt: skip

pieces = st.lists(st.sampled_from(PIECES) | st.binary(max_size=12), max_size=6).map(b"".join)


def hurt(content: bytes, piece: bytes, at: float, kind: str) -> bytes:
    where = int(at * len(content))
    match kind:
        case "insert":
            return content[:where] + piece + content[where:]
        case "replace":
            return content[:where] + piece + content[where + len(piece) :]
        case "cut":
            return content[:where]
        case "windows":
            return b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n")
        case "zip cut":
            packed = gzip.compress(content)
            return packed[: int(at * len(packed))]
        case _:
            return piece


@contextmanager
def tolerated(names: list[str]) -> Iterator[None]:
    """A DataError is fine if it names one of these."""
    try:
        yield
    except DataError as error:
        if not any(name in str(error) for name in names):
            raise AssertionError("an error must name the file") from error


def attempt(folder: Path, kind: str) -> None:
    names = [str(folder), *(file.name for file in folder.iterdir())]
    policies: tuple[OnBadRow, ...] = ("error", "skip")
    for policy in policies:
        for split in ("train", "test"):
            with tolerated(names):
                load_dataset(folder, split, format=kind, on_bad_row=policy)
    with tolerated(names):
        load_dataset(folder)
        assert available_splits(folder)
        inspect(folder)


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    piece=pieces,
    at=st.floats(0, 1),
    kind=st.sampled_from(["insert", "replace", "cut", "windows", "zip cut", "all"]),
    which=st.integers(0, 5),
)
def test_damaged_folders(folders: Folders, name: str, piece: bytes, at: float, kind: str, which: int) -> None:
    format_name, files = folders[name]
    target = sorted(files)[which % len(files)]
    with tempfile.TemporaryDirectory() as place:
        for file, content in files.items():
            (Path(place) / file).write_bytes(hurt(content, piece, at, kind) if file == target else content)
        attempt(Path(place), format_name)


@settings(deadline=None, max_examples=60)
@given(content=pieces, suffix=st.sampled_from([".jsonl", ".txt", ".csv", ".tsv", ".parquet", ".jsonl.gz", ".txt.gz"]))
def test_damaged_files(content: bytes, suffix: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / f"documents{suffix}"
        file.write_bytes(content)
        for load in (load_dataset, load_documents, inspect):
            with tolerated([file.name]):
                load(file)


@settings(deadline=None, max_examples=40)
@given(texts=st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=40), min_size=1, max_size=5))
def test_any_text_survives_native_csv_and_parquet(texts: list[str]) -> None:
    from everylabel.data import convert
    from everylabel.data.formats.native import json_line

    with tempfile.TemporaryDirectory() as place:
        source = Path(place) / "in.jsonl"
        source.write_bytes(b"".join(json_line({"text": text, "labels": [text, "x;y"]}) for text in texts))
        expected = load_dataset(source)
        for name in ("out.csv", "out.parquet", "out.jsonl.gz", "out.csv.gz"):
            convert(source, Path(place) / name)
            found = load_dataset(Path(place) / name)
            assert found.documents.texts == texts
            assert found.labels.ids == expected.labels.ids
            assert (found.required_pairs != expected.required_pairs).nnz == 0
