"""`everylabel demo`: it runs, shows a tagger beside its best expert, and the commands it ends with can be pasted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_the_demo_and_its_next_commands(tmp_path: Path) -> None:
    program = Path(sys.executable).parent / "everylabel"
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PATH": "/usr/bin:/bin"}

    def output_of(command: str) -> tuple[str, str]:
        done = subprocess.run(
            ["bash", "-c", command], check=False, capture_output=True, text=True, cwd=tmp_path, env=environment
        )
        assert done.returncode == 0, done.stderr
        return done.stdout, done.stderr

    shown, said = output_of(f"{program} demo")
    assert shown.startswith("A tagger for the embedded sample")
    assert "plan: 252 labelled documents" in said
    for word in ("What it is made of", "best of its experts", "difference in nDCG@5: ", "Tags of three new texts"):
        assert word in shown
    rows = {line.split()[0]: line.split()[1:] for line in shown.splitlines() if line.strip()}
    assert {"head", "middle", "tail", "unseen", "all"} <= set(rows)
    assert all(
        float(cell) > 0 for cell in rows["unseen"]
    )  # the tagger and its best expert suggest labels without pairs
    assert "Beekeeping (tail)\n  words: Honey; hives; bees [tfidf]\n" in shown
    commands = [line.strip() for line in shown.partition("Next, try:")[2].splitlines() if line.strip()]
    assert len(commands) == 3
    plan, scores, tags = [output_of(command)[0] for command in commands]
    assert "plan: 252 labelled documents" in plan
    assert "tagger on test: 92 documents" in scores
    assert '"name": "Lighthouses"' in tags
    assert '"evidence": [{"kind": "words", "text": ' in tags
