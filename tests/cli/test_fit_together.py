"""`everylabel fit` by several processes: one model, written once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.encoders import conftest as encoders

tiny_folder = encoders.made_folder


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_torchrun(data: Path, tiny_folder: Path, tmp_path: Path) -> None:
    """Both processes write to the same places, if they do: the second one would say that they are taken."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command += ["-m", "everylabel.cli.main", "fit", str(data), "--method", "classifier", "-o", str(tmp_path / "model")]
    command += [
        "--set",
        f"encoder.kind={tiny_folder}",
        "--set",
        "classify.steps=3",
        "--curves",
        str(tmp_path / "curves"),
    ]
    variables = {**os.environ, "EVERYLABEL_THREADS": "1", "EVERYLABEL_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("fitted classifier on 4 documents") == 1
    assert json.loads((tmp_path / "model" / "manifest.json").read_text())["method"] == "classifier"
    curve = (tmp_path / "curves" / "classifier.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in curve] == [1, 2, 3]
    assert sorted(path.name for path in tmp_path.iterdir() if "training" in path.name) == []


def test_a_tagger_is_refused(run: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    result = run("fit", data, "-o", tmp_path / "model")
    assert result.exit_code == 4
    assert "several processes fit one method together" in result.stderr
    assert not (tmp_path / "model").exists()
