"""This machine's speeds: measured once, kept, and never an error."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from everylabel import machine
from everylabel.machine import HOST_SHARE, LEAST, MOST, THERE, Speeds, measured, speeds

Ticks = Callable[[float], None]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, in a process that has measured nothing yet."""
    monkeypatch.setenv("EVERYLABEL_CACHE", str(tmp_path / "cache"))
    machine._speeds.cache_clear()
    return tmp_path / "cache" / "machine"


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> Ticks:
    """`ticks(0.1)`: each piece of work takes a tenth of a second."""
    now, step = [0.0], [0.0]

    def clock() -> float:
        now[0] += step[0]
        return now[0]

    monkeypatch.setattr(time, "perf_counter", clock)

    def set_step(seconds: float) -> None:
        step[0] = seconds

    return set_step


def forget() -> None:
    """As a new process."""
    machine._speeds.cache_clear()


def test_a_machine_that_takes_twice_as_long(ticks: Ticks) -> None:
    for kind in ("reading", "solving", "training"):
        ticks(2 * THERE[kind])
        assert asdict(measured())[kind] == pytest.approx(2.0, abs=1e-3)
    ticks(1_000.0)
    assert measured() == Speeds(reading=MOST, solving=MOST, training=MOST)  # a process that was asleep
    ticks(0.0)
    assert measured() == Speeds(reading=LEAST, solving=LEAST, training=LEAST)


def test_this_machine_is_measured_in_well_under_a_second() -> None:
    measured()  # imports are not work
    started = time.process_time()
    found = measured()
    assert time.process_time() - started < 0.6
    assert all(LEAST < value < MOST for value in asdict(found).values())


def test_it_is_measured_once(folder: Path, ticks: Ticks) -> None:
    ticks(THERE["reading"])
    found = speeds()
    assert found.reading == pytest.approx(1, abs=1e-3)
    ticks(50 * THERE["reading"])
    assert speeds() == found
    forget()
    assert speeds() == found  # by the file
    (file,) = folder.iterdir()
    kept = json.loads(file.read_text(encoding="utf-8"))
    assert kept["reading"] == found.reading
    assert kept.keys() >= {"processor", "cores", "everylabel", "gpu"}


def test_another_number_of_cores_is_another_machine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for cores in ("1", "3", "1"):
        monkeypatch.setenv("EVERYLABEL_THREADS", cores)
        speeds()
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize(
    "content", ["", "{", "[1]", "{}", '{"reading": "x", "solving": 1, "training": 1}', "null", "\udcff"]
)
@pytest.mark.parametrize("number", ["0", "-1", "NaN", "1e300"])
def test_a_damaged_file_is_replaced(folder: Path, content: str, number: str) -> None:
    found = speeds()
    (file,) = folder.iterdir()
    for text in (content, file.read_text(encoding="utf-8").replace(str(found.solving), number)):
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
        forget()
        again = speeds()
        assert all(LEAST <= value <= MOST for value in asdict(again).values())
        assert json.loads(file.read_text(encoding="utf-8"))["solving"] == again.solving


def test_a_cache_that_cannot_be_written_is_no_error(folder: Path, ticks: Ticks) -> None:
    folder.parent.parent.mkdir(parents=True, exist_ok=True)
    folder.parent.write_text("a file in the place of the folder", encoding="utf-8")
    ticks(THERE["solving"])
    found = speeds()
    ticks(9 * THERE["solving"])
    assert speeds() == found  # not measured again by the same process


def test_a_gpu_trains_as_fast_as_it_is(folder: Path, ticks: Ticks, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not folder.exists()
    ticks(THERE["training"])
    monkeypatch.setattr(machine, "_gpu_step", lambda: THERE["gpu"] / 100)
    assert measured(gpu=True).training == pytest.approx(HOST_SHARE + (1 - HOST_SHARE) / 100, abs=1e-3)
    assert measured().training == pytest.approx(1, abs=1e-3)
    monkeypatch.setattr(machine, "_gpu_step", lambda: None)
    assert measured(gpu=True) == measured()


def test_a_gpu_that_cannot_be_used_after_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    if torch.cuda.device_count() == 0:  # what torch says, and what it can do
        assert machine._gpu_step() is None
        assert speeds(gpu=True) == machine._read(next(folder.iterdir()))


def test_no_compiler_and_no_torch_are_needed() -> None:
    code = "import sys; from everylabel.machine import measured; measured(); print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"torch", "numba", "transformers"} & set(out.split())
