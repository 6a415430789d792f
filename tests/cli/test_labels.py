"""`everylabel labels describe`, and what `evaluate` prints of a method's diagnostics."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import write_data, write_lines
from tests.encoders import conftest as encoders
from typer.testing import CliRunner

from everylabel.cli.app import app

Run = Callable[..., Any]
tiny_folder = encoders.made_folder


@pytest.fixture(scope="module")
def described(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A depl model of one step, and its data."""
    folder = tmp_path_factory.mktemp("labels")
    data = write_data(folder / "data")
    names = [("sea", "Seafaring"), ("rail", "Railways"), ("sky", "Aviation"), ("new", "Railways of tomorrow")]
    write_lines(data / "labels.jsonl", [{"id": i, "name": name} for i, name in [*names, ("rail2", "railways")]])
    settings = [f"encoder.teacher={tiny_folder}", "keywords.min_df=1", "classify.steps=1", "retrieve.steps=1"]
    arguments = [part for setting in (*settings, "keywords.per_label=3") for part in ("--set", setting)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVERYLABEL_CACHE", str(folder / "cache"))
        fit = ["fit", str(data), "--method", "depl", "-o", str(folder / "model"), "--quiet", *arguments]
        result = CliRunner().invoke(app, fit)
    assert result.exit_code == 0, result.output
    return folder / "model", data


def test_a_description(run: Run, described: tuple[Path, Path]) -> None:
    result = run("labels", "describe", described[0], "sea")
    assert result.exit_code == 0, result.output
    first, text, _, header, *rows = result.stdout.splitlines()
    assert first == "sea: Seafaring"
    assert text.startswith("text: Seafaring")
    assert header.split() == ["keyword", "weight", "in", "the", "text"]
    assert 1 <= len(rows) <= 3
    assert {row.split()[2] for row in rows} <= {"yes", "no"}


def test_as_json(run: Run, described: tuple[Path, Path]) -> None:
    found = json.loads(run("labels", "describe", described[0], "sea", "--json").stdout)
    assert list(found) == ["id", "name", "text", "keywords"]
    assert found["id"] == "sea"
    weights = [keyword["weight"] for keyword in found["keywords"]]
    assert weights == sorted(weights, reverse=True)
    assert all(weight > 0 for weight in weights)
    assert {"boat", "ship", "harbour", "sail"} & {keyword["word"] for keyword in found["keywords"]}


def test_a_label_is_found_by_its_name_too(run: Run, described: tuple[Path, Path]) -> None:
    by_name, by_id = (run("labels", "describe", described[0], label, "--json").stdout for label in ("aviation", "sky"))
    assert by_name == by_id
    unseen = run("labels", "describe", described[0], "new").stdout
    assert unseen == "new: Railways of tomorrow\ntext: Railways of tomorrow\n"


@pytest.mark.parametrize(
    ("label", "message"),
    [("Seafarin", "did you mean 'Seafaring'?"), ("RAILWAYS", "2 labels have the name"), ("qqq", "give the id")],
)
def test_labels_that_are_not_there(run: Run, described: tuple[Path, Path], label: str, message: str) -> None:
    result = run("labels", "describe", described[0], label)
    assert result.exit_code == 3
    assert message in result.stderr
    assert result.stdout == ""


def test_a_method_without_descriptions(run: Run, model: Path) -> None:
    result = run("labels", "describe", model, "sea")
    assert result.exit_code == 4
    assert "'popularity' has no descriptions" in result.stderr


def test_evaluate_has_the_diagnostics(run: Run, described: tuple[Path, Path], model: Path) -> None:
    path, data = described
    found = json.loads(run("evaluate", path, data, "--json").stdout)["diagnostics"]
    assert found["n_predictions"] >= 1
    assert set(found["margin"]) == {"mean", "10%", "25%", "50%", "75%", "90%"}
    printed = run("evaluate", path, data).stdout
    assert f"n predictions: {found['n_predictions']}\n" in printed
    assert f"margin: mean {found['margin']['mean']:.4g}, 10% " in printed
    assert "diagnostics" not in json.loads(run("evaluate", model, data, "--json").stdout)


def test_notations_and_languages_are_shown_where_there_are_some(run: Run, tmp_path: Path) -> None:
    finnish = [{"language": "fi", "text": "laivat", "kind": "name"}]
    sea = {"id": "sea", "name": "ships", "language": "en", "notation": "62.1", "translations": finnish}
    rows: list[dict[str, Any]] = [
        sea,
        {"id": "tug", "name": "tugs", "parents": ["sea"]},
        {"id": "old", "name": "hulks", "deprecated": True},
    ]
    write_lines(tmp_path / "labels.jsonl", rows)
    made = run("fit", tmp_path / "labels.jsonl", "-m", "tfidf", "-o", tmp_path / "model", "--quiet")
    assert made.exit_code == 0, made.output
    listed = run("labels", "list", tmp_path / "model", "--lang", "fi").stdout.splitlines()
    assert [line.split() for line in listed] == [
        ["id", "name", "documents", "notation"], ["sea", "laivat", "0", "62.1"], ["tug", "tugs", "0"],
    ]  # fmt: skip
    assert json.loads(run("labels", "list", tmp_path / "model", "--json").stdout)[0]["notation"] == "62.1"
    shown = run("labels", "describe", tmp_path / "model", "sea", "--lang", "fi").stdout
    assert shown == "sea: laivat\nnotation: 62.1\nnames: laivat (fi)\nnarrower: tugs (tug)\n"
    tug = json.loads(run("labels", "describe", tmp_path / "model", "tug", "--json", "--lang", "fi").stdout)
    assert tug == {"id": "tug", "name": "tugs", "broader": [{"id": "sea", "name": "laivat"}]}
