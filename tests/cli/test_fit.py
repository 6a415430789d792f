"""`everylabel fit`: what is fitted, with which settings, and what is refused before any work is done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from everylabel.methods.popularity import Popularity


def manifest(model: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((model / "manifest.json").read_text())
    return found


def test_writes_a_model_and_says_so(run: Run, data: Path, tmp_path: Path) -> None:
    result = run("fit", data, "--method", "popularity", "-o", tmp_path / "model")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "fitted popularity on 4 documents with 3 of 4 labels" in result.stderr
    assert manifest(tmp_path / "model")["method"] == "popularity"


def test_quiet_is_silent(run: Run, data: Path, tmp_path: Path) -> None:
    result = run("fit", data, "--method", "popularity", "-o", tmp_path / "model", "--quiet")
    assert (result.exit_code, result.output) == (0, "")


@pytest.mark.parametrize(("given", "expected"), [([], 5), (["--set", "random_state=6"], 6)])
def test_set_wins_over_the_file_which_wins_over_defaults(
    run: Run, data: Path, tmp_path: Path, given: list[str], expected: int
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('method = "popularity"\nrandom_state = 5\n')
    assert run("fit", data, "--config", file, *given, "-o", tmp_path / "model").exit_code == 0
    found = manifest(tmp_path / "model")
    assert found["method"] == "popularity"
    assert found["config"] == {"random_state": expected}


def test_the_option_wins_over_the_file_s_method(run: Run, data: Path, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('method = "no-such-method"\n')
    result = run("fit", data, "--config", file, "--method", "popularity", "-o", tmp_path / "model")
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--method", "populraity"], 4, "unknown method 'populraity'; did you mean 'popularity'?"),
        (["--method", "popularity", "--set", "random_sate=1"], 4, "'random_sate'; did you mean random_state?"),
        (["--method", "popularity", "--set", "random_state=x"], 4, "random_state must be a whole number; got 'x'"),
        (["--method", "popularity", "--set", "random_state"], 4, "expected key=value"),
        (["--config", "missing.toml"], 4, "no such configuration file"),
        (["--method", "popularity", "--no-pairs"], 3, "learns from labelled documents"),
        (["--on-bad-row", "maybe"], 2, "--on-bad-row"),
        (["--nonsense"], 2, "No such option"),
    ],
)
def test_mistakes(run: Run, data: Path, tmp_path: Path, arguments: list[str], code: int, message: str) -> None:
    result = run("fit", data, *arguments, "-o", tmp_path / "model")
    assert result.exit_code == code
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "model").exists()


def test_missing_data_is_a_data_error(run: Run, tmp_path: Path) -> None:
    result = run("fit", tmp_path / "none", "--method", "popularity", "-o", tmp_path / "model")
    assert result.exit_code == 3
    assert len(result.stderr.splitlines()) == 1


def test_without_output_is_wrong_usage(run: Run, data: Path) -> None:
    assert run("fit", data).exit_code == 2


def test_a_folder_in_the_way_is_refused_before_fitting(
    run: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file.txt").write_text("mine")
    monkeypatch.setattr(Popularity, "_fit", lambda *_: pytest.fail("was fitted"))
    result = run("fit", data, "--method", "popularity", "-o", tmp_path)
    assert result.exit_code == 5
    assert "is not a model" in result.stderr


def test_an_interrupt_leaves_nothing(run: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Popularity, "_fit", interrupted)
    result = run("fit", data, "--method", "popularity", "-o", tmp_path / "model")
    assert result.exit_code == 130
    assert list(tmp_path.iterdir()) == []


def test_bad_rows_stop_or_are_skipped(run: Run, data: Path, tmp_path: Path) -> None:
    broken = tmp_path / "data"
    broken.mkdir()
    for file in data.iterdir():
        (broken / file.name).write_bytes(file.read_bytes())
    with (broken / "train.jsonl").open("a") as out:
        out.write("no json\n")
    stopped = run("fit", broken, "--method", "popularity", "-o", tmp_path / "model")
    assert stopped.exit_code == 3
    assert "train.jsonl:5" in stopped.stderr
    skipped = run("fit", broken, "--method", "popularity", "-o", tmp_path / "model", "--on-bad-row", "skip")
    assert skipped.exit_code == 0
    assert "skipped 1 bad row" in skipped.stderr
