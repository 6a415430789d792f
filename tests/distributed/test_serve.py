"""`everylabel serve MODEL --ray local` as a command: really started, asked while its model is exchanged, and ended."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.distributed.conftest import node, processes, until

from everylabel.data.dataset import Dataset
from everylabel.distributed.cluster import Cluster
from everylabel.distributed.serve import start
from everylabel.errors import ConfigError
from everylabel.registry import method_class
from everylabel.store import load
from everylabel.workflow.tag import Cut, suggest

pytestmark = [pytest.mark.timeout(900), pytest.mark.slow]
TELLS = re.compile(r"page +(http://127\.0\.0\.1:\d+)/\n")


def asked(address: str, text: str) -> Any:
    body = json.dumps({"text": text, "k": 5}).encode()
    request = urllib.request.Request(f"{address}/api/models/model/tag", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


def names(found: Any) -> list[str]:
    (one,) = found["documents"]
    return [label["id"] for label in one["labels"]]


@contextmanager
def serving(model: Path, folder: Path) -> Iterator[str]:
    """The address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "everylabel.cli.main", "serve", str(model), "--ray", "local", "--port", "0"]
        + ["--state", str(folder / "state")],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1", "EVERYLABEL_THREADS": "2"},
    )
    assert process.stdout is not None
    try:
        ready, _, _ = select.select([process.stdout], [], [], 600)
        assert ready, "it has not said where it is"
        told = TELLS.match(process.stdout.readline())
        assert told
        yield told[1]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(120)


def test_replicas_answer_as_one_process_does_while_the_model_is_replaced(
    model: Path, train: Dataset, tmp_path: Path
) -> None:
    served = Path(shutil.copytree(model, tmp_path / "model"))
    with serving(served, tmp_path) as address:
        text = "a lighthouse above the harbour"
        here = [label["id"] for label in suggest(load(served), [text], Cut(5), "none")[0].labels]
        assert names(asked(address, text)) == here
        with urllib.request.urlopen(f"{address}/readyz", timeout=60) as answer:
            assert answer.status == 200

        method_class("popularity")().fit(train).save(served)
        popular = [label["id"] for label in suggest(load(served), [text], Cut(5), "none")[0].labels]
        assert popular != here
        until = time.monotonic() + 60
        while (now := names(asked(address, text))) != popular and time.monotonic() < until:
            assert now == here  # no request fails, and none is answered by half of a model
            time.sleep(0.3)
        assert now == popular


def test_only_the_head_serves(connected: Any) -> None:
    """Who is on another node would be told an address where nobody listens."""
    import ray

    second = connected.add_node(**node())
    there = {"ray.io/node-id": second.node_id}
    with pytest.raises(ConfigError, match="at its head"):
        ray.get(ray.remote(num_cpus=0, label_selector=there)(_started).remote())


def _started() -> None:
    start(_nobody, _nobody, Cluster(()), host="127.0.0.1", port=0)


def _nobody(*_: Any) -> Any:
    raise AssertionError


def test_no_request_fails_while_replicas_are_killed_and_the_model_replaced(
    model: Path, train: Dataset, tmp_path: Path
) -> None:
    """Eight callers all the time; one of two replicas is killed (kill -9), then the model is replaced."""
    served = Path(shutil.copytree(model, tmp_path / "model"))
    text, failed, n_answers = "a lighthouse above the harbour", list[str](), [0] * 8
    stop = threading.Event()

    def ask_all_the_time(caller: int) -> None:
        while not stop.is_set():
            try:
                names(asked(address, text))
                n_answers[caller] += 1
            except (OSError, ValueError) as error:
                failed.append(f"{type(error).__name__}: {error}")

    with serving(served, tmp_path) as address:
        callers = [threading.Thread(target=ask_all_the_time, args=(i,)) for i in range(len(n_answers))]
        for caller in callers:
            caller.start()
        try:
            until(lambda: sum(n_answers) > 50)
            os.kill(processes("ranking")[0], signal.SIGKILL)
            before = sum(n_answers)
            until(lambda: sum(n_answers) > before + 50)
            method_class("popularity")().fit(train).save(served)
            popular = [label["id"] for label in suggest(load(served), [text], Cut(5), "none")[0].labels]
            until(lambda: names(asked(address, text)) == popular)
        finally:
            stop.set()
            for caller in callers:
                caller.join()
    assert failed == []
    assert all(n_answers)
