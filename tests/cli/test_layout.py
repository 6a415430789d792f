"""Data as a newcomer has them: a spreadsheet's export, a vocabulary alone, a folder of files; on every command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import LABELS, TEST, TRAIN, Run, write_lines
from tests.data.conftest import SKOS
from tests.data.documents import pdf, write_docx

SAID = ["--text-column", "Abstract", "--label-column", "Subjects", "--label-separator", "|"]


@pytest.fixture
def spreadsheet(tmp_path: Path) -> Path:
    """A TSV, by its name, with a byte-order mark and semicolons, whose words were once taken for labels."""
    rows = [f"{i};{text};{'|'.join(labels)}" for i, (text, labels) in enumerate([*TRAIN, *TEST])]
    file = tmp_path / "export.tsv"
    file.write_text("\r\n".join(["Nr;Abstract;Subjects", *rows, ";;", ""]), encoding="utf-8-sig", newline="")
    return file


def ok(result: Any) -> Any:
    assert result.exit_code == 0, result.output
    return result


def test_a_spreadsheet_goes_all_the_way(run: Run, spreadsheet: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    ok(run("fit", spreadsheet, *SAID, "-m", "popularity", "-o", model))
    names = {label["id"] for label in json.loads(ok(run("labels", "list", model, "--json")).stdout)}
    assert names == {"sea", "rail", "sky", "new"}
    tagged = ok(run("tag", model, spreadsheet, *SAID, "--k", 1)).stdout.splitlines()
    assert len(tagged) == len(TRAIN) + len(TEST)
    assert len(ok(run("tag", model, *SAID, input=spreadsheet.read_bytes())).stdout.splitlines()) == len(tagged)
    assert json.loads(ok(run("evaluate", model, spreadsheet, *SAID, "--json")).stdout)["n_unknown_labels"] == 0
    assert json.loads(ok(run("inspect", spreadsheet, *SAID, "--json")).stdout)["n_labels"] == len(LABELS)
    compared = ok(run("compare", spreadsheet, *SAID, "-m", "popularity", "--json"))
    assert "have a text that is in train, too" in compared.stderr  # one file is both
    ok(run("convert", spreadsheet, tmp_path / "native", *SAID))
    assert (tmp_path / "native" / "train.jsonl").exists()


def test_plan_learn_report_and_labels_add(run: Run, spreadsheet: Path, tagger: Path, tmp_path: Path) -> None:
    assert "7 labelled documents" in ok(run("plan", spreadsheet, *SAID)).stdout
    ok(run("labels", "add", tagger, spreadsheet, *SAID, "--limit", 3))
    assert {"sea", "rail"} <= {one["id"] for one in json.loads(run("labels", "list", tagger, "--json").stdout)}
    assert "learned 2 documents" in ok(run("learn", tagger, spreadsheet, *SAID, "--limit", 2)).stdout
    page = tmp_path / "page.html"
    ok(run("report", tagger, spreadsheet, *SAID, "--limit", 2, "--no-curve", "-o", page))
    assert "--text-column Abstract" in page.read_text()


@pytest.mark.parametrize(
    "command",
    [["inspect"], ["fit", "-o", "{out}", "-m", "svm"], ["plan"], ["convert", "{out}"], ["compare", "-m", "popularity"]],
)
def test_a_mistyped_label_column_is_an_error_everywhere(
    run: Run, spreadsheet: Path, tmp_path: Path, command: list[str]
) -> None:
    name, *rest = (part.format(out=tmp_path / "out") for part in command)
    result = run(name, spreadsheet, *rest, "--text-column", "Abstract", "--label-column", "Subject")
    assert result.exit_code == 3
    assert "got the columns Nr, Abstract, Subjects; did you mean 'Subjects'?" in result.stderr
    assert not (tmp_path / "out").exists()


def test_without_any_label_there_is_nothing_to_fit(run: Run, spreadsheet: Path, tmp_path: Path) -> None:
    result = run("fit", spreadsheet, "--text-column", "Abstract", "-o", tmp_path / "out")
    assert result.exit_code == 3
    assert "it has the columns Nr, Abstract, Subjects, and none is named by --label-column" in result.stderr
    assert "expected labels, and there are none" in result.stderr


def test_a_vocabulary_alone_is_enough(run: Run, tmp_path: Path) -> None:
    (tmp_path / "thesaurus.ttl").write_text(SKOS)
    done = ok(run("fit", tmp_path / "thesaurus.ttl", "--language", "fi", "-m", "tfidf", "-o", tmp_path / "model"))
    assert "fitting on the vocabulary alone" in done.stderr
    found = json.loads(ok(run("tag", tmp_path / "model", "--k", 1, input="punaiset omenat\n")).stdout)
    assert found["labels"][0]["name"] == "omenat"
    assert "there are no documents" in ok(run("inspect", tmp_path / "thesaurus.ttl")).stdout
    refused = run("tag", tmp_path / "model", tmp_path / "thesaurus.ttl")
    assert refused.exit_code == 3
    assert "expected documents, got a vocabulary alone" in refused.stderr


def test_annif_s_folder_of_texts_is_a_training_split(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    for i, (text, _) in enumerate(TRAIN):
        (folder / f"{i}.txt").write_text(text)
        (folder / f"{i}.tsv").write_text(f"<http://x/{i}>\tname {i}\n")
    done = ok(run("fit", folder, "-m", "popularity", "-o", tmp_path / "model"))
    assert f"on {len(TRAIN)} documents with {len(TRAIN)} of {len(TRAIN)} labels" in done.stderr


def test_files_are_tagged(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Boats\n\non the sea\nand more\n")
    for more in ([], ["--whole"]):
        assert json.loads(ok(run("tag", model, tmp_path / "notes.md", *more)).stdout)["id"] == "notes.md"
    (tmp_path / "a.pdf").write_bytes(pdf(["boats"]))
    write_docx(tmp_path / "b.docx", "Boats", ["of the sea"], [])
    lines = ok(run("tag", model, tmp_path)).stdout.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["a.pdf", "b.docx", "notes.md"]
    (tmp_path / "c.pdf").write_bytes(b"%PDF-nonsense")
    stopped = run("tag", model, tmp_path)
    assert stopped.exit_code == 3
    assert stopped.stderr.splitlines()[-1].startswith("everylabel: c.pdf: it cannot be read as PDF")
    assert len(ok(run("tag", model, tmp_path, "--on-bad-row", "skip")).stdout.splitlines()) == 3


def test_a_limit_is_said(run: Run, data: Path, model: Path, tmp_path: Path) -> None:
    done = ok(run("fit", data, "--limit", 2, "-m", "popularity", "-o", tmp_path / "model"))
    assert "only the first 2 documents are read" in done.stderr
    assert "fitted popularity on 2 documents" in done.stderr
    assert len(ok(run("tag", model, data, "--limit", 1)).stdout.splitlines()) == 1
    assert run("fit", data, "--limit", 0, "-o", tmp_path / "x").exit_code == 2


def test_fit_warns_of_shared_texts_empty_labels_and_small_splits(run: Run, data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "doubtful"
    folder.mkdir()
    rows = [{"id": f"t{i}", "text": text, "labels": labels} for i, (text, labels) in enumerate(TRAIN)]
    write_lines(folder / "train.jsonl", [*rows, {"id": "blank", "text": "x", "labels": [""]}])
    write_lines(folder / "dev.jsonl", [{"id": "d", "text": TRAIN[0][0].upper(), "labels": ["sea"]}])
    for command in (["fit", folder, "-m", "popularity", "-o", tmp_path / "model"], ["plan", folder]):
        told = ok(run(*command)).stderr
        assert "warning: 1 of 1 documents of dev have a text that is in train, too ('d' is 't0')" in told
        assert "warning: a label has an empty id, and 1 documents of train have it ('blank')" in told
        assert "dev has 1 labelled document: at least 20 are needed to calibrate on" in told
    silent = ok(run("fit", data, "-m", "popularity", "-o", tmp_path / "model"))
    assert "warning" not in silent.stderr
