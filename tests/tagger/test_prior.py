"""What other corpora say of a text's labels: the columns by hand, the trees as they come with the package."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tagger.conftest import assert_identical, quality

import everylabel
from everylabel.data.dataset import Documents, Label, LabelSet
from everylabel.data.enough import TO_LEARN_TREES
from everylabel.methods.readings import MEANING, TRANSFORMER, WORDS, Reader
from everylabel.methods.words.lexical import Bm25Match, TfidfMatch
from everylabel.metrics.reliability import reliability
from everylabel.tagger import prior
from everylabel.tagger.blend import without_trees
from everylabel.tagger.candidates import LEAST_ODDS, PRIOR, found_in, log_odds, tabulated
from everylabel.tagger.experts import opinions
from everylabel.tagger.prior import FILE, Prior, Readings, column_names, columns, in_order, prior_among, prior_of
from everylabel.tagger.tagger import Tagger
from everylabel.text.views import Views
from everylabel.types import Ranking

HYBRID = (WORDS, TRANSFORMER, MEANING)
KNOWN = [HYBRID, (WORDS,)]


def ranking(*rows: dict[int, float]) -> Ranking:
    found = Ranking.empty(len(rows), max(map(len, rows)))
    for i, row in enumerate(rows):
        found.ids[i, : len(row)], found.scores[i, : len(row)] = list(row), list(row.values())
    return found


def readings(total: Ranking, shares: Any, n_labels: int = 1000, **parts: Any) -> Readings:
    """Of texts of ten words, whose titles say nothing."""
    both = np.stack([np.asarray(shares, np.float32), np.zeros(total.ids.shape, np.float32)], axis=2)
    return Readings(total, both, parts or {WORDS: total}, np.full(total.n_docs, 10), n_labels)


# --- the order and the columns


def test_pairs_are_found_in_a_ranking() -> None:
    rows, labels = np.array([0, 0, 1, 2]), np.array([1, 9, 4, 4])
    scores, ranks, known = found_in(ranking({3: 0.9, 1: 0.5}, {4: 0.25}, {}), rows, labels)
    assert known.tolist() == [True, False, True, False]
    assert (scores[known].tolist(), ranks[known].tolist()) == ([0.5, 0.25], [1, 0])
    assert not found_in(Ranking.empty(3, 2), rows, labels)[2].any()


def test_labels_stand_in_the_order_of_their_sum_and_of_their_names() -> None:
    total = ranking({3: 0.9, 1: 0.5, 2: 0.1}, {4: 0.3})
    spread = float(np.std([0.9, 0.5, 0.1])) + prior.LEAST_SPREAD
    np.testing.assert_allclose(prior.distances(total)[0], [0.4 / spread, 0, -0.4 / spread], atol=1e-5)
    shares = [[0, 1, 0], [1, 0, 0]]
    found, order = in_order(readings(total, shares), 0.1)
    assert found.ids.tolist() == [[3, 1, 2], [4, -1, -1]]
    found, order = in_order(readings(total, shares), 3.0)
    assert found.ids.tolist() == [[1, 3, 2], [4, -1, -1]]
    assert (np.diff(order[0]) < 0).all()
    assert np.isneginf(order[1, 1:]).all()


def test_who_asks_for_more_gets_the_same_first_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prior, "BEST", 3)
    scores = {label: 1 - label / 20 for label in range(10)}
    shares = [[0, 0, 1, 0, 1, 1, 0, 0, 0, 1.0]]
    few = readings(ranking(dict(list(scores.items())[:3])), [shares[0][:3]])
    many = readings(ranking(scores), shares)
    (first, order), (found, longer) = in_order(few, 2.0), in_order(many, 2.0)
    assert first.ids[0].tolist() == found.ids[0, :3].tolist() == [2, 0, 1]
    np.testing.assert_allclose(longer[0, :3], order[0])
    assert found.ids[0].tolist()[3:] == list(range(3, 10))  # as the sum has them
    assert (np.diff(longer[0]) <= 0).all()
    np.testing.assert_allclose(columns(many, longer)[:, :3], columns(few, order), rtol=1e-6)


def test_columns_by_hand() -> None:
    total = ranking({3: 0.9, 1: 0.5, 2: 0.1}, {4: 0.3})
    other = ranking({1: 0.9, 3: 0.8, 7: 0.7}, {})
    found = readings(total, [[1, 1, 0], [0, 0, 0]], words=total, meaning=other)
    _, order = in_order(found, 0.0)
    names = column_names(("words", "meaning"))
    table = dict(zip(names, columns(found, order).transpose(2, 0, 1), strict=True))
    np.testing.assert_allclose(table["order"][0], order[0], rtol=1e-6)
    np.testing.assert_allclose(table["behind the best"][0], order[0] - order[0, 0], rtol=1e-6)
    np.testing.assert_allclose(table["rank"][1], -np.log1p([0, 1, 2]), rtol=1e-6)
    np.testing.assert_allclose(table["names in the text"][:, 0], np.log1p([2, 0]), rtol=1e-6)
    np.testing.assert_allclose(table["words"][:, 0], np.log1p([10, 10]), rtol=1e-6)
    np.testing.assert_allclose(table["labels"][:, 0], np.log([1000, 1000]), rtol=1e-6)
    assert table["words and meaning"][:, 0].tolist() == [2, 0]
    np.testing.assert_allclose(table["meaning: best"][:, 0], [0.9, 0], rtol=1e-6)
    assert np.isfinite(columns(found, order)).all()


# --- what comes with the package


def test_the_file_is_small_and_says_where_it_is_from() -> None:
    text = files("everylabel.tagger").joinpath(FILE).read_text(encoding="utf-8")
    about = json.loads(text)["about"]
    assert about["made by"].startswith("python -m benchmarks.run.prior")
    assert len(about["dev documents of"]) >= 6
    assert len(text) < 64_000


@pytest.mark.parametrize("parts", KNOWN)
def test_a_better_place_never_makes_a_label_worse(parts: tuple[str, ...]) -> None:
    known, rng = Prior.of(parts), np.random.default_rng(0)
    assert known is not None
    rows = rng.normal(0, 2, (200, len(column_names(parts)))).astype(np.float32)
    for column in range(len(prior.LABEL_COLUMNS)):
        more = rows.copy()
        more[:, column] += 1
        assert (known.trees.sums(more) >= known.trees.sums(rows) - 1e-9).all()


@pytest.mark.parametrize("parts", KNOWN)
def test_probabilities_keep_the_order(parts: tuple[str, ...]) -> None:
    known, rng = Prior.of(parts), np.random.default_rng(1)
    assert known is not None
    scores = -np.sort(-rng.random((20, 30)), axis=1).astype(np.float32)
    total = Ranking(np.argsort(rng.random((20, 30)), axis=1).astype(np.int32), scores)
    found = readings(total, rng.random((20, 30)), 1000, **dict.fromkeys(parts, total))
    ranked, (ordered, _) = known.ranking(found), in_order(found, known.share_weight)
    assert (np.diff(ranked.scores, axis=1) <= 0).all()
    same = np.diff(ranked.scores, axis=1) < 0  # equal ones stand in the order of their ids
    assert (ranked.ids[:, 0] == ordered.ids[:, 0])[same[:, 0]].all()
    assert ((ranked.scores > 0) & (ranked.scores < 1)).all()


def test_what_nobody_has_learned_is_not_known() -> None:
    assert Prior.of((WORDS, "tea leaves")) is None
    assert isinstance(TfidfMatch(), Reader)
    assert prior_of(Bm25Match()) is None  # its scores are others


def test_probabilities_are_inside_and_do_not_depend_on_the_other_texts() -> None:
    labels = LabelSet.of(Label(str(i), name) for i, name in enumerate(("wind power", "tidal power", "taxes on fish")))
    method = TfidfMatch().fit(everylabel.Dataset(Documents.of([]), labels))
    known = prior_of(method)
    assert known is not None
    texts = ["wind power and fish", "taxes", "", "nothing of it"]
    found = known.rank(method, Views.of(texts), 3)
    assert found.ids[:, 0].tolist() == [0, 2, -1, -1]
    there = found.ids >= 0
    assert ((found.scores[there] > 0) & (found.scores[there] < 1)).all()
    alone = [known.rank(method, Views.of([text]), 3) for text in texts]
    assert_identical(found, Ranking.joined(alone))


# --- the tagger


@pytest.fixture(scope="module")
def without_pairs(corpus: Any) -> Tagger:
    return Tagger(experts=("tfidf",)).fit(corpus.train.without_pairs())


def test_without_pairs_scores_are_probabilities(without_pairs: Tagger, corpus: Any) -> None:
    """The sample is none of the corpora that the prior was learned from."""
    test = corpus.test
    found, words = without_pairs.rank(test.documents, 10), without_pairs.experts_["tfidf"].rank(test.documents, 10)
    assert without_pairs.calibration_ is not None
    assert reliability(found, test.required_pairs).ece < 0.15
    assert quality(found, test) == pytest.approx(quality(words, test), abs=0.02)


@pytest.mark.slow
def test_without_pairs_hybrids_scores_are_nearer_to_probabilities(corpus: Any) -> None:
    pytest.importorskip("torch")
    tagger, test = Tagger().fit(corpus.train.without_pairs()), corpus.test
    found, summed = (one.rank(test.documents, 10) for one in (tagger, tagger.experts_["hybrid"]))
    ours, before = (reliability(ranking, test.required_pairs).ece for ranking in (found, summed))
    assert ours < 0.6 * before
    assert quality(found, test) > quality(summed, test) - 0.02


def test_without_pairs_saved_and_loaded(without_pairs: Tagger, corpus: Any, tmp_path: Path) -> None:
    without_pairs.save(tmp_path / "model")
    loaded: Any = everylabel.load(tmp_path / "model")
    assert loaded.prior_.parts == (WORDS,)
    assert_identical(loaded.rank(corpus.test.documents, 20), without_pairs.rank(corpus.test.documents, 20))


def test_without_pairs_labels_come_and_go(without_pairs: Tagger, tmp_path: Path) -> None:
    without_pairs.save(tmp_path / "model")
    tagger: Any = everylabel.load(tmp_path / "model")
    tagger.add_labels([Label("steamers", "Paddle steamers")])
    (tag,) = tagger.tag(["The paddle steamers of the estuary"], 1)[0]
    assert tag.id == "steamers"
    assert 0 < tag.probability < 1
    tagger.remove_labels(["steamers"])
    assert "steamers" not in {tag.id for tag in tagger.tag(["The paddle steamers of the estuary"], 5)[0]}


def test_documents_of_the_users_own_count_more(corpus: Any) -> None:
    train, dev = corpus.train.without_pairs(), corpus.train.subset(range(60))
    own = Tagger(experts=("tfidf",)).fit(train, dev)
    assert own.calibration_ is not None
    assert len(own.calibration_.scores) > 2  # learned from dev


# --- few pairs


class Parts(TfidfMatch):
    """Words three times over: as many parts as `hybrid` has."""

    parts = HYBRID

    def readings(self, views: Views, k: int) -> dict[str, Ranking]:
        return dict.fromkeys(HYBRID, self.matcher_.rank(views, k))

    def summed(self, readings: dict[str, Ranking], views: Views, k: int) -> Ranking:  # noqa: ARG002
        return readings[WORDS].top(k)


def test_the_prior_is_an_opinion_of_a_method_with_several_parts(corpus: Any) -> None:
    expert, known = Parts().fit(corpus.train.without_pairs()), Prior.of(HYBRID)
    views = Views(corpus.test.documents.subset(range(9)))
    found = opinions({"tfidf": expert}, views, known)
    assert list(found)[-1] == PRIOR
    assert PRIOR not in opinions({"tfidf": TfidfMatch().fit(corpus.train)}, views, known)
    n_labels = len(corpus.train.labels)
    counts = np.zeros(n_labels, np.int64)
    rows = tabulated(found, [True] * len(found), counts, counts + 1)
    expected = log_odds(found[PRIOR], rows.documents, rows.labels)
    np.testing.assert_array_equal(rows.shared(PRIOR), expected)
    assert (expected > LEAST_ODDS).any()
    del found[PRIOR]
    assert np.isnan(tabulated(found, [True] * len(found), counts, counts + 1).shared(PRIOR)).all()


def test_where_there_is_too_little_to_learn_from_the_prior_decides() -> None:
    experts = {"tfidf": ranking({0: 0.9, 1: 0.8, 2: 0.1}), "knn": ranking({0: 0.9, 1: 0.8, 2: 0.1})}
    counts = np.array([5, 5, 5])
    by_ranks = without_trees(tabulated(experts, [True, False], counts, counts))
    assert by_ranks.argmax() == 0
    found = experts | {PRIOR: ranking({1: 0.9, 0: 0.1})}
    margins = without_trees(tabulated(found, [True, False, True], counts, counts))
    assert margins.argmax() == 1
    assert margins.argmin() == 2


@pytest.mark.parametrize(("n_held", "known"), [(0, True), (TO_LEARN_TREES - 1, True), (TO_LEARN_TREES, False)])
def test_a_blend_that_cannot_be_learned_has_a_prior(corpus: Any, n_held: int, known: bool) -> None:
    expert = Parts().fit(corpus.train.without_pairs())
    assert (prior_among([TfidfMatch(), expert], n_held) is not None) == known


def test_a_label_that_is_used_is_more_probable_than_one_that_is_not() -> None:
    found = {"tfidf": ranking({0: 0.9, 1: 0.8}), PRIOR: ranking({0: 0.5, 1: 0.5})}
    margins = without_trees(tabulated(found, [True, True], np.array([0, 3]), np.array([1, 1])))
    assert margins.argmax() == 1
