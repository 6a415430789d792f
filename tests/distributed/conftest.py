"""A cluster of two nodes of one core each, on this machine, or one that is there; without Ray all of it is skipped.

Ray warns of its own future, and leaves sockets to the collector: that is not what these tests are about.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import everylabel
from everylabel.cli.app import app
from everylabel.data import load_dataset, sample
from everylabel.data.dataset import Dataset
from everylabel.tagger.tagger import Tagger

collect_ignore_glob = [] if find_spec("ray") else ["*"]
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
os.environ.setdefault("RAY_DEDUP_LOGS", "0")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

OBJECTS = 120_000_000  # bytes of Ray's object store, on each node
WORDS = "boat ship harbour lighthouse sea train rails plane airport wreck"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("ray"))  # one cluster at a time
            item.add_marker(pytest.mark.filterwarnings("default"))


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """Connected; by EVERYLABEL_TEST_CLUSTER=HOST:PORT to one that is there."""
    import ray
    from ray.cluster_utils import Cluster

    address, found = os.environ.get("EVERYLABEL_TEST_CLUSTER"), None
    if not address:
        found = Cluster(initialize_head=True, head_node_args=node())
        found.add_node(**node())
        address = found.address
    ray.init(address=address, namespace="everylabel", log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()
    if found is not None:
        found.shutdown()


@pytest.fixture
def alone() -> Iterator[Any]:
    """A cluster of one node, for others to join and to be lost."""
    from ray.cluster_utils import Cluster

    found = Cluster(initialize_head=True, head_node_args=node())
    yield found
    found.shutdown()


@pytest.fixture
def connected(alone: Any) -> Iterator[Any]:
    import ray

    ray.init(address=alone.address, namespace="everylabel", log_to_driver=False, logging_level="ERROR")
    yield alone
    ray.shutdown()


def node() -> dict[str, Any]:
    return {"num_cpus": 1, "object_store_memory": OBJECTS, "include_dashboard": False}


@pytest.fixture
def run() -> Callable[..., Any]:
    def invoke(*args: object) -> Any:
        return CliRunner().invoke(app, [str(arg) for arg in args])

    return invoke


@pytest.fixture(scope="session")
def train(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Few documents of the sample."""
    return load_dataset(sample(tmp_path_factory.mktemp("sample") / "data")).subset(range(60))


@pytest.fixture(scope="session")
def model(train: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from everylabel.registry import method_class

    path = tmp_path_factory.mktemp("ray") / "model"
    method_class("tfidf")().fit(train).save(path)
    return path


def write_shards(folder: Path, n_files: int, n_docs: int) -> Path:
    words = WORDS.split()
    folder.mkdir(parents=True)
    for i in range(n_files):
        rows = [
            {"id": f"{i}-{j}", "text": " ".join(words[(i + j * k) % len(words)] for k in range(1, 8))}
            for j in range(n_docs)
        ]
        (folder / f"part-{i:03}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


def processes(name: str) -> list[int]:
    """Of tasks and actors; Ray gives each process the name of what it does."""
    found = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            command = (folder / "cmdline").read_text(encoding="utf-8", errors="replace")
            if folder.name.isdigit() and command.startswith("ray::") and name in command:
                found.append(int(folder.name))
    return found


def command(*arguments: object, within: Sequence[str] = ()) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*within, sys.executable, "-m", "everylabel.cli.main", *map(str, arguments)],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "EVERYLABEL_THREADS": "1"},
    )


def waited(process: subprocess.Popen[str]) -> str:
    _, said = process.communicate(timeout=600)
    assert process.returncode == 0, said
    return said


def until(true: Callable[[], Any], seconds: float = 300) -> None:
    """Waits; what does not come is an error."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it has not come about"
        time.sleep(0.2)


def assert_ranks_as_here(model: Path, data: Path, experts: tuple[str, ...]) -> None:
    """A tagger that a cluster fitted, to the last bit as one that is fitted in this process."""
    train, dev = load_dataset(data, "train"), load_dataset(data, "dev")
    here = Tagger(experts=experts).fit(train, dev).rank(dev.documents, 20)
    far = everylabel.load(model).rank(dev.documents, 20)
    np.testing.assert_array_equal(here.ids, far.ids)
    np.testing.assert_array_equal(here.scores, far.scores)
