"""`everylabel info`: what a model is, from its manifest."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import Run

import everylabel
from everylabel.cli.output import spoken_size


def test_what_a_model_is(run: Run, data: Path, tmp_path: Path) -> None:
    everylabel.method("knn", tfidf={"ngrams": 2}).fit(everylabel.load_dataset(data)).save(tmp_path / "model")
    result = run("info", tmp_path / "model")
    assert (result.exit_code, result.stderr) == (0, "")
    facts, parts = result.stdout.split("\n\n")
    lines = {line.split("  ")[0]: line for line in facts.splitlines()}
    assert lines["method"].split() == ["method", "knn"]
    assert lines["settings"].split() == ["settings", "tfidf.ngrams=2"]
    assert lines["labels"].split() == ["labels", "4"]
    assert lines["documents"].split() == ["documents", "4"]
    assert {"labels", "counts", "tfidf"} <= {line.split()[0] for line in parts.splitlines()[1:]}
    found = json.loads(run("info", tmp_path / "model", "--json").stdout)
    assert found["settings"] == {"tfidf.ngrams": 2}
    files = [file for file in (tmp_path / "model").rglob("*") if file.is_file() and file.name != "README.md"]
    assert found["bytes"] == sum(file.stat().st_size for file in files)
    assert [part["bytes"] for part in found["parts"]] == sorted(
        (part["bytes"] for part in found["parts"]), reverse=True
    )
    assert "plan" not in found


def test_defaults_are_said_in_a_word(run: Run, model: Path) -> None:
    assert "settings      the defaults" in run("info", model).stdout
    assert json.loads(run("info", model, "--json").stdout)["settings"] == {}


def test_a_tagger_says_how_it_was_made(run: Run, fitted_tagger: Path) -> None:
    found = json.loads(run("info", fitted_tagger, "--json").stdout)
    assert {"experts/tfidf", "experts/knn", "experts/svm"} <= {part["name"] for part in found["parts"]}
    assert found["plan"][0].startswith("plan: ")
    assert [event["what"] for event in found["history"]] == ["fitted"]
    assert found["settings"]["experts"] == ["tfidf", "knn", "svm"]
    shown = run("info", fitted_tagger).stdout
    assert found["plan"][0] in shown
    assert "documents 252, labels 126" in shown


def test_nothing_else_than_two_files_is_read(run: Run, model: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(model, tmp_path / "model"))
    shutil.rmtree(copy / "arrays")
    assert run("info", copy).exit_code == 0


def test_what_is_no_model_is_refused(run: Run, data: Path) -> None:
    assert run("info", data).exit_code == 5


@pytest.mark.parametrize(
    ("n_bytes", "said"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1_000, "1.0 KB"),
        (999_960, "1.0 MB"),
        (901_000_000, "901.0 MB"),
        (10**16, "10,000.0 TB"),
    ],
)
def test_sizes_are_spoken(n_bytes: int, said: str) -> None:
    assert spoken_size(n_bytes) == said
