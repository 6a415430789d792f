"""The report as a value: from a model and data to numbers and a page, without a command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.listening import Recorder
from tests.report.test_page import checked

import everylabel
from everylabel.errors import DataError
from everylabel.report.page import render
from everylabel.run import Run
from everylabel.workflow.demo import beside_best_expert, sample_splits
from everylabel.workflow.evaluate import evaluate
from everylabel.workflow.report import labelled_documents, learning_curve, report, report_json, write_report


def test_a_report_without_a_command(fitted_tagger: Path, sampled: Path, run: Run, recorder: Recorder) -> None:
    model, documents = everylabel.load(fitted_tagger), labelled_documents(sampled, "test", at_most=40)
    made = report(model, documents, run=run)
    assert len(documents) == 40
    assert list(made.systems) == ["tagger", *sorted(made.others, key=list(made.others).index)]
    assert set(made.others) == {"tfidf", "knn", "svm", "popularity"}
    assert made.own.scores == evaluate(model, documents).scores
    assert "model" not in made.about  # nobody said where it is
    assert "command" not in made.footer
    assert made.own.decisions is None
    floor = made.others["popularity"].decisions
    assert floor is not None
    assert floor.wins_a > floor.wins_b
    checked(render(made))
    numbers = json.loads(json.dumps(report_json(made)))
    assert numbers["differences"]["popularity"]["sign_test@5"]["wins"] == floor.wins_a
    assert "testing differences" in recorder.started
    assert recorder.all_finished


def test_the_page_is_whole_or_not_there(fitted_tagger: Path, sampled: Path, tmp_path: Path) -> None:
    made = report(everylabel.load(fitted_tagger), labelled_documents(sampled, "test", at_most=20))
    write_report(made, tmp_path / "new" / "page.html")
    assert (tmp_path / "new" / "page.html").read_text(encoding="utf-8") == render(made)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["page.html"]


def test_data_without_labels_and_without_training_documents(sampled: Path, tmp_path: Path) -> None:
    (tmp_path / "test.jsonl").write_text('{"text": "a"}\n')
    with pytest.raises(DataError, match="none of the 1 documents of 'test' has a label"):
        labelled_documents(tmp_path, "test")
    nothing = learning_curve(tmp_path, labelled_documents(sampled, "test"))
    assert nothing.points == []
    assert "has no labelled training documents" in nothing.remark


def test_the_sample_and_the_best_expert(fitted_tagger: Path) -> None:
    splits = sample_splits()
    assert [len(split) for split in splits] == [252, 32, 92]
    model = everylabel.load(fitted_tagger)
    (name, own), (best, other) = beside_best_expert(model, splits.test).items()  # type: ignore[arg-type]
    assert name == "tagger"
    assert best in ("tfidf", "knn", "svm")
    assert own.scores["nDCG@5"] > 0
    assert other.scores["nDCG@5"] > 0
