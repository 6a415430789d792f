"""A node whose disk is full: what it cannot do is done by others; where there are none, it is one clear error."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.distributed.conftest import command, node, waited, write_shards

from everylabel.distributed.carry import Carried
from everylabel.distributed.pool import Asked
from everylabel.distributed.shards import find_shards
from everylabel.distributed.tag import _rows

pytestmark = [pytest.mark.timeout(600), pytest.mark.slow]


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A folder with room for 64 KB."""
    folder = tmp_path / "small"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("nothing may be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A node copies what is at an address to its disk."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_files_that_have_no_room_are_tagged_by_another_node(
    alone: Any, small: Path, model: Path, tmp_path: Path
) -> None:
    alone.add_node(**node(), env_vars={"TMPDIR": str(small)})
    source, out = write_shards(tmp_path / "in", 8, 2_000), tmp_path / "out"
    assert (source / "part-000.jsonl").stat().st_size > 64_000
    with served(source) as address:
        waited(command("tag", model, f"{address}/*.jsonl", "-o", out, "--ray", alone.address))
    assert sorted(file.name for file in out.glob("[!.]*.jsonl")) == [f"part-{i:03}.jsonl" for i in range(8)]


def test_results_that_have_no_room_anywhere_are_one_error(alone: Any, small: Path, model: Path, tmp_path: Path) -> None:
    alone.add_node(**node())
    source = write_shards(tmp_path / "in", 4, 2_000)
    process = command("tag", model, source, "-o", small / "out", "--ray", alone.address, "--quiet")
    _, said = process.communicate(timeout=300)
    assert process.returncode == 1
    line = said.splitlines()[-1]
    assert "4 of 4 files could not be tagged" in line
    assert "No space left on device (on node" in line
    assert not list((small / "out").glob("*.jsonl"))


def test_a_node_without_room_for_the_model_leaves_the_files_to_others(
    connected: Any, small: Path, model: Path, tmp_path: Path
) -> None:
    connected.add_node(**node(), env_vars={"TMPDIR": str(small)})
    write_shards(tmp_path / "in", 6, 200)
    shards = find_shards(str(tmp_path / "in"))
    carried = replace(Carried.of(model), path=tmp_path / "not-there")  # all have to copy it
    (tmp_path / "out").mkdir()
    rows = list(_rows(shards, carried, Asked(), str(tmp_path / "out"), None))
    assert [row.error for row in rows] == [""] * 6
    assert sum(row.n_docs for row in rows) == 1_200
