"""Files tagged by a cluster: the same bytes as without one, each file once, whatever is killed meanwhile."""

from __future__ import annotations

import gzip
import json
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.distributed.conftest import processes, write_shards

import everylabel
from everylabel.distributed import carry
from everylabel.distributed.carry import Carried

pytestmark = [pytest.mark.timeout(900), pytest.mark.usefixtures("cluster")]
Run = Callable[..., Any]


def written(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.suffix == ".jsonl"}


def alone(run: Run, model: Path, folder: Path) -> dict[str, bytes]:
    """Without Ray, file by file."""
    found = {}
    for file in sorted(folder.iterdir()):
        result = run("tag", model, file, "--quiet")
        assert result.exit_code == 0, result.output
        found[f"{file.name.partition('.')[0]}.jsonl"] = result.stdout_bytes
    return found


def test_the_same_bytes_and_what_is_done_is_not_done_again(run: Run, model: Path, tmp_path: Path) -> None:
    source = write_shards(tmp_path / "in", 5, 300)
    packed = source / "part-001.jsonl"
    with gzip.open(f"{packed}.gz", "wb") as stream:
        stream.write(packed.read_bytes())
    packed.unlink()
    out = tmp_path / "out"
    result = run("tag", model, f"{source}/*.jsonl*", "-o", out, "--ray", "auto")
    assert result.exit_code == 0, result.output
    assert "wrote 5 files" in result.stderr
    assert "1,500 documents" in result.stderr
    assert written(out) == alone(run, model, source)

    before = {file: file.stat().st_mtime_ns for file in out.iterdir()}
    (out / "part-003.jsonl").unlink()
    again = run("tag", model, f"{source}/*.jsonl*", "-o", out, "--ray", "auto")
    assert again.exit_code == 0, again.output
    assert "4 of 5 files have been tagged before" in again.stderr
    changed = [file.name for file in out.iterdir() if before[file] != file.stat().st_mtime_ns]
    assert changed == ["part-003.jsonl"]
    assert written(out) == alone(run, model, source)

    other = run("tag", model, f"{source}/*.jsonl*", "-o", out, "--ray", "auto", "-k", "3")
    assert other.exit_code == 3
    assert "choose another folder" in other.stderr


def test_folders_are_those_of_the_command(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers are in others."""
    write_shards(tmp_path / "in", 2, 20)
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        result = run("tag", model, "in", "-o", "out", "--ray", "auto")
        assert result.exit_code == 0, result.output
    assert "2 of 2 files have been tagged before" in result.stderr
    assert written(tmp_path / "out") == alone(run, model, tmp_path / "in")


def test_a_model_that_a_node_does_not_see_is_sent_once(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(carry, "_kept", lambda: tmp_path / "kept")
    carried = Carried.of(model)
    assert carried.folder() == model
    far = replace(carried, path=tmp_path / "not-there")
    place = far.folder()
    assert place.is_relative_to(tmp_path / "kept")
    before = place.stat()
    assert far.folder() == place
    assert place.stat() == before
    texts = ["a boat in the harbour"]
    one, other = (everylabel.load(path).rank(texts, 5) for path in (model, place))
    np.testing.assert_array_equal(one.scores, other.scores)


def test_what_is_wrong_with_a_file_is_one_line_with_the_node(run: Run, model: Path, tmp_path: Path) -> None:
    source, out = write_shards(tmp_path / "in", 3, 20), tmp_path / "out"
    bad = source / "part-001.jsonl"
    good = bad.read_bytes()
    bad.write_bytes(good + b'{"id": 7}\n')
    result = run("tag", model, source, "-o", out, "--ray", "auto", "--quiet")
    assert result.exit_code == 3
    (line,) = result.stderr.splitlines()
    assert "1 of 3 files could not be tagged" in line
    assert "part-001.jsonl:21" in line
    assert "on node" in line
    assert sorted(written(out)) == ["part-000.jsonl", "part-002.jsonl"]
    bad.write_bytes(good)
    assert run("tag", model, source, "-o", out, "--ray", "auto", "--quiet").exit_code == 0
    assert written(out) == alone(run, model, source)

    bad.write_bytes(good + b'{"id": 7}\n')
    skipped = run("tag", model, source, "-o", tmp_path / "other", "--ray", "auto", "--on-bad-row", "skip")
    assert skipped.exit_code == 0, skipped.output
    assert "1 bad rows skipped" in skipped.stderr
    assert written(tmp_path / "other")["part-001.jsonl"] == written(out)["part-001.jsonl"]


def test_killed_actors(run: Run, model: Path, tmp_path: Path) -> None:
    """kill -9 while files are being tagged: nothing is lost, nothing twice."""
    source, out = write_shards(tmp_path / "in", 12, 2_000), tmp_path / "out"
    killed: list[int] = []

    def kill() -> None:
        until = time.monotonic() + 60
        while len(killed) < 2 and time.monotonic() < until:
            there = [pid for pid in processes("_Tagging") if pid not in killed]
            if there and any(out.glob("*.jsonl")):
                killed.append(there[0])
                os.kill(there[0], signal.SIGKILL)
                time.sleep(1)
            time.sleep(0.2)

    thread = threading.Thread(target=kill)
    thread.start()
    result = run("tag", model, source, "-o", out, "--ray", "auto", "--quiet")
    thread.join()
    assert result.exit_code == 0, result.output
    assert killed
    assert len(written(out)) == 12
    for name, content in written(out).items():
        given = [json.loads(line)["id"] for line in (source / name).read_text(encoding="utf-8").splitlines()]
        assert [json.loads(line)["id"] for line in content.decode().splitlines()] == given


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-"], "give the files as FILE"),
        (["{in}"], "give the files as FILE"),
        (["{in}", "-o", "{out}", "--whole"], "leave out --split and --whole"),
        (["{in}/none-*", "-o", "{out}"], "there is no file of documents"),
        (["nowhere://bucket/*.jsonl", "-o", "{out}"], "cannot be read"),
    ],
)
def test_what_cannot_be_meant(arguments: list[str], said: str, run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    given = [one.format(**{"in": tmp_path / "in", "out": tmp_path / "out"}) for one in arguments]
    result = run("tag", model, *given, "--ray", "auto")
    assert result.exit_code != 0
    assert said in " ".join(result.stderr.replace("│", " ").split())
