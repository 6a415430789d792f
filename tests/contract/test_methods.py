"""The contract that every registered method keeps: a method added to the registry is tested without a change here."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import shutil
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.contract.cases import Case, Fit

import everylabel
from everylabel import config
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.errors import ConfigError, DataError, NotFittedError
from everylabel.methods.base import MOST_PADDED, Method
from everylabel.methods.calibrate import Calibration
from everylabel.metrics.ranking import restrict
from everylabel.registry import method_class
from everylabel.run import QUIET, Run
from everylabel.store import read_manifest
from everylabel.types import Ranking

HOSTILE = ["", " \n", "İstanbul ΣΑΣ", "e\u0301\u200d🙂👩🏽", "\ud800 \udc00", "\x00", "a" * 5000, "12 _ __ 中文字"]


def is_floor(name: str) -> bool:
    """Popularity, which does not read the text: what the others must beat."""
    return name == "popularity"


def assert_identical(one: Ranking, other: Ranking) -> None:
    np.testing.assert_array_equal(one.ids, other.ids)
    np.testing.assert_array_equal(one.scores, other.scores)


def assert_same(one: Ranking, other: Ranking) -> None:
    """Up to rounding: products of more rows at a time are added up in another order."""
    np.testing.assert_array_equal(one.ids, other.ids)
    np.testing.assert_allclose(one.scores, other.scores, atol=1e-6)


def assert_ranking(found: Ranking, n_docs: int, k: int, n_labels: int) -> None:
    """What every ranking is, whatever the method."""
    assert found.ids.shape == found.scores.shape == (n_docs, k)
    assert found.ids.dtype == np.int32
    assert found.scores.dtype == np.float32
    for ids, scores in zip(found.ids.tolist(), found.scores.tolist(), strict=True):
        n = sum(label >= 0 for label in ids)
        assert ids[n:] == [-1] * (k - n)
        assert scores[n:] == [-np.inf] * (k - n)
        assert all(label < n_labels for label in ids)
        assert len(set(ids[:n])) == n
        assert all(0 <= score <= 1 for score in scores[:n])
        keys = [(-score, label) for score, label in zip(scores[:n], ids[:n], strict=True)]
        assert keys == sorted(keys)


def test_the_registry_tells_the_truth(case: Case) -> None:
    cls = method_class(case[0])
    assert cls.name == case[0]
    assert cls.summary
    assert cls.traits.needs
    assert cls.__doc__


def test_a_document_of_a_labels_own_words_gets_the_label(case: Case, fitted: Method, toy: Any) -> None:
    found = fitted.rank(toy.single, 3)
    if is_floor(case[0]):
        most_popular = int(np.argmax(toy.train.counts))
        assert found.ids[:, 0].tolist() == [most_popular] * toy.n_labels
    else:
        assert found.ids[:, 0].tolist() == list(range(toy.n_labels))


def test_it_beats_popularity(case: Case, fitted: Method, toy: Any) -> None:
    if is_floor(case[0]):
        pytest.skip("popularity itself")

    def hits(method: Method) -> int:
        ids = method.rank(toy.double, 2).ids.tolist()
        return sum(len(set(row) & answer) for row, answer in zip(ids, toy.double_answers, strict=True))

    assert hits(fitted) > 2 * hits(everylabel.method("popularity").fit(toy.train))


def test_titles_are_read(case: Case, fitted: Method, toy: Any) -> None:
    if is_floor(case[0]):
        pytest.skip("does not read")
    if case[1].get("tfidf", {}).get("title_weight"):
        pytest.skip("no title was there in training, and titles have features of their own")
    documents = Documents.of([""] * toy.n_labels, titles=toy.single)
    assert fitted.rank(documents, 1).ids.ravel().tolist() == list(range(toy.n_labels))


@pytest.mark.parametrize("k", [1, 2, 15, 40])
def test_what_a_ranking_is(fitted: Method, toy: Any, k: int) -> None:
    texts = toy.double + HOSTILE
    found = fitted.rank(texts, k)
    assert_ranking(found, len(texts), k, len(toy.train.labels))
    assert_identical(fitted.rank(texts, 40).top(k), found)


def test_more_ranks_than_there_are_labels_cost_nothing(fitted: Method, toy: Any) -> None:
    """Padded as far as anybody looks, and no further: so many ranks as are asked for here would be 745 GiB."""
    n_labels = len(toy.train.labels)
    found = fitted.rank(toy.single[:2], 99_999_999_999)
    assert_ranking(found, 2, max(MOST_PADDED, n_labels), n_labels)
    assert_identical(found.top(n_labels), fitted.rank(toy.single[:2], n_labels))
    assert fitted.rank([], 99_999_999_999).ids.shape == (0, max(MOST_PADDED, n_labels))


def test_a_document_ranks_the_same_alone(fitted: Method, toy: Any) -> None:
    together = fitted.rank(toy.double, 5)
    for i, text in enumerate(toy.double):
        alone = fitted.rank([text], 5)
        np.testing.assert_allclose(alone.scores[0], together.scores[i], rtol=1e-5)
        assert alone.ids[0, 0] == together.ids[i, 0]


def test_no_texts_and_empty_texts(fitted: Method, toy: Any) -> None:
    assert_ranking(fitted.rank([], 5), 0, 5, len(toy.train.labels))
    assert_ranking(fitted.rank(["", "wholly unknown words"], 5), 2, 5, len(toy.train.labels))


def test_a_text_that_says_nothing_has_no_labels(case: Case, fitted: Method) -> None:
    """Not those that are common, nor those that come first."""
    nothing = ["", " \n\t", "...!?", "\u200d\ufe0f", "\ud800"]
    found = fitted.rank(nothing, 5).ids
    assert (found >= 0).all() if is_floor(case[0]) else (found == -1).all()


@pytest.mark.parametrize("text", ["zxqvzxqv kjhgkjhg", "\N{UNICORN FACE}", "\u732b\u304c\u597d\u304d"])
def test_words_that_no_method_on_words_knows(case: Case, fitted: Method, text: str) -> None:
    if case[0] not in ("tfidf", "bm25", "svm", "xr-linear", "knn", "zestxml"):
        pytest.skip("reads more than words")
    assert (fitted.rank([text], 5).ids == -1).all()


def test_what_cannot_be_ranked(fitted: Method) -> None:
    for k in (0, -1):
        with pytest.raises(DataError, match=f"k must be at least 1; got {k}"):
            fitted.rank(["text"], k)
    with pytest.raises(DataError, match="list of texts"):
        fitted.rank("text")


def test_unchanged_by_the_order_of_documents_and_labels(fitted: Method, new: Fit, toy: Any) -> None:
    shuffled, before = toy.shuffled(seed=1)
    other = new().fit(shuffled)
    single = before[other.rank(toy.single, 1).ids]
    np.testing.assert_array_equal(single, fitted.rank(toy.single, 1).ids)
    double = before[other.rank(toy.double, 2).ids]
    np.testing.assert_array_equal(np.sort(double), np.sort(fitted.rank(toy.double, 2).ids))


def test_deterministic_under_a_seed(fitted: Method, new: Fit, toy: Any) -> None:
    texts = toy.single + toy.double
    assert_identical(new().fit(toy.train).rank(texts, 9), fitted.rank(texts, 9))


def test_seeds_that_cannot_work(new: Fit, toy: Any) -> None:
    for seed in (-1, 1 << 32):
        with pytest.raises(ConfigError, match=f"random_state must be .*; got {seed}"):
            dataclasses.replace(new(), random_state=seed).fit(toy.train)
    dataclasses.replace(new(), random_state=(1 << 32) - 1).fit(toy.train)


def test_identical_after_save_and_load(fitted: Method, toy: Any, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    loaded = everylabel.load(tmp_path / "model")
    assert loaded == fitted  # the settings
    assert loaded.labels_ == fitted.labels_
    texts = toy.single + toy.double + HOSTILE
    assert_identical(loaded.rank(texts, 20), fitted.rank(texts, 20))
    loaded.save(tmp_path / "again")
    assert_identical(everylabel.load(tmp_path / "again").rank(texts, 20), fitted.rank(texts, 20))


def test_a_copy_from_elsewhere_is_checked_and_identical(fitted: Method, toy: Any, tmp_path: Path) -> None:
    """Nothing that a fit leaves, or labels that came and went, is taken for what a fit cannot leave."""
    fitted.save(tmp_path / "model")
    changed = everylabel.load(tmp_path / "model").add_labels([Label("new", "penguin colony")]).remove_labels(["q00"])
    changed.save(tmp_path / "changed")
    for name, method in (("model", fitted), ("changed", changed)):
        copied = Path(shutil.copytree(tmp_path / name, tmp_path / f"{name} from elsewhere"))
        assert_identical(everylabel.load(copied).rank(toy.double, 20), method.rank(toy.double, 20))


def test_calibration_keeps_rankings_and_is_saved(fitted: Method, toy: Any, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    method = everylabel.load(tmp_path / "model")  # a copy: the fitted one is only to be read
    held_out = dataclasses.replace(
        toy.train, documents=Documents.of(toy.double), pairs=pairs_from_lists(toy.double_answers, len(toy.train.labels))
    )
    texts = toy.single + toy.double + HOSTILE
    before, found = method.rank(texts, 20), method.calibrate(held_out).rank(texts, 20)
    np.testing.assert_array_equal(found.ids, before.ids)
    assert not np.array_equal(found.scores, before.scores)
    assert_ranking(found, len(texts), 20, len(toy.train.labels))
    method.save(tmp_path / "calibrated")
    assert_identical(everylabel.load(tmp_path / "calibrated").rank(texts, 20), found)


def made_of_others(method: Method) -> bool:
    """A label that nobody has used is made of those that the document has, whatever the document's words are."""
    return getattr(method, "weight", None) == 1.0 and hasattr(method, "base")


