"""The tagger on the sample corpus: better than its experts, honest about its probabilities, and open to what comes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from tests.tagger.conftest import SMALL, Copy, assert_identical, place, quality

import everylabel
from everylabel.data.bands import in_band
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.errors import ConfigError
from everylabel.methods.base import MOST_PADDED
from everylabel.methods.words.lexical import Bm25Match, TfidfMatch
from everylabel.metrics.ranking import find_hits, recall
from everylabel.metrics.reliability import reliability
from everylabel.tagger.tagger import Tagger

# --- how good it is


def test_it_is_better_than_each_of_its_experts(fitted: Tagger, corpus: Any) -> None:
    found = quality(fitted.rank(corpus.test.documents, 5), corpus.test)
    assert list(fitted.experts_) == list(fitted.experts)
    for expert in fitted.experts_.values():
        assert found > quality(expert.rank(corpus.test.documents, 5), corpus.test) + 0.05


def test_unseen_labels_are_found(fitted: Tagger, corpus: Any) -> None:
    unseen = in_band(corpus.train.counts, "unseen")
    hits = find_hits(fitted.in_order("interleave").rank(corpus.test.documents, 10), corpus.test.required_pairs)
    assert recall(hits, 10, unseen).possible.sum() > 10
    assert recall(hits, 5, unseen).value > 0.5


def test_the_ranking_is_by_probability_and_another_order_changes_no_probability(fitted: Tagger, corpus: Any) -> None:
    """Nothing is raised to take a place: a label has the same probability wherever it stands."""
    documents, unseen = corpus.test.documents, fitted.counts_ == 0
    found, other = fitted.rank(documents, 20), fitted.in_order("interleave").rank(documents, 20)
    assert (np.diff(found.scores, axis=1) <= 0).all()
    whole = fitted.rank(documents, len(fitted.labels_))
    for row in range(len(documents)):
        known = dict(zip(whole.ids[row].tolist(), whole.scores[row].tolist(), strict=True))
        shown = zip(other.ids[row].tolist(), other.scores[row].tolist(), strict=True)
        assert all(known[label] == score for label, score in shown if label >= 0)
    assert unseen[other.ids[:, :20]].sum() > unseen[found.ids[:, :20]].sum()
    hits = [recall(find_hits(one, corpus.test.required_pairs), 20, unseen).value for one in (found, other)]
    assert hits[1] >= hits[0]


def test_new_labels_are_a_group_of_their_own(fitted: Tagger, corpus: Any) -> None:
    documents = corpus.test.documents.subset(range(40))
    groups = fitted.new_labels(documents, 3)
    assert any(groups)
    whole = fitted.rank(documents, len(fitted.labels_))
    for row, tags in enumerate(groups):
        assert len(tags) <= 3
        assert all(tag.band == "unseen" for tag in tags)
        known = dict(zip(whole.ids[row].tolist(), whole.scores[row].tolist(), strict=True))
        assert [tag.probability for tag in tags] == [known[fitted.labels_.index[tag.id]] for tag in tags]
        assert [tag.probability for tag in tags] == sorted((tag.probability for tag in tags), reverse=True)
    assert any(tag.evidence for tags in groups for tag in tags)
    plain = fitted.new_labels(documents, 3, explain=False)
    assert plain == [[tag._replace(evidence=[]) for tag in tags] for tags in groups]
    assert fitted.new_labels([]) == []


def test_how_often_new_labels_come_is_learned_from_dev_documents(corpus: Any) -> None:
    """Where dev documents never have such a label, it is less probable than where each of them has one."""
    train, test = corpus.train.subset(range(60)), corpus.test
    pairs = test.required_pairs.multiply(train.counts > 0).tocsr()
    never = Dataset(test.documents, test.labels, csr_matrix(pairs))
    often, seldom = (Tagger(experts=SMALL).fit(train, dev) for dev in (test, never))
    assert often.blend_ is not None
    assert seldom.blend_ is not None
    difference = often.blend_.levels.curves["unseen"].level - seldom.blend_.levels.curves["unseen"].level
    assert difference > 1


def test_an_order_that_there_is_not() -> None:
    with pytest.raises(ConfigError, match="order must be 'probability' or 'interleave'; got 'best'"):
        Tagger(order="best").check()  # type: ignore[arg-type]


def test_the_order_is_saved(fitted: Tagger, corpus: Any, tmp_path: Path) -> None:
    documents = corpus.test.documents.subset(range(5))
    other = fitted.in_order("interleave")
    other.save(tmp_path / "model")
    assert_identical(everylabel.load(tmp_path / "model").rank(documents, 20), other.rank(documents, 20))
    assert fitted.order == "probability"


def test_probabilities_are_what_they_say(fitted: Tagger, corpus: Any) -> None:
    found = fitted.rank(corpus.test.documents, 10)
    assert reliability(found, corpus.test.required_pairs).ece < 0.12
    assert fitted.calibration_ is not None


# --- tags


def test_tags_have_a_probability_a_band_and_evidence(fitted: Tagger, corpus: Any) -> None:
    documents = corpus.test.documents.subset(range(12))
    tags = fitted.tag(documents, 5)
    ranked = fitted.rank(documents, 5)
    kinds = set()
    for row, ids in zip(tags, ranked.ids.tolist(), strict=True):
        assert [tag.id for tag in row] == [fitted.labels_[i].id for i in ids if i >= 0]
        probabilities = [tag.probability for tag in row]
        assert probabilities == sorted(probabilities, reverse=True)
        for tag in row:
            label = fitted.labels_.index[tag.id]
            assert tag.name == fitted.labels_[label].name
            assert 0 <= tag.probability <= 1
            assert in_band(fitted.counts_, tag.band)[label]
            kinds |= {item.kind for item in tag.evidence}
            assert {item.source for item in tag.evidence} <= set(fitted.experts_)
    assert {"words", "passage", "document"} <= kinds
    assert all(row[0].evidence for row in tags)
    plain = fitted.tag(documents, 5, explain=False)
    assert plain == [[tag._replace(evidence=[]) for tag in row] for row in tags]


def test_evidence_of_near_documents_is_of_documents_with_the_label(fitted: Tagger, corpus: Any) -> None:
    train = corpus.train
    shown = dict(zip(fitted.training_.titles, range(len(train)), strict=True))
    for row in fitted.tag(corpus.test.documents.subset(range(12)), 3):
        for tag in row:
            for item in tag.evidence:
                if item.kind == "document" and item.text in shown:
                    labels = train.required_pairs[shown[item.text]].indices
                    assert train.labels.index[tag.id] in labels


def test_the_first_five_are_the_first_five_of_a_hundred(fitted: Tagger, corpus: Any) -> None:
    documents = corpus.test.documents.subset(range(30))
    assert_identical(fitted.rank(documents, 100).top(5), fitted.rank(documents, 5))
    assert fitted.tag(documents, 5, explain=False) == [row[:5] for row in fitted.tag(documents, 100, explain=False)]


def test_a_threshold_and_the_best_number_of_tags(fitted: Tagger, corpus: Any) -> None:
    documents = corpus.test.documents.subset(range(30))
    all_of_them = fitted.tag(documents, 10, explain=False)
    for threshold in (0.0, 0.3, 1.0):
        found = fitted.tag(documents, 10, threshold=threshold, explain=False)
        assert found == [[tag for tag in row if tag.probability >= threshold] for row in all_of_them]
    best = fitted.tag(documents, 10, best=True, explain=False)
    assert all(1 <= len(row) <= 10 and row == whole[: len(row)] for row, whole in zip(best, all_of_them, strict=True))
    assert len({len(row) for row in best}) > 1
    both = fitted.tag(documents, 10, best=True, threshold=0.3, explain=False)
    assert all(tag.probability >= 0.3 for row in both for tag in row)
    with pytest.raises(ConfigError, match="threshold is a probability"):
        fitted.tag(["text"], threshold=2.0)


@pytest.mark.parametrize("order", ["probability", "interleave"])
def test_more_ranks_than_there_are_labels_cost_nothing(fitted: Tagger, order: Any) -> None:
    found = fitted.in_order(order).rank(["lighthouses"], 99_999_999_999)
    assert found.ids.shape == (1, MOST_PADDED)


def test_texts_that_say_nothing(fitted: Tagger, readers: Tagger) -> None:
    """No labels, not even those that are common: a guess says nothing of the text."""
    nothing = ["", " \n", "\ud800 \x00", "zxqv " * 3_000, "\N{UNICORN FACE}"]
    assert fitted.tag([], 5) == []
    assert readers.tag(nothing, 5) == [[]] * len(nothing)
    assert fitted.tag(nothing, 5) == [[]] * len(nothing)


# --- labels come and go


def test_a_new_label_is_found_at_once(copied: Copy) -> None:
    tagger = copied()
    tagger.add_labels([Label("volcano", "Volcanoes", "Mountains that spit lava")])
    tags = tagger.tag(["Volcanoes spit lava and ashes. A volcano may sleep for long."], 3)[0]
    assert tags[0].id == "volcano"
    assert tags[0].band == "unseen"
    assert "lava" in [item.text for item in tags[0].evidence]
    tagger.remove_labels(["volcano"])
    assert all(tag.id != "volcano" for tag in tagger.tag(["Volcanoes spit lava"], 20)[0])


def test_without_an_expert_that_reads_label_texts_new_labels_are_found_too(corpus: Any) -> None:
    tagger = Tagger(experts=("knn", "svm")).fit(corpus.train.subset(range(50)))
    tagger.add_labels([Label("penguin", "Penguins")])
    assert place(tagger, ["penguins"], "penguin") == [0]


# --- settings


def test_settings_of_experts_are_checked_before_any_work() -> None:
    with pytest.raises(ConfigError, match=r"unknown setting 'settings\.knn\.neighbour'.*neighbours"):
        Tagger(settings={"knn": {"neighbour": 3}}).check()
    with pytest.raises(ConfigError, match="neighbours must be at least 1"):
        Tagger(settings={"knn": {"neighbours": 0}}).check()
    with pytest.raises(ConfigError, match="unknown method 'kn'"):
        Tagger(settings={"kn": {}}).check()
    with pytest.raises(ConfigError, match=r"settings\.knn must be settings of an expert: settings\.knn\.KEY=VALUE"):
        Tagger(settings={"knn": 3}).check()
    with pytest.raises(ConfigError, match="budget must be a time"):
        Tagger(budget="soon").check()


def test_settings_reach_their_expert_beside_those_of_the_plan(corpus: Any) -> None:
    settings = {"knn": {"neighbours": 3}, "tfidf": {"match": {"ngrams": 1}}}
    tagger = Tagger(experts=SMALL, settings=settings, language="de", random_state=5).fit(corpus.train.subset(range(40)))
    knn, tfidf = (tagger.experts_[name] for name in ("knn", "tfidf"))
    assert vars(knn)["neighbours"] == 3
    assert knn.random_state == 5
    assert isinstance(tfidf, TfidfMatch)
    assert (tfidf.match.language, tfidf.match.ngrams) == ("de", 1)


def test_names_that_there_are_not(corpus: Any) -> None:
    for wrong in (Tagger(experts=("smv",)), Tagger(without=("smv",))):
        with pytest.raises(ConfigError, match="unknown method 'smv'"):
            wrong.fit(corpus.train)


def test_the_plan_is_what_fit_does(corpus: Any, fitted: Tagger) -> None:
    shown = Tagger(experts=fitted.experts).plan(corpus.train)
    assert shown == fitted.plan_
    assert shown.rehearsal == "folds"
    assert "svm" not in Tagger(without=("svm",)).plan(corpus.train).names
    assert Tagger(budget="1s").plan(corpus.train).names[0] == "tfidf"


@pytest.mark.parametrize("budget", ["1s", "0.01s"])
def test_a_budget_that_is_too_small_leaves_experts_out_and_never_fails(corpus: Any, budget: str) -> None:
    small = corpus.train.subset(range(40))
    tagger = Tagger(budget=budget, without=("semantic", "hybrid")).fit(small)
    assert next(iter(tagger.experts_)) == "tfidf"
    assert len(tagger.experts_) < 3
    assert tagger.rank(corpus.test.documents, 5).ids[:, 0].max() >= 0
    asked = Tagger(experts=("tfidf", "knn", "svm"), budget=budget).fit(small)
    assert set(asked.experts_) | {name for name, _ in asked.plan_.left_out} == {"tfidf", "knn", "svm"}


# --- whatever there is


@pytest.mark.parametrize("pairs", ["none", "empty"])
def test_without_pairs_it_is_the_one_expert(corpus: Any, pairs: str) -> None:
    train = corpus.train.subset(range(100))
    data = train.without_pairs() if pairs == "none" else train.with_pairs(train.required_pairs * 0)
    tagger = Tagger(experts=("tfidf",)).fit(data)
    assert tagger.blend_ is None
    alone = Bm25Match().fit(data)  # of which nobody knows what it is worth: it ranks as it does by itself
    other = Tagger(experts=("bm25",)).fit(data)
    assert_identical(other.rank(corpus.test.documents, 20), alone.rank(corpus.test.documents, 20))
    assert other.calibration_ is None
    assert Tagger().plan(data).names == ["hybrid"]
    learned = tagger.learn([("fish", [tagger.labels_[0].id])])  # nobody learns from it, but it is counted
    assert learned.refit_due
    assert tagger.counts_[0] == 1


def test_with_a_dev_split(corpus: Any) -> None:
    train, dev = corpus.train.subset(range(150)), corpus.train.subset(range(150, 252))
    one = Tagger(experts=("tfidf",)).fit(train, dev)
    assert one.calibration_ is not None  # there is no blend, but there are documents to calibrate on
    elsewhere = LabelSet.of([Label("elsewhere", "Elsewhere")])
    foreign = Dataset(dev.documents, elsewhere, pairs_from_lists([[0]] * len(dev), 1))
    for useless in (foreign, dev.without_pairs(), dev.subset([])):
        tagger = Tagger(experts=SMALL).fit(train.subset(range(30)), useless)
        assert tagger.plan_.rehearsal == "folds"
        assert not hasattr(tagger, "dev_")


def test_a_large_dev_split_of_labels_that_there_are_not(corpus: Any) -> None:
    small = corpus.train.subset(range(30))
    elsewhere = LabelSet.of([Label("elsewhere", "Elsewhere")])
    dev = Dataset(Documents.of(["fish at sea"] * 400), elsewhere, pairs_from_lists([[0]] * 400, 1))
    assert Tagger(experts=SMALL).fit(small, dev).plan_.rehearsal == "folds"


@pytest.mark.parametrize("n_docs", [2, 4, 9, 12])
def test_a_handful_of_documents(n_docs: int) -> None:
    labels = LabelSet.of([Label("f", "Fish"), Label("m", "Milk"), Label("t", "Tax")])
    texts = [("boats catch herring", "cows give cream", "levies and duties")[i % 3] + f" w{i}" for i in range(n_docs)]
    data = Dataset(Documents.of(texts), labels, pairs_from_lists([[i % 3] for i in range(n_docs)], 3))
    tagger = Tagger(experts=SMALL).fit(data)
    assert tagger.rank(["herring", "cream"], 1).ids.ravel().tolist() == [0, 1]


def test_a_bag_of_words() -> None:
    rng = np.random.default_rng(0)
    lists = [[int(i) % 8] for i in range(120)]
    rows: Any = rng.random((120, 24)) * 0.2
    for i, (label,) in enumerate(lists):
        rows[i, 3 * label : 3 * label + 3] += rng.random(3)
    ids = [f"d{i}" for i in range(120)]
    documents = Documents(ids, [""] * 120, [""] * 120, csr_matrix(rows, dtype=np.float32))
    labels = LabelSet.of(Label(str(i), f"label {i}") for i in range(8))
    tagger = Tagger().fit(Dataset(documents, labels, pairs_from_lists(lists, 8)).subset(range(100)))
    assert set(tagger.experts_) == {"knn", "svm"}
    held = documents.subset(range(100, 120))
    assert np.mean(tagger.rank(held, 1).ids.ravel() == [own[0] for own in lists[100:]]) > 0.9
    tags = tagger.tag(held, 1)
    assert {item.kind for row in tags for item in row[0].evidence} == {"document"}


def test_halves_of_characters_can_be_saved(tmp_path: Any) -> None:
    labels = LabelSet.of([Label("f", "Fish"), Label("m", "Milk")])
    texts = [f"\ud800 {('herring', 'cream')[i % 2]} w{i % 3}" for i in range(12)]
    data = Dataset(
        Documents.of(texts, ["\udfff title", *[""] * 11]), labels, pairs_from_lists([[i % 2] for i in range(12)], 2)
    )
    tagger = Tagger(experts=SMALL).fit(data)
    tagger.save(tmp_path / "model")
    again = everylabel.load(tmp_path / "model")
    assert isinstance(again, Tagger)
    assert again.training_ == tagger.training_


def test_the_order_of_the_data_changes_next_to_nothing(readers: Tagger, corpus: Any) -> None:
    """With experts that do not depend on it themselves: the same documents are held out, the same labels hidden."""
    train = corpus.train
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(len(train)), rng.permutation(len(train.labels))
    pairs = train.required_pairs[rows][:, columns]
    shuffled = Dataset(train.documents.subset(rows), train.labels.subset(columns), pairs)
    other, texts = Tagger(experts=SMALL).fit(shuffled), corpus.test.documents
    same = columns[other.rank(texts, 1).ids] == readers.rank(texts, 1).ids
    assert same.mean() > 0.9


def test_learned_attributes_of_a_copy_are_its_own(fitted: Tagger, copied: Copy, corpus: Any) -> None:
    before = fitted.rank(corpus.test.documents, 5)
    copied().add_labels([Label("new", "Fish")]).learn(corpus.test.subset(range(3)))
    assert_identical(fitted.rank(corpus.test.documents, 5), before)
    assert replace(fitted) == fitted
