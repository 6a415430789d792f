"""Encoders for the tests of methods: a tiny one, and a cache of what is distilled from it, not the user's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.encoders import conftest as encoders

from everylabel.encoders.base import EncoderConfig

tiny_folder = encoders.made_folder


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def static(tiny_folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> EncoderConfig:
    monkeypatch.setenv("EVERYLABEL_CACHE", str(cache))
    monkeypatch.setenv("EVERYLABEL_THREADS", "1")  # tensors of a few numbers
    return EncoderConfig(teacher=str(tiny_folder))
