"""A tiny data folder with a known answer, a model fitted on it, and the command run inside this process."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from everylabel.cli.app import app
from everylabel.data import load_dataset, sample
from everylabel.tagger.tagger import Tagger

Run = Callable[..., Any]
LABELS = [("sea", "Seafaring"), ("rail", "Railways"), ("sky", "Aviation"), ("new", "Never used in training")]
TRAIN = [
    ("a boat sailed over the sea", ["sea"]),
    ("the ship reached its harbour", ["sea"]),
    ("a train stopped on the rails", ["rail", "sea"]),
    ("the plane left the airport", ["sky"]),
]
TEST = [("a boat and a ship", ["sea"]), ("rails for a train", ["rail"]), ("a text about something new", ["new"])]


def write_lines(file: Path, values: list[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")


def write_data(folder: Path) -> Path:
    folder.mkdir(parents=True)
    write_lines(folder / "labels.jsonl", [{"id": label_id, "name": name} for label_id, name in LABELS])
    for split, documents in (("train", TRAIN), ("test", TEST)):
        rows = [{"id": f"{split}{i}", "text": text, "labels": labels} for i, (text, labels) in enumerate(documents)]
        write_lines(folder / f"{split}.jsonl", rows)
    return folder


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.fixture
def run() -> Run:
    """`run("fit", path, ...)`: arguments as they are, `input=` for the standard input."""

    def invoke(*args: object, input: str | bytes | None = None) -> Any:
        return CliRunner().invoke(app, [str(arg) for arg in args], input=input)

    return invoke


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("cli") / "data")


@pytest.fixture(scope="session")
def model(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cli") / "model"
    result = CliRunner().invoke(app, ["fit", str(data), "--method", "popularity", "-o", str(path), "--quiet"])
    assert result.exit_code == 0, result.output
    return path


@pytest.fixture(scope="session")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The embedded sample, which has a dev split."""
    folder = tmp_path_factory.mktemp("sample") / "data"
    sample(folder)
    return folder


@pytest.fixture(scope="session")
def fitted_tagger(sampled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Not to be written to: `tagger` is a copy for that."""
    path = tmp_path_factory.mktemp("tagger") / "model"
    Tagger(experts=("tfidf", "knn", "svm")).fit(load_dataset(sampled)).save(path)
    return path


@pytest.fixture
def tagger(fitted_tagger: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(fitted_tagger, tmp_path / "tagger"))


@pytest.fixture
def with_dev(data: Path, tmp_path: Path) -> Path:
    """The tiny data with a dev split."""
    folder = tmp_path / "with-dev"
    folder.mkdir()
    for file in data.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    write_lines(
        folder / "dev.jsonl",
        [{"id": f"dev{i}", "text": f"{i} boats in the harbour, about seafaring", "labels": ["sea"]} for i in range(30)],
    )
    return folder
