"""The cache of vectors: what is fitted is not encoded twice, requests leave no trace, a damaged file is no error."""

from __future__ import annotations

import os
import pickle
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from everylabel.encoders.base import EncoderConfig
from everylabel.encoders.cache import VectorCache, cache_root
from everylabel.encoders.transformer import TransformerEncoder
from everylabel.run import Run

TEXTS = ["fish in the sea", "milk", "fish in the sea", "wine of the european union", "\ud800 x", ""]


@pytest.fixture
def encoder(made_folder: Path) -> TransformerEncoder:
    return TransformerEncoder.load(EncoderConfig(kind=str(made_folder)))


@pytest.fixture
def forwards(encoder: TransformerEncoder) -> list[int]:
    """The rows of each forward pass."""
    rows: list[int] = []
    encoder.module.register_forward_hook(lambda _module, _inputs, output: rows.append(len(output)))
    return rows


def test_no_text_is_encoded_twice(encoder: TransformerEncoder, forwards: list[int]) -> None:
    first = encoder.encode(TEXTS, keep=True)
    assert sum(forwards) == len(set(TEXTS))
    forwards.clear()
    np.testing.assert_array_equal(encoder.encode(TEXTS[::-1], keep=True), first[::-1])
    assert not forwards
    encoder.encode([*TEXTS, "law"], keep=True)
    assert forwards == [1]


def test_blocks_by_another_process(
    encoder: TransformerEncoder, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which gets the encoder by pickle: the same vectors, kept here."""
    monkeypatch.setattr("everylabel.encoders.encoding._KEPT_AT_ONCE", 2)
    here = encoder.encode(TEXTS, keep=True)
    shutil.rmtree(cache_folder)

    class Others:
        def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
            return (pickle.loads(pickle.dumps(work))(item) for item in items)

    np.testing.assert_array_equal(encoder.encode(TEXTS, keep=True, run=Run(others=Others())), here)
    np.testing.assert_array_equal(encoder.encode(TEXTS, keep=True, run=Run(others=Nobody())), here)


class Nobody:
    def map(self, _work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        assert not items
        return iter(())


def test_requests_are_not_kept(encoder: TransformerEncoder, cache_folder: Path, forwards: list[int]) -> None:
    """Nor looked up: a model that tags for years would have every text that it was ever given on its disk."""
    first = encoder.encode(TEXTS)
    np.testing.assert_array_equal(encoder.encode(TEXTS), first)
    assert sum(forwards) == 2 * len(set(TEXTS))
    assert not (cache_folder / "vectors").exists()


def test_a_trained_encoder_does_not_use_it(encoder: TransformerEncoder, forwards: list[int]) -> None:
    encoder.encode(TEXTS, keep=True)
    with torch.no_grad():
        next(encoder.module.transformer.parameters()).mul_(2)
    forwards.clear()
    for _ in range(2):
        encoder.encode(TEXTS, keep=True)
    assert sum(forwards) == 2 * len(set(TEXTS))


def test_other_settings_other_vectors(made_folder: Path, cache_folder: Path) -> None:
    long = ["fish in the sea of the european union"]
    whole = TransformerEncoder.load(EncoderConfig(kind=str(made_folder))).encode(long, keep=True)
    cut = TransformerEncoder.load(EncoderConfig(kind=str(made_folder), max_tokens=5)).encode(long, keep=True)
    assert np.abs(whole - cut).max() > 1e-3
    assert len(list((cache_folder / "vectors").iterdir())) == 2


def test_a_damaged_file_is_replaced(encoder: TransformerEncoder, cache_folder: Path, forwards: list[int]) -> None:
    first = encoder.encode(TEXTS, keep=True)
    (file,) = (cache_folder / "vectors").iterdir()
    whole = file.read_bytes()
    for damage in (b"this is no database" * 500, whole[:100] + b"\xff" * 3000 + whole[3100:], whole[:5000]):
        file.write_bytes(damage)
        np.testing.assert_allclose(encoder.encode(TEXTS, keep=True), first, atol=1e-6)
    encoder.encode(TEXTS, keep=True)
    forwards.clear()
    encoder.encode(TEXTS, keep=True)
    assert not forwards


def test_a_damaged_vector_is_not_believed() -> None:
    cache = VectorCache("encoder", 3)
    cache.put(["a", "b"], np.ones((2, 3), np.float32))
    with sqlite3.connect(cache.file) as connection:
        row = connection.execute("SELECT text FROM vectors").fetchone()
        connection.execute("UPDATE vectors SET vector = ? WHERE text = ?", (b"\1" * 16, row[0]))
    connection.close()
    _, known = cache.get(["a", "b"])
    assert known.sum() == 1


def test_an_unusable_cache_is_no_error(
    encoder: TransformerEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = encoder.encode(TEXTS, keep=True)
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    monkeypatch.setenv("EVERYLABEL_CACHE", str(tmp_path / "file"))
    np.testing.assert_array_equal(encoder.encode(TEXTS, keep=True), first)


def test_a_locked_cache_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everylabel.encoders.cache._WAIT", 0.05)
    cache = VectorCache("encoder", 3)
    cache.put(["a"], np.ones((1, 3), np.float32))
    other = sqlite3.connect(cache.file, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    cache.put(["b"], np.ones((1, 3), np.float32))
    assert not cache.get(["a"])[1].any()
    other.close()
    np.testing.assert_array_equal(cache.get(["a", "b"])[1], [True, False])


def test_two_processes_at_once(cache_folder: Path) -> None:
    script = (
        "import sys, numpy as np\nfrom everylabel.encoders.cache import VectorCache\n"
        "cache = VectorCache('encoder', 3)\nfirst = int(sys.argv[1])\n"
        "for i in range(first, first + 40):\n    cache.put([str(i)], np.full((1, 3), i, np.float32))\n"
    )
    environment = {**os.environ, "EVERYLABEL_CACHE": str(cache_folder)}
    running = [subprocess.Popen([sys.executable, "-c", script, str(first)], env=environment) for first in (0, 20)]
    assert [process.wait(timeout=60) for process in running] == [0, 0]
    vectors, known = VectorCache("encoder", 3).get([str(i) for i in range(60)])
    assert known.all()
    np.testing.assert_array_equal(vectors[:, 0], np.arange(60))


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/everylabel"),
        ("linux", {}, "home/.cache/everylabel"),
        ("darwin", {}, "home/Library/Caches/everylabel"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/everylabel"),
        ("linux", {"EVERYLABEL_CACHE": "/mine"}, "/mine"),
    ],
)
def test_where_the_cache_is(
    platform: str, variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("EVERYLABEL_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    home: Any = classmethod(lambda _cls: Path("home"))
    monkeypatch.setattr(Path, "home", home)
    assert cache_root() == Path(expected)
