"""Fitting as a function: from data sets or from files, into a folder or not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import write_data
from tests.listening import Recorder

import everylabel
from everylabel.data import load_dataset
from everylabel.errors import ConfigError, ModelError
from everylabel.run import Run
from everylabel.tagger.tagger import Tagger
from everylabel.workflow.fit import fit, kept_training, plan
from everylabel.workflow.settings import as_tagger, asked_for, configured, is_tagger
from everylabel.workflow.training import TrainingData, TrainingSource


def test_in_memory(sampled: Path) -> None:
    train, dev = load_dataset(sampled), load_dataset(sampled, "dev")
    done = fit(everylabel.method("tfidf"), TrainingData(train, held_out=dev))
    assert (done.n_docs, done.n_labels, done.n_seen) == (252, 126, 103)
    assert done.method.calibration_ is not None
    assert done.calibration is not None
    assert done.calibration.after < done.calibration.before
    assert not done.trained
    assert done.seconds > 0


def test_into_a_folder(sampled: Path, tmp_path: Path, run: Run, recorder: Recorder) -> None:
    source = TrainingSource(data=sampled)
    done = fit(everylabel.method("tfidf"), source, tmp_path / "model", run=run)
    loaded = everylabel.load(tmp_path / "model")
    texts = ["lighthouses by the sea"]
    np.testing.assert_array_equal(loaded.rank(texts).ids, done.method.rank(texts).ids)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert kept_training(tmp_path / "model") is None
    assert "reading dev.jsonl (kB)" in recorder.started  # its scores are calibrated on it
    assert recorder.all_finished


@pytest.mark.parametrize("name", ["tfidf", "tagger"])
def test_scores_as_they_come(sampled: Path, tmp_path: Path, name: str) -> None:
    method = Tagger(experts=("tfidf", "knn")) if name == "tagger" else everylabel.method(name)
    done = fit(method, TrainingSource(data=sampled), tmp_path / "model", calibrated=False)
    assert done.method.calibration_ is None
    assert done.calibration is None
    assert everylabel.load(tmp_path / "model").calibration_ is None


def test_what_is_in_the_way_is_said_before_the_data_are_read(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("mine")
    with pytest.raises(ModelError, match="is not a model"):
        fit(everylabel.method("popularity"), TrainingSource(data=tmp_path / "nowhere"), tmp_path)


def test_an_interrupted_training_is_kept(data: Path, tmp_path: Path) -> None:
    (tmp_path / ".model.training" / "expert").mkdir(parents=True)
    assert kept_training(tmp_path / "model") is None
    (tmp_path / ".model.training" / "expert" / "training.safetensors").write_bytes(b"")
    assert kept_training(tmp_path / "model") == tmp_path / ".model.training"
    fit(everylabel.method("popularity"), TrainingSource(data=data), tmp_path / "model")
    assert kept_training(tmp_path / "model") is None


def test_what_is_read_for_whom(sampled: Path) -> None:
    popularity, tagger = everylabel.method("popularity"), Tagger()
    found = TrainingSource(data=sampled).read(popularity)
    assert (len(found.train), found.dev, len(found.held_out or ())) == (252, None, 32)
    found = TrainingSource(data=sampled).read(tagger)
    assert (len(found.train), len(found.dev or ()), found.held_out) == (252, 32, None)
    found = TrainingSource(data=sampled, held_out_share=0.25).read(tagger)
    assert (len(found.train), len(found.dev or ())) == (189, 63)
    for nothing in (
        TrainingSource(data=sampled).read(popularity, calibrated=False),
        TrainingSource(data=sampled, no_pairs=True).read(tagger),
        TrainingSource(data=sampled, pair_share=0.0).read(popularity),
        TrainingSource(data=sampled, split="dev").read(tagger),
    ):
        assert (nothing.dev, nothing.held_out) == (None, None)


def test_without_documents_there_is_the_vocabulary(tmp_path: Path, run: Run, recorder: Recorder) -> None:
    data = write_data(tmp_path / "data")
    (data / "train.jsonl").unlink()
    found = TrainingSource(data=data).read(everylabel.method("tfidf"), run=run)
    assert (len(found.train), len(found.train.labels)) == (0, 4)
    assert recorder.said == [f"{data} has no training documents: fitting on the vocabulary alone"]


def test_a_plan_is_that_of_the_fit(sampled: Path) -> None:
    tagger = Tagger(experts=("tfidf", "knn"))
    found = plan(tagger, TrainingSource(data=sampled))
    assert found.names == ["tfidf", "knn"]
    train, dev = load_dataset(sampled), load_dataset(sampled, "dev")
    assert plan(tagger, TrainingData(train, dev)) == found


def test_settings_win_over_the_file_and_the_name_over_both(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('method = "knn"\nrandom_state = 3\n')
    assert asked_for(None, file) == ("knn", {"random_state": 3})
    assert asked_for("svm", file, ["random_state=4"]) == ("svm", {"random_state": 4})
    assert asked_for() == ("tagger", {})
    method = configured("tagger", settings=["budget=1h"], budget="2h")
    assert is_tagger(method)
    assert method.budget == "2h"
    with pytest.raises(ConfigError, match="budget must be a time"):
        configured("tagger", budget="soon")
    with pytest.raises(ConfigError, match=r"method 'knn' does no such thing \(everylabel fit DATA -o MODEL\)"):
        as_tagger(configured("knn"), "does no such thing")


def test_the_result_of_a_fit_can_be_told(data: Path) -> None:
    done = fit(everylabel.method("popularity"), TrainingSource(data=data, held_out_share=0.5))
    assert done.calibration is not None
    assert done.calibration.remark.startswith("not calibrated: 2 labelled documents held out, at least 20 are needed")
    assert json.dumps(done.calibration.n_docs) == "2"


@pytest.mark.parametrize("name", ["xml0", "conse"])
def test_a_dev_split_is_for_those_who_choose_settings_on_it_too(sampled: Path, name: str) -> None:
    source, method = TrainingSource(data=sampled), everylabel.method(name)
    both, dev_alone = source.read(method), source.read(method, calibrated=False)
    assert both.dev is both.held_out is not None
    assert dev_alone.held_out is None
    assert dev_alone.dev is not None
    assert source.read(everylabel.method("svm")).dev is None
    assert TrainingSource(data=sampled, no_pairs=True).read(method).dev is None
