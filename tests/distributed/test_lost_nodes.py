"""A node is killed in the middle of a command: the same result as without, by the node that is left."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.distributed.conftest import assert_ranks_as_here, command, node, processes, waited, write_shards

from everylabel.data import sample

pytestmark = [pytest.mark.timeout(900), pytest.mark.slow]
EXPERTS = ("tfidf", "knn")


@pytest.fixture
def nodes() -> Iterator[tuple[Any, Any]]:
    """A cluster, and its node that can be killed."""
    from ray.cluster_utils import Cluster

    found = Cluster(initialize_head=True, head_node_args=node())
    yield found, found.add_node(**node())
    found.shutdown()


def test_files_are_tagged_by_the_other_node(nodes: tuple[Any, Any], model: Path, tmp_path: Path) -> None:
    cluster, second = nodes
    source, out = write_shards(tmp_path / "in", 20, 1_000), tmp_path / "out"
    process = command("tag", model, source, "-o", out, "--ray", cluster.address, "--quiet")
    until = time.monotonic() + 300
    while not (out.is_dir() and any(out.glob("*.jsonl"))) and time.monotonic() < until:
        time.sleep(0.2)
    cluster.remove_node(second, allow_graceful=False)
    waited(process)
    lines = sum(len(file.read_bytes().splitlines()) for file in out.glob("*.jsonl"))
    assert lines == 20_000
    alone = subprocess.run(
        [sys.executable, "-m", "everylabel.cli.main", "tag", str(model), str(source / "part-007.jsonl"), "--quiet"],
        capture_output=True,
        check=True,
    )
    assert (out / "part-007.jsonl").read_bytes() == alone.stdout


def test_a_fit_has_the_same_model(nodes: tuple[Any, Any], tmp_path: Path) -> None:
    cluster, second = nodes
    data = sample(tmp_path / "data")
    chosen = "experts=[" + ",".join(f'"{name}"' for name in EXPERTS) + "]"
    process = command("fit", data, "-o", tmp_path / "model", "--set", chosen, "--ray", cluster.address)
    until = time.monotonic() + 300
    while len(processes("-all") + processes("-rehearsal")) < 2 and time.monotonic() < until:  # one on each node
        time.sleep(0.05)
    assert process.poll() is None
    cluster.remove_node(second, allow_graceful=False)
    waited(process)
    assert_ranks_as_here(tmp_path / "model", data, EXPERTS)
