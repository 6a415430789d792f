"""`everylabel demo`: it runs, shows a tagger beside its best expert, and the commands it ends with can be pasted."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from everylabel.tagger import tagger


def assert_all_is_shown(shown: str) -> None:
    assert shown.startswith("A tagger for the embedded sample")
    for word in ("What it is made of", "best of its experts", "difference in nDCG@5: ", "Tags of three new texts"):
        assert word in shown
    rows = {line.split()[0]: line.split()[1:] for line in shown.splitlines() if line.strip()}
    assert {"head", "middle", "tail", "unseen", "all"} <= set(rows)
    assert all(float(cell) > 0 for cell in rows["unseen"])  # tagger and best expert suggest labels without pairs
    assert "Beekeeping (tail)\n  words: Honey; hives; bees [tfidf]\n" in shown
    assert len(next_commands(shown)) == 3


def next_commands(shown: str) -> list[str]:
    return [line.strip() for line in shown.partition("Next, try:")[2].splitlines() if line.strip()]


def test_what_the_demo_shows(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """With two quick experts."""
    monkeypatch.setattr(tagger, "Tagger", partial(tagger.Tagger, experts=("tfidf", "knn")))
    done = run("demo")
    assert done.exit_code == 0, done.output
    assert_all_is_shown(done.stdout)


@pytest.mark.slow
@pytest.mark.timeout(500)
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
    assert_all_is_shown(shown)
    assert "plan: 252 labelled documents" in said
    plan, scores, tags = [output_of(command)[0] for command in next_commands(shown)]
    assert "plan: 252 labelled documents" in plan
    assert "tagger on test: 92 documents" in scores
    assert '"name": "Lighthouses"' in tags
    assert '"evidence": [{"kind": "words", "text": ' in tags
