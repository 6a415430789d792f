"""Ctrl-C, a command that is killed, and files that are damaged: tasks end, and the same command goes on."""

from __future__ import annotations

import gzip
import json
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.distributed.conftest import command, processes, until, waited, write_shards

from everylabel.cli.main import INTERRUPTED
from everylabel.data import sample

pytestmark = [pytest.mark.timeout(600), pytest.mark.slow]
N_FILES, N_DOCS = 30, 3_000


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_tagging_goes_on(how: signal.Signals, alone: Any, model: Path, tmp_path: Path) -> None:
    source, out = write_shards(tmp_path / "in", N_FILES, N_DOCS), tmp_path / "out"
    arguments = ["tag", model, source, "-o", out, "--ray", alone.address]
    process = command(*arguments)
    until(lambda: len(list(out.glob("part*.jsonl"))) > 2)
    process.send_signal(how)
    _, said = process.communicate(timeout=120)
    assert process.returncode == (INTERRUPTED if how is signal.SIGINT else -how), said
    assert ("interrupted; nothing was left half written" in said) is (how is signal.SIGINT)
    until(lambda: not processes("_Tagging"), 60)
    before = {file: file.stat().st_mtime_ns for file in out.glob("part*.jsonl")}
    assert 2 < len(before) < N_FILES
    assert f"{len(before)} of {N_FILES} files have been tagged before" in waited(command(*arguments))
    assert all(file.stat().st_mtime_ns == when for file, when in before.items())
    assert sum(len(file.read_bytes().splitlines()) for file in out.glob("part*.jsonl")) == N_FILES * N_DOCS


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_fit_goes_on(how: signal.Signals, alone: Any, tmp_path: Path) -> None:
    data = sample(tmp_path / "data")
    experts = json.dumps(["tfidf", "knn", "xr-linear"])
    arguments = ["fit", data, "-o", tmp_path / "model", "--set", f"experts={experts}", "--ray", alone.address]
    process = command(*arguments)
    until(lambda: processes("-rehearsal") + processes("-all") or process.poll() is not None)
    process.send_signal(how)
    _, said = process.communicate(timeout=120)
    assert process.returncode == (INTERRUPTED if how is signal.SIGINT else -how), said
    until(lambda: not processes("-rehearsal") + processes("-all"), 60)
    assert not (tmp_path / "model").exists()
    waited(command(*arguments))
    assert (tmp_path / "model" / "manifest.json").exists()


def test_damaged_files_are_named_and_the_others_done(alone: Any, model: Path, tmp_path: Path) -> None:
    source, out = write_shards(tmp_path / "in", 3, 500), tmp_path / "out"
    whole = gzip.compress((source / "part-001.jsonl").read_bytes())
    (source / "cut.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    (source / "broken.parquet").write_bytes(b"PAR1" + bytes(2_000) + b"PAR1")
    arguments = ["tag", model, source, "-o", out, "--ray", alone.address]
    process = command(*arguments)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 3, said
    assert "2 of 5 files could not be tagged; the others are done" in said.splitlines()[-1]
    for name in ("cut.jsonl.gz", "broken.parquet"):
        assert any(name in line and "(on node" in line for line in said.splitlines()), said
    assert sorted(file.name for file in out.glob("[!.]*.jsonl")) == [f"part-{i:03}.jsonl" for i in range(3)]
    assert "Traceback" not in said
    (source / "cut.jsonl.gz").write_bytes(whole)
    (source / "broken.parquet").unlink()
    assert "3 of 4 files have been tagged before" in waited(command(*arguments))
    assert (out / "cut.jsonl").read_bytes() == (out / "part-001.jsonl").read_bytes()
