"""--device: one word for the whole command, whatever the methods are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run
from tests.encoders import conftest as encoders

from everylabel.encoders.device import VARIABLE

tiny_folder = encoders.made_folder


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")  # what the command sets is gone after the test


@pytest.mark.parametrize("command", ["fit", "compare", "plan"])
def test_the_process_takes_it(run: Run, data: Path, tmp_path: Path, command: str) -> None:
    more: dict[str, list[Any]] = {"fit": ["-m", "popularity", "-o", tmp_path / "model"], "plan": []}
    result = run(command, data, *more.get(command, ["-m", "popularity"]), "--device", "cpu", "--quiet")
    assert result.exit_code == 0, result.output
    assert os.environ[VARIABLE] == "cpu"


def test_a_typo_is_found_before_the_data_are_read(run: Run, tmp_path: Path) -> None:
    result = run("fit", tmp_path / "nothing", "-o", tmp_path / "model", "--device", "gpu")
    assert result.exit_code == 4
    assert "device must be auto, cpu, cuda or cuda:NUMBER; got 'gpu'" in result.output


def test_a_gpu_that_is_not_there_is_refused(
    run: Run, data: Path, tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setenv("EVERYLABEL_CACHE", str(tmp_path / "cache"))
    options = ["-m", "rts", "--set", f"encoder.teacher={tiny_folder}", "--device", "cuda", "--quiet"]
    result = run("fit", data, *options, "-o", tmp_path / "model")
    assert result.exit_code == 4
    assert "torch finds no CUDA device; set device=auto or device=cpu" in result.output
    assert not (tmp_path / "model").exists()