def test_labels_come_and_go(fitted: Method, toy: Any, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    method = everylabel.load(tmp_path / "model")  # a copy: the fitted one is only to be read
    texts, n_labels = toy.single + toy.double + HOSTILE, len(toy.train.labels)
    before = method.rank(texts, 20)
    method.add_labels([Label("bird", "penguin colony"), Label("ship", "steam engine", alternatives=("paddle wheel",))])
    depth, asked = 1, ["penguin colony", "a paddle wheel"]
    if made_of_others(fitted):
        assert (method.rank(asked, 20).ids == -1).all()  # of labels that nobody has found there is nothing to make
        depth, asked = 20, toy.single[:1]
    found = method.rank(asked, depth)
    assert {n_labels, n_labels + 1} <= set(found.ids.ravel().tolist())
    added = method.rank(texts, 20)
    assert_ranking(added, len(texts), 20, n_labels + 2)
    method.save(tmp_path / "more")
    method = everylabel.load(tmp_path / "more")
    assert_identical(method.rank(texts, 20), added)
    method.remove_labels(["bird", "ship"])
    assert_same(method.rank(texts, 20), before)
    first = method.labels_[int(before.ids[0, 0])]
    method.remove_labels([first.id])
    found = method.rank(texts, 20)
    assert_ranking(found, len(texts), 20, n_labels)
    assert method.labels_.index[first.id] not in found.ids
    method.save(tmp_path / "fewer")
    assert_identical(everylabel.load(tmp_path / "fewer").rank(texts, 20), found)
    assert_same(method.add_labels([first]).rank(texts, 20), before)


def test_deprecated_labels_are_never_ranked(new: Fit, toy: Any, tmp_path: Path) -> None:
    old = toy.train.labels[0]
    labels = LabelSet.of([dataclasses.replace(old, deprecated=True), *toy.train.labels[1:]])
    method = new().fit(dataclasses.replace(toy.train, labels=labels))
    found = method.rank(toy.single, len(labels))
    assert 0 not in found.ids
    assert (found.ids >= 0).any()
    method.add_labels([Label("bird", "penguin colony", deprecated=True), labels[0]])  # which stays what it is
    assert not {0, len(labels)} & set(method.rank([*toy.single, "penguin colony"], len(labels)).ids.ravel().tolist())
    method.save(tmp_path / "model")
    loaded = everylabel.load(tmp_path / "model")
    assert loaded.labels_ == method.labels_
    assert_identical(loaded.rank(toy.single, 20), method.rank(toy.single, 20))


def test_labels_that_cannot_come_or_go(fitted: Method, toy: Any) -> None:
    known, before = toy.train.labels[0], fitted.rank(toy.single, 5)
    for wrong, message in (
        (known, "in the vocabulary already"),
        (Label("new", " "), "needs an id and a name"),
        (Label("", "new"), "needs an id and a name"),
    ):
        with pytest.raises(DataError, match=message):
            fitted.add_labels([Label("penguins", "penguin colony"), wrong])
    with pytest.raises(DataError, match="'twice' occurs twice"):
        fitted.add_labels([Label("twice", "one"), Label("twice", "two")])
    with pytest.raises(DataError, match="'nowhere' is not in the vocabulary"):
        fitted.remove_labels([known.id, "nowhere"])
    assert_identical(fitted.rank(toy.single, 5), before)


def test_some_labels_alone_have_the_scores_that_they_have_among_all(fitted: Method, toy: Any) -> None:
    """In the same order, however deep they stand; more of them where a search for all follows some branches only."""
    texts, n_labels = toy.single + toy.double + HOSTILE, len(toy.train.labels)
    everything = fitted.rank(texts, n_labels)
    for wanted in (np.arange(n_labels) % 5 == 1, np.arange(n_labels) == 3, np.ones(n_labels, np.bool_)):
        n = int(wanted.sum())
        found = fitted.selecting(wanted).rank(texts, n)
        assert_ranking(found, len(texts), n, n_labels)
        assert_identical(fitted.selecting(wanted).rank(texts, 1), found.top(1))
        for row, expected in enumerate(restrict(everything, wanted).ids.tolist()):
            known = np.isin(found.ids[row], [label for label in expected if label >= 0])
            rest = restrict(everything, wanted, int(known.sum()))
            assert sum(label >= 0 for label in expected) == known.sum()
            assert_identical(
                Ranking(found.ids[row, known], found.scores[row, known]), Ranking(*(part[row] for part in rest))
            )
            assert wanted[found.ids[row][found.ids[row] >= 0]].all()
    assert_identical(fitted.rank(texts, n_labels), everything)


def test_the_dataset_stays_as_it_was(new: Fit, toy: Any) -> None:
    documents = toy.bag_of_words(toy.train.documents.texts)
    for data in (toy.train, dataclasses.replace(toy.train, documents=documents)):
        if data.documents.features is not None and not reads_bags_of_words(new()):
            continue
        before = snapshot(data)
        new().fit(data).rank(data.documents, 3)
        assert snapshot(data) == before


def snapshot(data: Dataset) -> list[Any]:
    matrices = [matrix for matrix in (data.pairs, data.documents.features) if matrix is not None]
    arrays = [getattr(matrix, part).tolist() for matrix in matrices for part in ("data", "indices", "indptr")]
    documents = data.documents
    return [list(documents.ids), list(documents.texts), list(documents.titles), data.labels.labels, *arrays]


def test_fitting_again_forgets_what_was_before(fitted: Method, new: Fit, toy: Any) -> None:
    again = new().fit(toy.train.subset(range(60))).fit(toy.train)
    assert_identical(again.rank(toy.double, 5), fitted.rank(toy.double, 5))


def test_fit_returns_the_method_and_learns_into_attributes_with_an_underscore(new: Fit, toy: Any) -> None:
    method = new()
    before = dict(vars(method))
    assert method.fit(toy.train) is method
    assert {key: value for key, value in vars(method).items() if key in before} == before
    assert set(vars(method)) - set(before) == {"_model"}  # one reference to all that was learned
    learned = set(vars(method.model_)) - set(before)
    assert all(key.endswith("_") for key in learned)
    assert all(getattr(method, key) is getattr(method.model_, key) for key in learned)
    assert method.model_.model_ is method.model_


class BrokenError(Exception):
    """What a test breaks."""


class Stopping:
    """Hears of progress, and presses Ctrl-C after so many times."""

    def __init__(self, after: float = math.inf) -> None:
        self.after, self.heard = after, 0

    def start(self, *_: object) -> None:
        self.say()

    def advance(self, *_: object) -> None:
        self.say()

    def finish(self, *_: object) -> None:
        """Not here: it is told of the end of what was stopped, too."""

    def say(self, *_: object) -> None:
        self.heard += 1
        if self.heard >= self.after:
            raise KeyboardInterrupt


def broken(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    """The work is done, and fails at its end."""
    usual = getattr(owner, name)

    def fail(*arguments: Any, **more: Any) -> Any:
        usual(*arguments, **more)
        raise BrokenError

    monkeypatch.setattr(owner, name, fail)


def test_a_model_never_changes(fitted: Method, toy: Any, tmp_path: Path) -> None:
    """Whatever comes after it: each change gives another one, and those who hold the old one see nothing of it."""
    method, texts = copy.copy(fitted), toy.single + toy.double + HOSTILE
    first = method.model_
    models, rankings, saved = [first], [first.rank(texts, 20)], [content_of(first, tmp_path)]
    held_out = dataclasses.replace(
        toy.train, documents=Documents.of(toy.double), pairs=pairs_from_lists(toy.double_answers, len(toy.train.labels))
    )
    for change in (
        lambda: method.add_labels([Label("bird", "penguin colony"), Label("ship", "steam engine")]),
        lambda: method.remove_labels([toy.train.labels[2].id]),
        lambda: method.add_labels([Label("wheel", "paddle wheel"), toy.train.labels[2]]),
        lambda: method.calibrate(held_out),
    ):
        assert change() is method  # type: ignore[no-untyped-call]
        models.append(method.model_)
        rankings.append(method.rank(texts, 20))
        saved.append(content_of(method, tmp_path))
    assert len({id(model) for model in models}) == 5
    for model, ranking, content in zip(models, rankings, saved, strict=True):
        assert_identical(model.rank(texts, 20), ranking)
        assert content_of(model, tmp_path) == content
    assert fitted.model_ is first
    for change in (
        lambda: first.add_labels([Label("bird", "penguin colony")]),
        lambda: first.remove_labels(["unseen"]),
        lambda: first.calibrate(held_out),
    ):
        with pytest.raises(TypeError, match="is a model, which never changes: with_labels"):
            change()
    assert_identical(first.rank(texts, 20), rankings[0])


def content_of(method: Method, folder: Path) -> Any:
    """All that is learned, as it is saved: the arrays by hashes of their content, all else as it is."""
    method.save(folder / "content")
    manifest = read_manifest(folder / "content")
    return {key: manifest[key] for key in ("config", "n_labels", "n_train", "files", "arrays", "labels", "state")}


def test_a_change_that_fails_leaves_everything_as_it_was(fitted: Method, toy: Any, tmp_path: Path) -> None:
    method, texts = copy.copy(fitted), toy.single + toy.double
    model, before, content = method.model_, method.rank(texts, 20), content_of(method, tmp_path)
    birds = [Label("bird", "penguin colony")]
    with pytest.MonkeyPatch.context() as patch:
        broken(patch, type(method), "_with_labels")
        with pytest.raises(BrokenError):
            method.add_labels(birds)
    with pytest.MonkeyPatch.context() as patch:
        broken(patch, Calibration, "learn")
        with pytest.raises(BrokenError):
            method.calibrate(toy.train)
    assert method.model_ is model
    assert method.labels_ is toy.train.labels
    assert_identical(method.rank(texts, 20), before)
    assert content_of(method, tmp_path) == content
    expected = copy.copy(fitted).add_labels(birds).rank(["penguin colony"], 20)
    assert_identical(method.add_labels(birds).rank(["penguin colony"], 20), expected)  # again, and it works


def test_a_fit_that_fails_leaves_the_method_as_it_was(new: Fit, toy: Any, tmp_path: Path) -> None:
    """Half-way by Ctrl-C, and at its end: unfitted, or as it was fitted before."""
    heard, method, settings = Stopping(), new(), config.to_dict(new())
    other = new().fit(toy.train, run=Run(reporter=heard))
    model, before, content = other.model_, other.rank(toy.double, 5), content_of(other, tmp_path)
    fit = "_fit_and_blend" if hasattr(type(method), "_fit_and_blend") else "_fit"
    half_way = [Run(reporter=Stopping(after=n)) for n in (1, heard.heard // 2) if 0 < n <= heard.heard]
    with pytest.MonkeyPatch.context() as patch:
        broken(patch, type(method), fit)
        for run in (*half_way, QUIET):
            for one in (method, other):
                with pytest.raises(BrokenError if run is QUIET else KeyboardInterrupt):
                    one.fit(toy.train, run=run)
    for use in (lambda: method.rank(["text"]), lambda: method.save(tmp_path / "model"), method.state):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            use()
    assert not hasattr(method, "labels_")
    assert other.model_ is model
    assert config.to_dict(method) == config.to_dict(other) == settings
    assert_identical(other.rank(toy.double, 5), before)
    assert content_of(other, tmp_path) == content


def test_before_fit_there_is_nothing(new: Fit, tmp_path: Path) -> None:
    for use in (lambda: new().rank(["text"]), lambda: new().save(tmp_path / "model"), lambda: new().state()):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            use()
    assert not (tmp_path / "model").exists()


def test_data_that_cannot_be_learnt_from(new: Fit, toy: Any) -> None:
    with pytest.raises(DataError, match="no labels"):
        new().fit(Dataset(Documents.of(["text"]), LabelSet.of([])))
    for data in (toy.train.without_pairs(), toy.train.with_pairs(toy.train.pairs * 0)):
        if new().traits.needs_pairs:
            with pytest.raises(DataError, match="no labelled pair"):
                new().fit(data)
        else:
            assert_ranking(new().fit(data).rank(toy.single, 3), toy.n_labels, 3, len(toy.train.labels))


def test_documents_without_labels_and_labels_without_documents(new: Fit, toy: Any) -> None:
    """Half of the documents lose their labels, and one label all of its documents."""
    pairs = toy.train.pairs.tolil()
    pairs[::2] = 0
    pairs[:, 3] = 0
    method = new().fit(toy.train.with_pairs(pairs.tocsr()))
    assert_ranking(method.rank(toy.double + [""], 20), len(toy.double) + 1, 20, len(toy.train.labels))


def test_one_label(new: Fit, toy: Any) -> None:
    labels = toy.train.labels.subset([2])
    method = new().fit(Dataset(toy.train.documents, labels, toy.train.pairs[:, [2]]))
    found = method.rank([toy.single[2]], 3)
    assert found.ids.tolist() == [[0, -1, -1]]
    assert_ranking(found, 1, 3, 1)


def reads_bags_of_words(method: Method) -> bool:
    """On sparse features alone: an encoder needs the texts."""
    return hasattr(method, "tfidf") and not hasattr(method, "encoder") and method.traits.learns_from_pairs


def test_a_bag_of_words(case: Case, new: Fit, toy: Any, tmp_path: Path) -> None:
    """Methods on sparse features take them ready-made; any other does, or says that it cannot."""
    data = dataclasses.replace(toy.train, documents=toy.bag_of_words(toy.train.documents.texts))
    documents = toy.bag_of_words(toy.single)
    try:
        method = new().fit(data)
    except DataError:
        assert not reads_bags_of_words(new())
        return
    found = method.rank(documents, 3)
    assert_ranking(found, toy.n_labels, 3, len(toy.train.labels))
    if not is_floor(case[0]):
        assert found.ids[:, 0].tolist() == list(range(toy.n_labels))
    method.save(tmp_path / "model")
    assert_identical(everylabel.load(tmp_path / "model").rank(documents, 3), found)


def test_texts_and_bags_of_words_do_not_mix(fitted: Method, new: Fit, toy: Any) -> None:
    if not reads_bags_of_words(fitted):
        pytest.skip("not on sparse features alone")
    with pytest.raises(DataError, match="bag of words"):
        fitted.rank(toy.bag_of_words(toy.single), 3)
    data = dataclasses.replace(toy.train, documents=toy.bag_of_words(toy.train.documents.texts))
    with pytest.raises(DataError, match="bag of words"):
        new().fit(data).rank(toy.single, 3)


def test_the_settings_are_the_method(new: Fit) -> None:
    method = dataclasses.replace(new(), random_state=7)
    values = config.to_dict(method)
    cls = type(method)
    assert config.build(cls, values) == method
    assert config.build(cls, json.loads(json.dumps(values))) == method
    assert config.build(cls, tomllib.loads(toml(values))) == method
    assert config.build(cls, config.parse_settings(f"{key}={value}" for key, value in flat(values).items())) == method
    assert config.build(cls, {}) == cls()


def flat(values: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """{"a": {"b": 1}} as {"a.b": "1"}; values as JSON, which is TOML too for what a setting can be."""
    found: dict[str, str] = {}
    for key, value in values.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": json.dumps(value)}
    return found


def toml(values: dict[str, Any]) -> str:
    return "".join(f"{key} = {value}\n" for key, value in flat(values).items() if value != "null")


def test_an_unknown_setting_suggests_the_nearest(case: Case, new: Fit) -> None:
    for key in config.to_dict(new()):
        typo = f"{key[:-1]}{key[-1] * 2}x"
        wrong: dict[str, Any] = {typo: 1}
        with pytest.raises(ConfigError, match=f"unknown setting '{typo}'; did you mean {key}"):
            everylabel.method(case[0], **wrong)


def test_a_setting_of_the_wrong_kind_is_refused(case: Case, new: Fit) -> None:
    for key, value in config.to_dict(new()).items():
        table = isinstance(value, dict) and key != "settings"  # a tagger's are its experts', and checked by `check`
        wrong: dict[str, Any] = {key: {"x": 1} if table else [[1]]}
        with pytest.raises(ConfigError, match=key):
            everylabel.method(case[0], **wrong)
