"""`everylabel learn`: new labelled documents change a tagger, and what cannot be learned changes nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, bytes_of, write_lines

import everylabel
from everylabel.tagger.tagger import Tagger

NEW: list[dict[str, Any]] = [
    {"title": "Steam on the estuary", "text": "Paddle steamers and their crews.", "labels": ["seafaring", "transport"]},
    {"text": "How a hive is kept through a wet winter", "labels": ["beekeeping"]},
]


def counts(model: Path) -> dict[str, int]:
    found = everylabel.load(model)
    return dict(zip(found.labels_.ids, found.counts_.tolist(), strict=True))


@pytest.mark.parametrize("name", ["new.jsonl", "new.json", "new"])
def test_a_file(run: Run, tagger: Path, tmp_path: Path, name: str) -> None:
    write_lines(tmp_path / name, NEW)
    before = counts(tagger)
    result = run("learn", tagger, tmp_path / name)
    assert result.exit_code == 0, result.output
    first, fresh, quality, due = result.stdout.splitlines()
    assert first == f"learned 2 documents with 3 labels; wrote {tagger}"
    assert fresh == "labels that had no document before: 0"
    assert quality.startswith("nDCG@5 of these documents before they were learned: ")
    assert due == "a full fit is not due yet"
    after = counts(tagger)
    changed = {label for label in after if after[label] != before[label]}
    assert changed == {"seafaring", "transport", "beekeeping"}
    assert json.loads(run("history", tagger, "--json").stdout)[-1]["documents"] == 2


def test_it_is_what_the_tagger_learns(run: Run, tagger: Path, fitted_tagger: Path, tmp_path: Path) -> None:
    write_lines(tmp_path / "new.jsonl", NEW)
    found = json.loads(run("learn", tagger, tmp_path / "new.jsonl", "--json", "--quiet").stdout)
    fresh = everylabel.load(fitted_tagger)
    assert isinstance(fresh, Tagger)
    texts = ["\n".join(filter(None, (document.get("title"), document["text"]))) for document in NEW]
    want = fresh.learn(zip(texts, [document["labels"] for document in NEW], strict=True))
    assert (found["documents"], found["pairs"], found["new_labels"]) == (2, 3, 0)
    assert (want.documents, want.pairs, want.new_labels) == (2, 3, 0)
    assert 0 <= found["ndcg5"] <= 1
    assert found["refit_due"] == want.refit_due == ""


def test_a_label_gets_its_first_document(run: Run, tagger: Path, tmp_path: Path) -> None:
    unused = next(label for label, count in counts(tagger).items() if count == 0)
    write_lines(tmp_path / "new.jsonl", [{"text": "a text", "labels": [unused]}])
    assert json.loads(run("learn", tagger, tmp_path / "new.jsonl", "--json").stdout)["new_labels"] == 1


def test_a_data_folder_s_split(run: Run, tagger: Path, sampled: Path) -> None:
    result = run("learn", tagger, sampled, "--split", "dev")
    assert result.exit_code == 0, result.output
    assert "learned 32 documents with " in result.stdout
    assert "a full fit is due: 32 documents were learned since the fit on 252" in result.stdout


def test_the_vocabulary_is_that_of_the_model_and_not_one_beside_the_file(
    run: Run, tagger: Path, tmp_path: Path
) -> None:
    write_lines(tmp_path / "labels.jsonl", [{"id": "other", "name": "Another vocabulary"}])
    write_lines(tmp_path / "new.jsonl", NEW)
    assert run("learn", tagger, tmp_path / "new.jsonl").exit_code == 0


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([*NEW, {"text": "x", "labels": ["q9"]}], "label 'q9' is not in the vocabulary; nothing was learned"),
        ([{"text": "no label"}], "none of these documents has a label"),
        ([{"text": "x", "labels": "sea"}], "expected a list of label ids"),
        ([], "none of these documents has a label"),
    ],
)
def test_what_cannot_be_learned_changes_nothing(
    run: Run, tagger: Path, tmp_path: Path, documents: list[dict[str, Any]], message: str
) -> None:
    write_lines(tmp_path / "new.jsonl", documents)
    before = bytes_of(tagger)
    result = run("learn", tagger, tmp_path / "new.jsonl")
    assert (result.exit_code, result.stdout) == (3, "")
    assert message in result.stderr
    assert bytes_of(tagger) == before


def test_bad_rows_can_be_skipped(run: Run, tagger: Path, tmp_path: Path) -> None:
    write_lines(tmp_path / "new.jsonl", [{"no": "text"}, *NEW])
    assert run("learn", tagger, tmp_path / "new.jsonl").exit_code == 3
    result = run("learn", tagger, tmp_path / "new.jsonl", "--on-bad-row", "skip", "--json")
    assert json.loads(result.stdout)["documents"] == 2
    assert "skipped 1 bad row" in result.stderr


@pytest.mark.parametrize("method", ["popularity", "xr-linear"])
def test_other_methods_cannot(run: Run, data: Path, tmp_path: Path, method: str) -> None:
    assert run("fit", data, "--method", method, "-o", tmp_path / "model").exit_code == 0
    before = bytes_of(tmp_path / "model")
    result = run("learn", tmp_path / "model", data)
    assert (result.exit_code, result.stdout) == (4, "")
    assert f"method '{method}' cannot learn from new documents; fit it again with all of them" in result.stderr
    assert bytes_of(tmp_path / "model") == before


def test_missing_files(run: Run, tagger: Path, data: Path, tmp_path: Path) -> None:
    assert run("learn", tagger, tmp_path / "none.jsonl").exit_code == 3
    assert run("learn", tagger, data, "--split", "dev").exit_code == 3
    assert run("learn", data, data).exit_code == 5
