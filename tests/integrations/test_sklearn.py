"""The classifier is an estimator as scikit-learn knows them: cloned, searched, split, piped, pickled."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix, issparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MultiLabelBinarizer
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

from everylabel.data.dataset import Dataset, Documents, Label
from everylabel.errors import ConfigError, DataError, ModelError
from everylabel.sklearn import TaggerClassifier, TopScorer, ndcg_at_5, precision_at_1, psp_at_5, top_score
from everylabel.workflow.demo import sample_splits
from everylabel.workflow.evaluate import evaluate

WORDS = {"experts": ("tfidf", "knn")}


@pytest.fixture(scope="module")
def splits() -> tuple[Dataset, Dataset]:
    train, dev, _ = sample_splits()
    return train, dev


@pytest.fixture(scope="module")
def tagger(splits: tuple[Dataset, Dataset]) -> TaggerClassifier:
    """Not to be changed."""
    train, _ = splits
    return TaggerClassifier(settings=WORDS, labels=train.labels).fit(train.documents.full_texts, train.pairs)


def svm(**parameters: Any) -> TaggerClassifier:
    return TaggerClassifier(method="svm", **parameters)


def test_it_ranks_as_the_method_does(tagger: TaggerClassifier, splits: tuple[Dataset, Dataset]) -> None:
    train, dev = splits
    texts = dev.documents.full_texts
    expected = tagger.model_.rank(texts, 5)
    found = tagger.predict_proba(texts)
    assert issparse(found)
    assert found.shape == (len(texts), len(train.labels))
    for row in range(len(texts)):
        ids = [label for label in expected.ids[row] if label >= 0]
        assert sorted(ids) == found[row].indices.tolist()
        assert found[row, ids].toarray().ravel() == pytest.approx(expected.scores[row, : len(ids)])
    chosen = tagger.predict(texts)
    assert (chosen != (found > 0)).nnz == 0
    assert tagger.classes_.tolist() == list(train.labels.ids)


def test_scores_are_those_of_evaluate(tagger: TaggerClassifier, splits: tuple[Dataset, Dataset]) -> None:
    _, dev = splits
    texts = dev.documents.full_texts
    known = evaluate(tagger.model_, Dataset(Documents.of(texts), dev.labels, dev.pairs)).scores
    for metric in ("P@1", "P@5", "nDCG@5", "PSP@5", "PSnDCG@3", "R@10"):
        assert TopScorer(metric)(tagger, texts, dev.pairs) == pytest.approx(known[metric], abs=1e-6)
    assert tagger.score(texts, dev.pairs) == pytest.approx(known["nDCG@5"], abs=1e-6)


def test_a_threshold_and_the_best_number_are_decisions(
    tagger: TaggerClassifier, splits: tuple[Dataset, Dataset]
) -> None:
    texts = splits[1].documents.full_texts
    every = tagger.predict_proba(texts)
    some = clone(tagger).set_params(threshold=0.5)
    some.model_ = tagger.model_
    assert (some.predict(texts) != (every >= 0.5)).nnz == 0
    best = TaggerClassifier.of(tagger.model_, best=True)
    assert 0 < best.predict(texts).nnz < every.nnz
    assert 0 < f1_score(splits[1].required_pairs > 0, best.predict(texts), average="samples", zero_division=0) < 1
    with pytest.raises(ConfigError, match="predicts must be 'labels' or 'scores'"):
        TaggerClassifier.of(tagger.model_, predicts="tags").predict(texts)


def test_lists_of_ids_are_the_same_as_a_matrix() -> None:
    texts = ["a boat on the sea", "a train on rails", "a boat and a train"]
    lists = [["sea"], ["rail"], ["rail", "sea"]]
    binarizer = MultiLabelBinarizer(sparse_output=True)
    matrix = binarizer.fit_transform(lists)
    by_lists, by_matrix = svm().fit(texts, lists), svm(labels=binarizer.classes_.tolist()).fit(texts, matrix)
    assert by_lists.classes_.tolist() == by_matrix.classes_.tolist() == ["rail", "sea"]
    assert (by_lists.predict_proba(texts) != by_matrix.predict_proba(texts)).nnz == 0
    assert by_lists.score(texts, lists) == by_matrix.score(texts, matrix) == by_lists.score(texts, matrix.toarray())
    assert svm().fit(np.array(texts), matrix).classes_.tolist() == ["0", "1"]
    assert (svm().fit(np.array(texts)[:, None], matrix).predict(texts) != by_matrix.predict(texts)).nnz == 0


def test_labels_that_y_does_not_have_are_found_by_their_names() -> None:
    labels = [Label("sea", "Seafaring"), Label("sky", "Aeroplanes and airports")]
    found = TaggerClassifier(method="bm25", labels=labels, k=1).fit(["boats at sea"], None)
    assert found.predict(["two aeroplanes"]).toarray().tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        ("one text", [["a"]], "expected a list of texts, got one text"),
        (["one"], [["a"], ["b"]], "X has 1 texts, and y has 2 rows"),
        (["one"], ["a"], "document 0: expected a list of label ids, got one"),
        (["one"], 3, "y is an int; expected an indicator matrix"),
        (["one"], None, "y is None, and so is `labels`"),
    ],
)
def test_what_cannot_be_is_said(X: Any, y: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        svm().fit(X, y)


def test_columns_and_ids_must_be_those_of_the_vocabulary() -> None:
    with pytest.raises(DataError, match="y has 3 columns, and there are 2 labels"):
        svm(labels=["a", "b"]).fit(["one"], csr_matrix((1, 3)))
    with pytest.raises(DataError, match="y has the label 'c', which is not in the vocabulary of 2 labels"):
        svm(labels=["a", "b"]).fit(["one"], [["c"]])


def test_nothing_is_known_before_it_is_fitted() -> None:
    for ask in (lambda: svm().predict(["a"]), lambda: svm().score(["a"], [["b"]]), lambda: check_is_fitted(svm())):
        with pytest.raises(NotFittedError):
            ask()
    assert not hasattr(svm(), "classes_")


def test_partial_fit_fits_first_and_learns_then(splits: tuple[Dataset, Dataset]) -> None:
    train, dev = splits
    texts, more = train.documents.full_texts, dev.documents.full_texts
    found = TaggerClassifier(settings=WORDS).partial_fit(texts, train.pairs, classes=train.labels)
    before = found.score(more, dev.pairs)
    assert found.partial_fit(more, dev.pairs) is found
    assert [event["what"] for event in found.model_.history()] == ["fitted", "learned"]
    assert found.score(more, dev.pairs) > before
    one = TaggerClassifier(method="popularity").partial_fit(["a boat"], [["sea"]])
    with pytest.raises(ConfigError, match="cannot learn from new documents"):
        one.partial_fit(["a boat"], [["sea"]])


def test_it_is_searched_and_split_in_a_pipeline(splits: tuple[Dataset, Dataset]) -> None:
    train, dev = splits
    texts, pairs = train.documents.full_texts[:90], train.required_pairs[:90]
    lower = FunctionTransformer(lambda given: [text.lower() for text in given])
    piped = make_pipeline(lower, svm(labels=train.labels))
    grid = {"taggerclassifier__method": ["popularity", "svm"], "taggerclassifier__k": [5]}
    scoring = {"ndcg": ndcg_at_5, "psp": psp_at_5, "first": precision_at_1}
    search = GridSearchCV(piped, grid, cv=2, scoring=scoring, refit="ndcg", error_score="raise").fit(texts, pairs)
    assert search.best_params_["taggerclassifier__method"] == "svm"
    by_method = search.cv_results_["mean_test_psp"]
    assert by_method[1] > by_method[0] > 0
    assert search.best_estimator_.classes_.tolist() == list(train.labels.ids)
    assert search.predict(dev.documents.full_texts).shape == (len(dev), len(train.labels))
    assert cross_val_score(piped, texts, pairs.toarray(), cv=2, scoring=ndcg_at_5).min() > 0


def test_each_document_is_predicted_by_who_has_not_read_it(splits: tuple[Dataset, Dataset]) -> None:
    train, _ = splits
    texts, pairs = train.documents.full_texts[:60], train.required_pairs[:60]
    scoring = svm(labels=train.labels, k=7, predicts="scores")
    scores = cross_val_predict(scoring, texts, pairs, cv=2)
    dense = cross_val_predict(scoring, texts, pairs.toarray(), cv=2, method="predict_proba")
    assert (dense != scores).nnz == 0
    assert scores.shape == pairs.shape
    assert np.diff(scores.indptr).max() == 7
    second = svm(labels=train.labels, k=7).fit(texts[30:], pairs[30:]).predict_proba(texts[:30])
    assert abs(scores[:30] - second).max() < 1e-6
    assert 0 < top_score(pairs, scores, "P@5") < 1
    assert (cross_val_predict(svm(k=7), texts, pairs, cv=2) > 0).nnz == scores.nnz


def test_a_copy_by_pickle_ranks_the_same(tagger: TaggerClassifier, splits: tuple[Dataset, Dataset]) -> None:
    texts = splits[1].documents.full_texts
    content = pickle.dumps(tagger)
    copied = pickle.loads(content)
    assert (copied.predict_proba(texts) != tagger.predict_proba(texts)).nnz == 0
    assert copied.get_params()["settings"] == WORDS
    copied.partial_fit(texts, splits[1].pairs)
    assert b"everylabel.tagger" not in content, "the model is files, and no objects"
    clean = pickle.loads(pickle.dumps(svm(k=3)))
    assert clean.k == 3
    assert not hasattr(clean, "model_")


def test_a_pickle_whose_model_is_damaged_is_refused(tagger: TaggerClassifier) -> None:
    state = tagger.__getstate__()
    state["model_"] = {**state["model_"], "plain.json": state["model_"]["plain.json"][:-9]}
    with pytest.raises(ModelError, match="is damaged"):
        svm().__setstate__(state)
    with pytest.raises(ModelError, match="is not a model folder"):
        svm().__setstate__(state | {"model_": {"../manifest.json": b"{}"}})


def test_a_model_in_a_folder_is_a_classifier(tagger: TaggerClassifier, tmp_path: Any) -> None:
    tagger.model_.save(tmp_path / "model")
    found = TaggerClassifier.of(tmp_path / "model", k=2)
    assert np.diff(found.predict(["a lighthouse on the coast"]).indptr).tolist() == [2]
    assert found.classes_.tolist() == tagger.classes_.tolist()


@pytest.mark.parametrize("metric", ["accuracy", "P@0", "P@", "nDCG@5 "])
def test_an_unknown_metric_is_an_error(metric: str) -> None:
    with pytest.raises(ConfigError, match="no metric"):
        TopScorer(metric)


CHECKS = [
    "check_estimator_cloneable",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_mixin_order",
]


@pytest.mark.parametrize("check", CHECKS)
def test_scikit_learns_own_checks_pass(check: str) -> None:
    """Those that fit nothing: all others fit tables of numbers, and scikit-learn itself leaves them out for texts."""
    getattr(estimator_checks, check)("TaggerClassifier", TaggerClassifier())


def test_scikit_learn_knows_that_it_reads_texts() -> None:
    with pytest.warns(Warning, match="Can't test estimator TaggerClassifier which requires input"):
        check_estimator(TaggerClassifier())


def test_without_scikit_learn_it_says_what_to_install() -> None:
    script = "import importlib.util as found; found.find_spec = lambda _: None; import everylabel.sklearn"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "everylabel.sklearn needs scikit-learn: pip install scikit-learn" in done.stderr


def test_an_ids_array_has_no_limit_of_length() -> None:
    found = svm().fit(["a boat", "a train"], [["x" * 300], ["y"]])
    assert found.classes_.dtype == object
