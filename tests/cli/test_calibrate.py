"""`everylabel fit` calibrates on held-out documents, and says honestly what that did."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.conftest import Run, write_lines

import everylabel
from everylabel.data import load_dataset, sample
from everylabel.data.splits import hold_out_documents

DONE = re.compile(r"calibrated on (\d+) held-out documents: .* ([\d.]+) % before and ([\d.]+) % after")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calibrate") / "data"
    sample(folder)
    return folder


def fitted(run: Run, data: Path, model: Path, *arguments: object, method: str = "popularity") -> tuple[Any, Any]:
    result = run("fit", data, "--method", method, *arguments, "-o", model)
    assert result.exit_code == 0, result.output
    return everylabel.load(model), result.stderr


def test_on_the_dev_split_by_itself(run: Run, data: Path, tmp_path: Path) -> None:
    model, said = fitted(run, data, tmp_path / "model", method="tfidf")
    train, dev, test = (load_dataset(data, split) for split in ("train", "dev", "test"))
    fresh = everylabel.method("tfidf").fit(train)
    raw, want = fresh.rank(test.documents), fresh.calibrate(dev).rank(test.documents)
    found = model.rank(test.documents)
    np.testing.assert_array_equal(found.ids, raw.ids)
    np.testing.assert_array_equal(found.scores, want.scores)
    (done,) = DONE.findall(said)
    assert done[0] == "32"
    assert float(done[2]) < float(done[1])


def test_not_when_told_not_to(run: Run, data: Path, tmp_path: Path) -> None:
    model, said = fitted(run, data, tmp_path / "model", "--no-calibrate")
    assert model.calibration_ is None
    assert "calibrated" not in said


def test_quiet_calibrates_without_a_word(run: Run, data: Path, tmp_path: Path) -> None:
    model, said = fitted(run, data, tmp_path / "model", "--quiet")
    assert model.calibration_ is not None
    assert said == ""


def test_on_a_share_of_the_documents(run: Run, data: Path, tmp_path: Path) -> None:
    """The share is not trained on."""
    model, said = fitted(run, data, tmp_path / "model", "--calibrate-share", "0.25")
    train, held = hold_out_documents(load_dataset(data, "train"), share=0.25)
    assert DONE.findall(said)[0][0] == str(len(held)) == "63"
    assert model.n_train_ == len(train) == 189
    want = everylabel.method("popularity").fit(train).calibrate(held).rank(["x"])
    np.testing.assert_array_equal(model.rank(["x"]).scores, want.scores)


@pytest.mark.parametrize("case", ["no pairs to learn", "dev without labels", "dev is what is fitted", "no dev"])
def test_not_without_labelled_held_out_documents(run: Run, tmp_path: Path, case: str) -> None:
    folder = tmp_path / "data"
    sample(folder)
    arguments = ["--no-pairs"] if case == "no pairs to learn" else []
    if case == "dev without labels":
        write_lines(folder / "dev.jsonl", [{"id": str(i), "text": "a boat"} for i in range(40)])
    if case == "dev is what is fitted":
        arguments = ["--split", "dev"]
    if case == "no dev":
        (folder / "dev.jsonl").unlink()
    model, said = fitted(run, folder, tmp_path / "model", *arguments, method="tfidf")
    assert model.calibration_ is None
    assert "calibrated" not in said


def test_too_few_documents_are_said(run: Run, data: Path, tmp_path: Path) -> None:
    model, said = fitted(run, data, tmp_path / "model", "--calibrate-share", "0.05")
    assert model.calibration_ is None
    assert "not calibrated: 13 labelled documents held out, at least 20 are needed" in said


def test_contradictions_and_shares_that_are_none(run: Run, data: Path, tmp_path: Path) -> None:
    both = run("fit", data, "-o", tmp_path / "model", "--no-calibrate", "--calibrate-share", "0.1")
    assert both.exit_code == 2
    assert "contradicts --no-calibrate" in both.stderr
    for share in ("1.5", "1", "0", "-0.1", "nan"):
        result = run("fit", data, "-o", tmp_path / "model", "--calibrate-share", share)
        assert result.exit_code == 4
        assert (
            f"must be above 0 and below 1, as some are fitted on and some calibrated on; got {share}:" in result.stderr
        )
    result = run("fit", data, "-o", tmp_path / "model", "--calibrate-share", "0.999")
    assert result.exit_code == 3
    assert "holds out 252 of 252 documents, and no labelled one is left to fit on" in result.stderr
    assert not (tmp_path / "model").exists()
