"""Hostile models and data, a few of each of some kinds: the same code as `python -m benchmarks.run.hostile`."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest
from benchmarks.run.hostile import data_trial, model_trial, tried
from benchmarks.run.hostile_data import data_sets
from benchmarks.run.hostile_models import made_models
from benchmarks.run.hostile_mutations import Model
from benchmarks.run.hostile_worker import REFUSED, RIGHT, trials

from everylabel.errors import ModelError

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks, and asks /proc for its memory")
MODELS = ["tagger", "xr-linear-2", "bm25-changed", "semantic-ann"]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture(autouse=True)
def one_core(monkeypatch: pytest.MonkeyPatch, work: Path) -> None:
    monkeypatch.setenv("EVERYLABEL_THREADS", "1")
    monkeypatch.setenv("EVERYLABEL_CACHE", str(work / "cache"))
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", MODELS)
def test_a_changed_model_is_refused_or_right(work: Path, name: str) -> None:
    (folder,) = made_models(work, name)
    known: dict[str, object] = {}
    tried(name, lambda scratch: model_trial(folder, scratch), 100, known, lambda: None)
    assert known["finds"] == {}
    assert set(known["outcomes"]) == {REFUSED, RIGHT}  # type: ignore[call-overload]


@pytest.mark.parametrize("name", ["native", "csv", "pecos", "annif_skos", "parquet", "bow"])
def test_changed_data_are_refused_or_read(name: str) -> None:
    kind, files = data_sets()[name]
    known: dict[str, object] = {}
    tried(name, lambda scratch: data_trial(kind, files, scratch), 60, known, lambda: None)
    assert known["finds"] == {}


def test_changes_are_the_same_for_a_seed_and_reach_what_is_restored(work: Path) -> None:
    (folder,) = made_models(work, "knn")
    model = Model(folder)
    assert model.mutated(random.Random("knn 3")) == model.mutated(random.Random("knn 3"))
    changed = [model.mutated(random.Random(i)) for i in range(30)]
    assert len({tuple(sorted(files.items())) for files in changed}) > 20


def test_what_must_not_happen_is_found() -> None:
    """A signal, an exception, memory, lines: of a trial that does it."""

    def trial(rng: random.Random) -> None:  # noqa: ARG001
        number[0] += 1
        match number[0]:
            case 2:
                os.kill(os.getpid(), signal.SIGSEGV)
            case 3:
                raise KeyError("x")
            case 4:
                raise ModelError("one line")
            case 5:
                raise ModelError("two\nlines")
            case 6:
                bytearray(os.urandom(1 << 20)) * 2_500  # the suite may be large by now
            case 7:
                raise ModelError("no memory") from MemoryError("1 TB")

    number = [0]
    found = []
    for first in range(7):  # each in a process of its own, which begins with what is counted here
        number[0] = first
        found += [outcome.what for outcome in trials("x", trial, lambda: time.sleep(0), first, first + 1)]
    assert found[0] == RIGHT
    assert found[1] == "signal SIGSEGV"
    assert found[2].startswith("KeyError")
    assert found[3] == REFUSED
    assert found[4].startswith("several lines")
    assert found[5].startswith("memory")
    assert found[6].startswith("MemoryError")
