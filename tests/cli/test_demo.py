"""`everylabel demo`: it runs, is honest about unseen labels, and the commands it ends with can be pasted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_the_demo_and_its_next_commands(tmp_path: Path) -> None:
    program = Path(sys.executable).parent / "everylabel"
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PATH": "/usr/bin:/bin"}

    def output_of(command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", command], check=False, capture_output=True, text=True, cwd=tmp_path, env=environment
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    shown = output_of(f"{program} demo")
    assert shown.startswith("Plan: fit xr-linear on the embedded sample")
    for word in ("head", "middle", "tail", "unseen", "Tags of three new texts", "cannot suggest"):
        assert word in shown
    unseen = next(line.split() for line in shown.splitlines() if line.startswith("unseen "))
    assert set(unseen[-3:]) == {"0.0"}
    commands = [line.strip() for line in shown.partition("Next, try:")[2].splitlines() if line.strip()]
    assert len(commands) == 3
    *_, tags = [output_of(command) for command in commands]
    assert '"name": "Lighthouses"' in tags
