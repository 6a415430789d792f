"""`everylabel plan`: what a tagger would do, without doing it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from everylabel.data import load_dataset
from everylabel.tagger.tagger import Tagger


@pytest.fixture(autouse=True)
def nothing_is_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tagger, "_fit_and_blend", lambda *_: pytest.fail("was fitted"))


def test_the_lines_are_those_of_the_tagger(run: Run, sampled: Path) -> None:
    result = run("plan", sampled, "--quiet")
    assert result.exit_code == 0, result.output
    train, dev = load_dataset(sampled, "train"), load_dataset(sampled, "dev")
    assert result.stdout.splitlines() == Tagger().plan(train, dev).lines()
    assert result.stderr == ""


def test_the_json_says_the_same(run: Run, sampled: Path) -> None:
    found = json.loads(run("plan", sampled, "--json", "--budget", "30m").stdout)
    assert (found["budget"], found["rehearsal"]) == (1800, "folds")
    assert [expert["name"] for expert in found["experts"]][:3] == ["tfidf", "knn", "svm"]


def test_a_small_budget_leaves_experts_out(run: Run, sampled: Path) -> None:
    found = json.loads(run("plan", sampled, "--json", "--budget", "0.1s").stdout)
    assert [expert["name"] for expert in found["experts"]] == ["tfidf"]
    assert ["knn", "takes about"] in [[name, why[:11]] for name, why in found["left_out"]]


def test_little_memory_leaves_experts_out(run: Run, sampled: Path) -> None:
    lines = run("plan", sampled, "--memory", "1G").stdout.splitlines()
    assert [line for line in lines if line.startswith("  hybrid") and "left out: needs about" in line]
    assert [line for line in lines if line.endswith("1 GB are there")]
    assert [line for line in lines if line.startswith("  memory: about ") and line.endswith("beside the data")]


def test_a_fast_tagger(run: Run, sampled: Path) -> None:
    found = json.loads(run("plan", sampled, "--json", "--accuracy", "fast").stdout)
    assert [expert["name"] for expert in found["experts"]] == ["tfidf", "knn", "svm"]


def test_a_large_dev_split_is_blended_on(run: Run, sampled: Path, tmp_path: Path) -> None:
    for file in sampled.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "dev.jsonl").write_bytes(b"".join(2 * [(sampled / "train.jsonl").read_bytes()]))
    assert "blended on the dev documents" in run("plan", tmp_path).stdout
    assert "blended on the dev documents" not in run("plan", tmp_path, "--split", "dev").stdout


def test_settings(run: Run, sampled: Path) -> None:
    result = run("plan", sampled, "--set", 'experts=["bm25", "knn"]')
    assert [line.split()[0] for line in result.stdout.splitlines()[1:3]] == ["bm25", "knn"]


def test_without_pairs(run: Run, sampled: Path, tmp_path: Path) -> None:
    assert "plan: no labelled documents, 252 without labels" in run("plan", sampled, "--no-pairs").stdout
    (tmp_path / "labels.jsonl").write_bytes((sampled / "labels.jsonl").read_bytes())
    result = run("plan", tmp_path)
    assert "fitting on the vocabulary alone" in result.stderr
    assert "plan: no labelled documents, 0 without labels, 126 labels" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--budget", "soon"], 4, "budget must be a time such as 90s, 30m, 2h or 1h30m; got 'soon'"),
        (["--memory", "much"], 4, "memory must be a size such as 8G, 1.5G or 512M; got 'much'"),
        (
            ["--memory", "8G", "--set", "method=knn"],
            2,
            "only the tagger has a limit of memory, and the method is 'knn'",
        ),
        (["--set", "method=knn"], 2, "only a tagger has a plan, and the method is 'knn'"),
        (["--accuracy", "quick"], 4, "accuracy must be one of default, fast; got 'quick'"),
        (["--set", "bugdet=5m"], 4, "did you mean budget?"),
        (["--split", "none"], 3, "there is no split 'none'"),
        (["--set", 'experts=["knnn"]'], 4, "did you mean 'knn'?"),
        (["--set", "random_state=-1"], 4, "random_state must be a whole number from 0 to"),
    ],
)
def test_mistakes(run: Run, sampled: Path, arguments: list[str], code: int, message: str) -> None:
    result = run("plan", sampled, *arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in " ".join(result.stderr.replace("│", " ").split())


def test_what_a_fit_refuses_a_plan_refuses(run: Run, tmp_path: Path) -> None:
    """A plan for what cannot be fitted would be a promise."""
    for split in ("labels", "train"):
        (tmp_path / f"{split}.jsonl").write_text("")
    refused = [run("plan", tmp_path), run("fit", tmp_path, "-o", tmp_path / "model")]
    assert [(one.exit_code, one.stdout) for one in refused] == [(3, "")] * 2
    assert len({one.stderr for one in refused}) == 1
    assert "no document has a label" in refused[0].stderr
