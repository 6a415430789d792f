"""docs/moving-from-annif.md is true: its commands run on small files in Annif's formats, and its options are there."""

from __future__ import annotations

import gzip
import json
import re
import shlex
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from everylabel.cli.app import app
from everylabel.store import load
from everylabel.web.annif_projects import configured_projects

PAGE = (Path(__file__).parents[2] / "docs" / "moving-from-annif.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ everylabel (.*)$", PAGE, re.MULTILINE)
BASE = "http://example.org/"
LABELS = [("ships", "Ships", "Laivat"), ("rail", "Railways", "Rautatiet"), ("bees", "Beekeeping", "Mehiläishoito")]
TEXTS = ["Ships and boats cross the sea", "A railway engine on the rails", "Bees make honey in the hive"]


@pytest.fixture
def annif(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Vocabularies and corpora as Annif has them."""
    vocabs, corpora = tmp_path / "vocabs", tmp_path / "corpora"
    for folder in (vocabs, corpora / "fulltext"):
        folder.mkdir(parents=True)
    (vocabs / "yso.tsv").write_text("".join(f"<{BASE}{one}>\t{name}\n" for one, name, _ in LABELS))
    rows = "".join(f"{BASE}{one},,{name},{finnish}\n" for one, name, finnish in LABELS)
    (vocabs / "yso.csv").write_text(f"uri,notation,label_en,label_fi\n{rows}", encoding="utf-8")
    concepts = "".join(f'<{BASE}{one}> a skos:Concept ; skos:prefLabel "{name}"@en .\n' for one, name, _ in LABELS)
    (vocabs / "yso.ttl").write_text(f"@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n{concepts}")
    labelled = [(f"{text}, number {n}", label) for n in range(10) for text, label in zip(TEXTS, LABELS, strict=True)]
    lines = "".join(f"{text}\t<{BASE}{label[0]}>\n" for text, label in labelled)
    (corpora / "train.tsv.gz").write_bytes(gzip.compress(lines.encode()))
    cells = "".join(f'"{text}",<{BASE}{label[0]}>\n' for text, label in labelled[:6])
    (corpora / "test.csv").write_text(f"text,subject_uris\n{cells}")
    objects = [{"text": text, "subjects": [{"uri": BASE + label[0]}]} for text, label in labelled[:3]]
    (corpora / "more.jsonl").write_text("".join(json.dumps(one) + "\n" for one in objects))
    for name, text, label, suffix in zip("abc", TEXTS, LABELS, (".tsv", ".key", ".key"), strict=True):
        (corpora / "fulltext" / f"{name}.txt").write_text(text)
        listed = f"<{BASE}{label[0]}>\t{label[1]}\n" if suffix == ".tsv" else f"{label[1]}\n"
        (corpora / "fulltext" / f"{name}{suffix}").write_text(listed)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ran(command: str) -> str:
    """As a shell would run it."""
    words = shlex.split(command)
    given = Path(words[words.index("<") + 1]).read_bytes() if "<" in words else None
    words = words[: words.index("<")] if "<" in words else words
    if words[0] == "fit":
        words += ["--set", 'experts=["tfidf", "knn"]']  # the other experts' fits take a minute
    result = CliRunner().invoke(app, words, input=given)
    assert result.exit_code == 0, (command, result.output)
    return str(result.stdout)


@pytest.mark.timeout(500)
def test_every_command_runs(annif: Path) -> None:
    assert len(COMMANDS) == 15
    printed = {command: ran(command) for command in COMMANDS}
    for command, text in printed.items():
        if command.startswith("inspect"):
            assert "3 labels" in text, command
    (tagged,) = (text for command, text in printed.items() if "--k 5" in command)
    assert json.loads(tagged)["labels"][0]["id"] == f"{BASE}ships"
    folder = [json.loads(line) for line in printed["tag models/yso-en corpora/fulltext"].splitlines()]
    assert [one["labels"][0]["name"] for one in folder] == ["Ships", "Railways", "Beekeeping"]
    (finnish,) = (text for command, text in printed.items() if "--lang fi" in command)
    assert json.loads(finnish)["labels"][0]["name"] == "Laivat"
    (annif / "projects.cfg").write_text("\n".join(re.findall(r"^    (\[yso-en\]|\w+=.*)$", PAGE, re.MULTILINE)))
    (project,) = configured_projects(annif / "projects.cfg").projects
    assert (project.title, project.language, project.vocabulary) == ("YSO English", "en", "yso")
    assert len(load(project.model).labels_) == 3


def test_what_the_table_names_is_there() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    table = PAGE.partition("| Annif | here |")[2]
    for name, rest in re.findall(r"`everylabel ([a-z]+)([^`]*)`", table):
        options = {option for parameter in commands[name].params for option in parameter.opts}
        assert set(re.findall(r"--[a-z-]+", rest)) <= options, name
