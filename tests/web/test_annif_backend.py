"""Annif itself asks this server, by its backend `http`: a part of somebody's ensemble. Needs the command annif."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.web.conftest import TEXT
from tests.web.listening import listening

from everylabel.store import load
from everylabel.web.app import create_app
from everylabel.web.projects import Project
from everylabel.web.settings import Settings

ANNIF = os.environ.get("EVERYLABEL_ANNIF") or shutil.which("annif") or ""
PROJECTS = """
[here]
name=everylabel
language=en
backend=http
endpoint={address}/v1/projects/sample/suggest
vocab=sample
limit=10

[together]
name=everylabel and itself
language=en
backend=ensemble
sources=here:2,here
vocab=sample
limit=3
"""


@pytest.mark.slow
@pytest.mark.timeout(500)
@pytest.mark.skipif(not ANNIF, reason="needs annif (pip install annif), or EVERYLABEL_ANNIF=PATH")
def test_annif_asks_this_server_and_blends_it(fitted: Path, tmp_path: Path) -> None:
    labels = load(fitted).labels_.labels
    (tmp_path / "vocab.tsv").write_text("".join(f"<{one.id}>\t{one.name}\n" for one in labels), "utf-8")

    def annif(*arguments: str, text: str = "") -> list[str]:
        done = subprocess.run(
            [ANNIF, *arguments], cwd=tmp_path, input=text, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    with listening(create_app([Project(id="sample", model=fitted)], Settings(state=tmp_path / "state"))) as address:
        (tmp_path / "projects.cfg").write_text(PROJECTS.format(address=address), "utf-8")
        annif("load-vocab", "--language", "en", "sample", "vocab.tsv")
        for project in ("here", "together"):
            uri, name, score = annif("suggest", project, text=TEXT)[0].split("\t")
            assert (uri, name) == ("<lifeboats>", "Lifeboats")
            assert 0 < float(score) <= 1
