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
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from everylabel.data.dataset import Dataset
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


def test_replicas_answer_as_one_process_does_while_the_model_is_replaced(
    model: Path, train: Dataset, tmp_path: Path
) -> None:
    served = Path(shutil.copytree(model, tmp_path / "model"))
    process = subprocess.Popen(
        [sys.executable, "-m", "everylabel.cli.main", "serve", str(served), "--ray", "local", "--port", "0"]
        + ["--state", str(tmp_path / "state")],
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
        address, text = told[1], "a lighthouse above the harbour"
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
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(120)
