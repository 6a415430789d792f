"""XML0 with a dev split: its documents of labels that the base has not learned choose threshold and weight."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.listening import Recorder

import everylabel
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.data.splits import hold_out_labels
from everylabel.encoders.base import EncoderConfig
from everylabel.methods.xml0.fusion import Xml0
from everylabel.methods.xml0.rehearsal import NO_REHEARSAL, THRESHOLDS, Trial
from everylabel.run import Run
from everylabel.workflow.fit import fit
from everylabel.workflow.training import TrainingData

NAMES = ["fish", "sea", "ship", "tax", "law", "wine", "milk", "customs"]
LABELS = LabelSet.of(Label(f"q{(5 * i) % 8}", name) for i, name in enumerate(NAMES))
LISTS = [(i,) for i in range(8) for _ in range(3)] + [own for n in (2, 3) for own in combinations(range(8), n)]
TEXTS = [" ".join(f"{NAMES[label]} of {NAMES[label]}" for label in own) for own in LISTS]
WHOLE = Dataset(Documents.of(TEXTS), LABELS, pairs_from_lists(LISTS, len(LABELS)), name="toy")
TRAIN, HIDDEN = hold_out_labels(WHOLE, count=2, seed=1)  # as MAG: no document of training has two of the labels
DEV = WHOLE  # has them
OF_HIDDEN = np.flatnonzero(np.diff(WHOLE.required_pairs[:, HIDDEN].indptr))


def settings(static: EncoderConfig, **more: Any) -> dict[str, Any]:
    return {"encoder": replace(static, lexical=768), "label_encoder": "", "threshold": None, **more}


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> list[Trial]:
    """What is chosen by."""
    found, usual = [], Trial.choose

    def watched(self: Trial, *given: Any) -> Any:
        found.append(self)
        return usual(self, *given)

    monkeypatch.setattr(Trial, "choose", watched)
    return found


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


def test_dev_chooses_where_training_cannot(
    static: EncoderConfig, tmp_path: Path, trials: list[Trial], recorder: Recorder
) -> None:
    """The paper's setting: a base that was fitted before, and labels whose pairs were dropped from training."""
    base, run = everylabel.method("svm").fit(TRAIN), Run(reporter=recorder)
    method = Xml0(**settings(static)).fit_on(base, TRAIN, DEV, run=run)
    (trial,) = trials
    assert len(trial.views) == len(OF_HIDDEN) >= 20
    np.testing.assert_array_equal(trial.truth.toarray(), WHOLE.required_pairs[OF_HIDDEN][:, HIDDEN].toarray())
    assert method.chosen_.threshold in THRESHOLDS
    assert method.chosen_.worth is not NO_REHEARSAL
    assert method.counts_[HIDDEN].tolist() == [0, 0]
    assert not [said for said in recorder.said if "dev split" in said]
    base.save(tmp_path / "base")
    by_folder = fit(Xml0(**settings(static, base_model=str(tmp_path / "base"))), TrainingData(TRAIN, DEV)).method
    assert (by_folder.chosen_.threshold, by_folder.chosen_.weight) == (method.chosen_.threshold, method.chosen_.weight)


def test_training_documents_choose_where_dev_has_too_few(static: EncoderConfig, trials: list[Trial]) -> None:
    base = everylabel.method("svm").fit(TRAIN)
    Xml0(**settings(static)).fit_on(base, WHOLE, DEV.subset(OF_HIDDEN[:19]))
    Xml0(**settings(static)).fit_on(base, WHOLE, DEV.subset(OF_HIDDEN[:20]))
    assert [len(trial.views) for trial in trials] == [len(OF_HIDDEN), 20]


@pytest.mark.parametrize("dev", [None, TRAIN])
def test_the_user_hears_that_nothing_was_chosen(static: EncoderConfig, dev: Dataset | None, recorder: Recorder) -> None:
    base, run = everylabel.method("svm").fit(TRAIN), Run(reporter=recorder)
    method = Xml0(**settings(static)).fit_on(base, TRAIN, dev, run=run)
    assert (method.chosen_.threshold, method.chosen_.weight, method.chosen_.worth) == (0.1, 0.5, NO_REHEARSAL)
    (said,) = (line for line in recorder.said if "dev split" in line)
    assert said.startswith(
        "xml0: no document tells which threshold and weight of fusion are best: they are 0.1 and 0.5"
    )


def test_no_unseen_labels_nothing_to_choose(static: EncoderConfig, recorder: Recorder) -> None:
    base = everylabel.method("svm").fit(WHOLE)
    Xml0(**settings(static)).fit_on(base, WHOLE, DEV, run=Run(reporter=recorder))
    assert not [line for line in recorder.said if "dev split" in line]


def test_a_base_that_is_fitted_here_is_rehearsed_only_to_be_calibrated(
    static: EncoderConfig, trials: list[Trial]
) -> None:
    method = Xml0(**settings(static, base="svm")).fit(TRAIN, DEV)
    assert [len(trial.views) for trial in trials] == [len(OF_HIDDEN)]
    assert method.base_.calibration_ is not None
    trials.clear()
    Xml0(**settings(static, base="svm")).fit(TRAIN)
    assert [len(trial.views) for trial in trials] != [len(OF_HIDDEN)]


def test_labels_of_dev_alone_are_left_aside(static: EncoderConfig, trials: list[Trial]) -> None:
    """They are in no vocabulary that can be ranked; its other labels are matched by their ids."""
    base, more = everylabel.method("svm").fit(TRAIN), LabelSet.of([Label("new", "trade"), *reversed(list(LABELS))])
    lists = [(0, *(8 - label for label in own)) for own in LISTS]
    Xml0(**settings(static)).fit_on(base, TRAIN, Dataset(DEV.documents, more, pairs_from_lists(lists, len(more))))
    assert trials[0].truth.shape == (len(OF_HIDDEN), 2)
