"""Two nodes in network namespaces of their own, whose link is cut for half a minute in the middle of a command.

Addresses are those of the namespaces, which are made and removed here; nothing else on the machine is touched. The head
takes a node that it has not heard of for so long for dead: the other one does the work, and the result is the same.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.distributed.conftest import OBJECTS, assert_ranks_as_here, command, processes, until, waited, write_shards

from everylabel.data import sample

pytestmark = [pytest.mark.timeout(600), pytest.mark.slow]
CUT = 30.0  # seconds
HEAD, OTHER = "10.213.97.1", "10.213.97.2"
EXPERTS = ("tfidf", "knn")


class Two:
    """Their namespaces, and a third one with a bridge between them: a cable is pulled there, not at a node, which would
    lose its own address."""

    def __init__(self) -> None:
        *self.names, self._middle = [f"everylabel-{os.getpid()}-{i}" for i in range(3)]

    def make(self) -> None:
        for name in (*self.names, self._middle):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", self._middle, "link", "add", "bridge", "type", "bridge")
        ip("-n", self._middle, "link", "set", "bridge", "up")
        for i, (name, address) in enumerate(zip(self.names, (HEAD, OTHER), strict=True)):
            port = f"port{i}"
            ip("-n", self._middle, *f"link add {port} type veth peer name cable netns {name}".split())
            ip("-n", self._middle, "link", "set", port, "master", "bridge", "up")
            ip("-n", name, "address", "add", f"{address}/24", "dev", "cable")
            ip("-n", name, "link", "set", "cable", "up")

    def cut(self) -> None:
        ip("-n", self._middle, "link", "set", "port1", "down")
        time.sleep(CUT)
        ip("-n", self._middle, "link", "set", "port1", "up")

    def remove(self) -> None:
        """With the processes that are left in them."""
        for name in (*self.names, self._middle):
            found = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False)
            for pid in map(int, found.stdout.split()):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], capture_output=True, check=True)


def inside(name: str) -> list[str]:
    return ["ip", "netns", "exec", name]


@contextmanager
def node(name: str, folder: Path, *arguments: str) -> Iterator[None]:
    """A node until the end of the block."""
    start = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus=1", "--num-gpus=0"]
    with (folder / f"{name}.log").open("w") as log:
        process = subprocess.Popen(
            [*inside(name), *start, f"--object-store-memory={OBJECTS}", *arguments], stdout=log, stderr=log
        )
    try:
        yield
    finally:
        process.kill()  # what it has started is left to `Two.remove`
        process.wait()


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Two]:
    if shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("network namespaces need ip, and root")
    found = Two()
    try:
        found.make()
    except subprocess.CalledProcessError as error:
        found.remove()
        pytest.skip(f"no network namespaces here: {error.stderr.decode()}")
    temporary = f"/tmp/everylabel-ray-{os.getpid()}"  # short: sockets have short names
    head, other = found.names
    options = [f"--node-ip-address={HEAD}", "--port=6379", "--include-dashboard=false", f"--temp-dir={temporary}"]
    try:
        with (
            node(head, tmp_path, "--head", *options),
            node(other, tmp_path, f"--node-ip-address={OTHER}", f"--address={HEAD}:6379"),
        ):
            until(lambda: len(nodes(head)) == 2, 120)
            yield found
    finally:
        found.remove()
        shutil.rmtree(temporary, ignore_errors=True)


def nodes(name: str) -> list[Any]:
    """That are alive, as one who is in the namespace sees them."""
    asked = (
        f"import json, ray; ray.init('{HEAD}:6379', log_to_driver=False, logging_level='ERROR');"
        "print(json.dumps([node['NodeID'] for node in ray.nodes() if node['Alive']]))"
    )
    done = subprocess.run([*inside(name), sys.executable, "-c", asked], capture_output=True, text=True, check=False)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else []


def test_files_are_tagged_all_the_same(two: Two, model: Path, tmp_path: Path) -> None:
    source, out = write_shards(tmp_path / "in", 40, 4_000), tmp_path / "out"
    arguments = ["tag", model, source, "-o", out, "--ray", f"{HEAD}:6379", "--quiet"]
    process = command(*arguments, within=inside(two.names[0]))
    until(lambda: len(processes("_Tagging")) == 2 and any(out.glob("part*.jsonl")))
    two.cut()
    waited(process)
    ids = [json.loads(line)["id"] for file in out.glob("part*.jsonl") for line in file.read_text("utf-8").splitlines()]
    assert len(ids) == len(set(ids)) == 40 * 4_000


def test_a_fit_has_the_same_model(two: Two, tmp_path: Path) -> None:
    data = sample(tmp_path / "data")
    arguments = ["fit", data, "-o", tmp_path / "model", "--set", f"experts={json.dumps(EXPERTS)}"]
    process = command(*arguments, "--ray", f"{HEAD}:6379", within=inside(two.names[0]))
    until(lambda: len(processes("-all") + processes("-rehearsal")) == 2)
    two.cut()
    waited(process)
    assert_ranks_as_here(tmp_path / "model", data, EXPERTS)
