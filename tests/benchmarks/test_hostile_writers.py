"""A few of the hostile trials of writers; all of them are on results/pages/hostile.md."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tests.store.test_lock import environment

FEW = """
import contextlib, json, sys
from benchmarks.run.hostile_writers import all_trials
with contextlib.redirect_stdout(sys.stderr):
    found = all_trials(kills=8, saves=10, adds=3)
print(json.dumps(found))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="this system does not fork")
def test_nothing_is_lost() -> None:
    done = subprocess.run([sys.executable, "-c", FEW], env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) == 8
    assert not [key for outcomes in found.values() for key in outcomes if key.startswith(("lost", "left"))], found
    assert sum(found["a save is killed, renameat2"].values()) == 8
