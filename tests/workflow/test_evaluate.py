"""A model held against labelled data, and two models against each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.listening import Recorder

import everylabel
from everylabel.data import load_dataset
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.metrics import ranking as metrics
from everylabel.metrics.ranking import inverse_propensity, label_counts, psp, weigh
from everylabel.metrics.significance import sign_test
from everylabel.run import Run
from everylabel.workflow.compare import changes, compare, differences
from everylabel.workflow.evaluate import METRIC_DEPTH, Protocol, evaluate, evaluate_part, match_labels
from everylabel.workflow.report import floor_of


@pytest.fixture(scope="module")
def splits(sampled: Path) -> tuple[Dataset, Dataset]:
    return load_dataset(sampled), load_dataset(sampled, "test")


def test_the_scores_are_those_of_the_ranking(splits: tuple[Dataset, Dataset]) -> None:
    train, test = splits
    method = everylabel.method("tfidf").fit(train)
    found = evaluate(method, test)
    want = metrics.evaluate(method.rank(test.documents, METRIC_DEPTH), test.required_pairs, train.counts, len(train))
    assert found.scores == want
    assert found.ratios["nDCG@5"].value == want["nDCG@5"]
    assert not found.calibrated
    assert found.docs_per_second > 0
    assert found.calibration_json()["all"]["pairs"] > 0


def test_labels_are_matched_by_their_ids_and_unknown_ones_are_missed(splits: tuple[Dataset, Dataset]) -> None:
    train, _ = splits
    method = everylabel.method("popularity").fit(train)
    known = train.labels.ids[int(train.counts.argmax())]
    labels = LabelSet.of([Label("nobody knows it", "x"), Label(known, "y")])
    found = evaluate(method, Dataset(Documents.of(["a", "b"]), labels, pairs_from_lists([[0], [1]], 2)))
    assert found.scores["P@1"] == 0.5
    assert (found.truth.n_unknown, found.truth.n_unknown_pairs) == (1, 1)
    assert found.truth.remark.startswith("1 labels of the data are not in the model's vocabulary; their 1 pairs")


def test_a_part_with_another_order_of_labels_is_measured_as_the_model_is(splits: tuple[Dataset, Dataset]) -> None:
    train, test = splits
    model = everylabel.method("tfidf").fit(train)
    order = np.arange(len(train.labels))[::-1]
    turned = Dataset(train.documents, train.labels.subset(order), train.required_pairs[:, order])
    part = everylabel.method("tfidf").fit(turned)
    truth = match_labels(model.labels_, model.counts_, test)
    found = evaluate_part(part, model, test, truth)
    assert found.scores["R@100"] == evaluate(model, test).scores["R@100"]
    assert found.scores["nDCG@5"] == pytest.approx(evaluate(model, test).scores["nDCG@5"], abs=0.02)  # equal scores


def test_ranking_is_reported(splits: tuple[Dataset, Dataset], run: Run, recorder: Recorder) -> None:
    train, test = splits
    evaluate(everylabel.method("popularity").fit(train), test, run=run)
    assert recorder.started == ["ranking documents"]
    assert recorder.all_finished
    assert ("advance", 0, len(test)) in recorder.told


def test_methods_are_compared_with_the_first(splits: tuple[Dataset, Dataset], run: Run) -> None:
    train, test = splits
    first = compare(everylabel.method("popularity"), train, test, run=run)
    second = compare(everylabel.method("tfidf"), train, test, first, run=run)
    assert first.differences is None
    assert second.differences is not None
    assert (second.name, second.first) == ("tfidf", "popularity")
    bootstrap = second.differences.metrics["nDCG@5"]
    assert bootstrap.difference == pytest.approx(second.evaluation.scores["nDCG@5"] - first.evaluation.scores["nDCG@5"])
    sign = second.differences.decisions
    assert sign == sign_test(second.evaluation.hits, first.evaluation.hits)
    assert sign.wins_a > sign.wins_b
    plain = second.to_json()["difference"]
    assert plain["sign_test@5"] == {"wins": sign.wins_a, "losses": sign.wins_b, "p_value": sign.p_value}
    assert plain["first"] == "popularity"
    assert set(plain) == {"first", "P@1", "nDCG@5", "PSP@5", "tail-F1@5", "sign_test@5"}
    tail = second.evaluation.scores["tail-F1@5"] - first.evaluation.scores["tail-F1@5"]
    assert plain["tail-F1@5"]["difference"] == pytest.approx(tail)


def test_other_decisions_and_propensities(splits: tuple[Dataset, Dataset]) -> None:
    train, test = splits
    protocol = Protocol("amazon-670k", 19)
    first = compare(everylabel.method("popularity"), train, test, protocol=protocol)
    second = compare(everylabel.method("tfidf"), train, test, first, protocol=protocol)
    assert second.differences is not None
    hits = second.evaluation.hits
    assert second.differences.decisions == sign_test(hits, first.evaluation.hits, 19)
    assert second.evaluation.scores["macro-F1@19"] == pytest.approx(label_counts(hits, 19).f1.mean())
    weights = inverse_propensity(second.evaluation.truth.train_counts, len(train), (0.6, 2.6))
    assert second.evaluation.scores["PSP@5"] == pytest.approx(psp(weigh(hits, weights, 5), 5).value)
    assert second.evaluation.ratios["PSP@5"].value == pytest.approx(second.evaluation.scores["PSP@5"])


def test_a_method_does_not_differ_from_itself(splits: tuple[Dataset, Dataset]) -> None:
    train, test = splits
    one = evaluate(everylabel.method("tfidf").fit(train), test)
    same = differences(one, one)
    assert same.decisions == (0, 0, 1.0)
    assert all(found.difference == 0 and found.p_value == 1 for found in same.metrics.values())
    assert all(change.verdict == "unclear" for change in changes(one, one, seed=0).values())


def test_what_cannot_be_measured_is_not_compared() -> None:
    """No document has an unseen label, and no label is in the tail."""
    train = Dataset(
        Documents.of(["a"] * 20), LabelSet.of([Label("a", "a"), Label("b", "b")]), pairs_from_lists([[0]] * 20, 2)
    )
    model = everylabel.method("popularity").fit(train)
    found = evaluate(model, train)
    assert set(changes(found, found, seed=0)) == {"nDCG@5", "PSP@5"}


def test_the_floor_is_popularity(splits: tuple[Dataset, Dataset]) -> None:
    train, test = splits
    want = everylabel.method("popularity").fit(train).rank(test.documents, 7)
    found = floor_of(everylabel.method("tfidf").fit(train)).rank(test.documents, 7)
    np.testing.assert_array_equal(found.ids, want.ids)
