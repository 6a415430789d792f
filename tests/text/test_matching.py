"""Words of labels in documents: what counts and how much, by hand and against scikit-learn."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer

from everylabel.data.dataset import Documents, Label, LabelSet
from everylabel.errors import ConfigError, DataError
from everylabel.linear.nearest import InvertedLists
from everylabel.text.matching import LabelMatcher, MatchConfig, label_texts
from everylabel.text.views import Views

PLAIN = MatchConfig(language="none", ngrams=1, title_weight=0)
NOTHING = Views.of([])


def named(*names: str) -> LabelSet:
    return LabelSet.of(Label(str(i), name) for i, name in enumerate(names))


def views_of(texts: list[str], titles: list[str] | None = None) -> Views:
    return Views(Documents.of(texts, titles))


def scores_of(matcher: LabelMatcher, documents: Views, n_labels: int) -> Any:
    """Dense: 0 where a label is not ranked."""
    found = matcher.rank(documents, n_labels)
    scores = np.zeros((len(documents), n_labels))
    for row, ids in enumerate(found.ids):
        scores[row, ids[ids >= 0]] = found.scores[row][ids >= 0]
    return scores


def test_label_texts_and_their_owners() -> None:
    labels = [Label("a", "x", "about x", ("y", "z")), Label("b", "u"), Label("c", "v", "about v")]
    texts, owners = label_texts(LabelSet.of(labels))
    assert texts == ["x", "y", "z", "about x", "u", "v", "about v"]
    assert owners.tolist() == [0, 0, 0, 0, 1, 2, 2]


def test_base_forms_meet_and_stop_words_do_not_count() -> None:
    labels = named("Fisheries of the sea", "The tax of them")
    documents = views_of(["a fishery", "the of them", "taxes"])
    ids = LabelMatcher(MatchConfig()).fit(documents, labels).rank(documents, 2).ids
    assert ids.tolist() == [[0, -1], [-1, -1], [1, -1]]
    as_they_are = LabelMatcher(MatchConfig(language="none")).fit(documents, labels).rank(documents, 2).ids
    assert as_they_are.tolist() == [[-1, -1], [1, 0], [-1, -1]]


def test_pairs_of_words_count() -> None:
    labels = named("trade law", "law trade")
    documents = views_of(["trade law"])
    matcher = LabelMatcher(MatchConfig(ngrams=2)).fit(documents, labels)
    scores = scores_of(matcher, documents, 2)[0]
    assert scores[0] == pytest.approx(1)
    assert 0 < scores[1] < 1
    alone = LabelMatcher(PLAIN).fit(documents, labels)
    assert scores_of(alone, documents, 2)[0] == pytest.approx([1, 1])


def test_the_title_counts_with_its_weight() -> None:
    """By hand: two words of equal idf, the title (1, 0), title and text (1, 1) / sqrt 2."""
    labels = named("fish", "tax")
    documents = views_of(["tax"], titles=["fish"])
    for weight in (0.0, 0.25, 2.0):
        config = MatchConfig(language="none", title_weight=weight)
        scores = scores_of(LabelMatcher(config).fit(documents, labels), documents, 2)[0]
        half = np.sqrt(0.5)
        assert scores == pytest.approx([(half + weight) / (1 + weight), half / (1 + weight)])


@pytest.mark.parametrize("bm25", [None, (3.0, 0.75)])
def test_documents_without_a_title_beside_some_with_one(bm25: tuple[float, float] | None) -> None:
    labels = named("fish", "tax")
    documents = views_of(["tax tax fish", "tax tax fish"], titles=["", "fish"])
    matcher = LabelMatcher(MatchConfig(title_weight=5.0), bm25=bm25).fit(documents, labels)
    assert matcher.rank(documents, 1).ids.ravel().tolist() == [1, 0]


@pytest.mark.parametrize("bm25", [None, (3.0, 0.75)])
def test_the_best_of_a_labels_names_counts(bm25: tuple[float, float] | None) -> None:
    """Not their sum, and not all of them as one text."""
    one = LabelSet.of([Label("a", "sea law"), Label("b", "wine tax milk")])
    several = LabelSet.of([Label("a", "sea law", "ships of law", ("wine", "sea")), Label("b", "wine tax milk")])
    documents = views_of(["sea law wine wine", "ships wine", "law"])
    alone = scores_of(LabelMatcher(PLAIN, bm25).fit(documents, one), documents, 2)
    matcher = LabelMatcher(PLAIN, bm25).fit(documents, several)
    parts = ["sea law", "ships of law", "wine", "sea", "wine tax milk"]
    apart = LabelMatcher(PLAIN, bm25).fit(documents, named(*parts))
    expected = scores_of(apart, documents, 5)[:, :4].max(axis=1)
    assert scores_of(matcher, documents, 2)[:, 0] == pytest.approx(expected, abs=1e-6)
    assert scores_of(matcher, documents, 2)[1, 0] > alone[1, 0]


def test_bm25_saturates() -> None:
    """Equal idf, b = 0: count / (count + k1), so that 1,000 times a word are no more than 1 + k1 times one."""
    labels = named("fish", "law")
    counts = [1, 2, 8, 1000]
    documents = views_of([" ".join(["fish"] * count + ["law"]) for count in counts])
    matcher = LabelMatcher(PLAIN, bm25=(3.0, 0.0)).fit(documents, labels)
    scores = scores_of(matcher, documents, 2)
    expected = [count / (count + 3) / (1 / 4) for count in counts]
    assert scores[:, 0] / scores[:, 1] == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose((scores**2).sum(axis=1), 1, rtol=1e-5)
    tfidf = scores_of(LabelMatcher(PLAIN).fit(documents, labels), documents, 2)
    assert tfidf[3, 0] / tfidf[3, 1] == pytest.approx(1 + np.log(1000), rel=1e-5)


def test_bm25_saturates_later_in_longer_documents() -> None:
    labels = named("fish", "law")
    documents = views_of(["fish fish law", "fish fish law " + "other " * 40])
    ratios = {}
    for b in (0.0, 1.0):
        scores = scores_of(LabelMatcher(PLAIN, bm25=(3.0, b)).fit(documents, labels), documents, 2)
        ratios[b] = scores[:, 0] / scores[:, 1]
    assert ratios[0.0][0] == pytest.approx(ratios[0.0][1])
    assert ratios[1.0][0] < ratios[0.0][0] < ratios[1.0][1]


def test_bm25_adds_the_titles_counts_before_they_saturate() -> None:
    labels = named("fish", "law")
    documents = views_of(["law"], titles=["fish"])
    config = MatchConfig(language="none", ngrams=1, title_weight=4.0)
    scores = scores_of(LabelMatcher(config, bm25=(3.0, 0.0)).fit(documents, labels), documents, 2)[0]
    assert scores[0] / scores[1] == pytest.approx((5 / 8) / (1 / 4))


def test_rare_is_what_is_rare_in_the_documents_or_in_the_labels_when_there_are_none() -> None:
    labels = named("trade law", "trade tax", "trade")
    alone = LabelMatcher(PLAIN).fit(NOTHING, labels)
    assert alone.words_.names_ == ["law", "tax", "trade"]
    np.testing.assert_allclose(alone.words_.idf_, np.log(4 / np.array([2, 2, 4])) + 1)
    documents = views_of(["law law", "law trade", "law", "wine"])
    both = LabelMatcher(PLAIN).fit(documents, labels)
    np.testing.assert_allclose(both.words_.idf_, np.log(5 / np.array([4, 1, 2])) + 1)
    text = views_of(["trade law"])
    assert scores_of(alone, text, 3)[0] == pytest.approx([1, 1 / (1 + alone.words_.idf_[0] ** 2), alone_trade(alone)])


def alone_trade(matcher: LabelMatcher) -> float:
    """The cosine of (law, trade) with trade, where trade's idf is 1."""
    return float(1 / np.sqrt(1 + matcher.words_.idf_[0] ** 2))


def random_texts(n: int, longest: int, rng: random.Random) -> list[str]:
    words = [f"w{i}" for i in range(40)]
    weights = [1 / (i + 1) for i in range(40)]
    return [" ".join(rng.choices(words, weights, k=rng.randint(1, longest))) for _ in range(n)]


@pytest.mark.parametrize("ngrams", [1, 2])
def test_against_scikit_learn(ngrams: int) -> None:
    rng = random.Random(ngrams)
    texts = random_texts(120, 30, rng)
    names, descriptions = random_texts(50, 3, rng), random_texts(25, 6, rng) + [""] * 25
    labels = LabelSet.of(
        Label(str(i), names[i], descriptions[i], tuple(random_texts(i % 3, 2, rng))) for i in range(50)
    )
    documents = views_of(texts)
    matcher = LabelMatcher(MatchConfig(language="none", ngrams=ngrams, title_weight=0)).fit(documents, labels)
    own, owners = label_texts(labels)
    known = TfidfVectorizer(ngram_range=(1, ngrams)).fit(own).vocabulary_
    slow = TfidfVectorizer(ngram_range=(1, ngrams), vocabulary=known, sublinear_tf=True).fit(texts)
    cosines = (slow.transform(texts) @ slow.transform(own).T).toarray()
    expected = np.stack([cosines[:, owners == label].max(axis=1) for label in range(50)], axis=1)
    found = scores_of(matcher, documents, 50)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert (expected > 0).sum() > 500


# --- labels that come after the fit


@pytest.mark.parametrize("bm25", [None, (3.0, 0.75)])
@pytest.mark.parametrize("title_weight", [0.0, 2.0])
def test_added_labels_stand_in_one_ranking_with_the_others(
    bm25: tuple[float, float] | None, title_weight: float
) -> None:
    """By hand: a document's vector is made of the words of the fit and of those that only added labels have, which
    count as the rarest word does; so it is that of one vocabulary with these idf."""
    config = MatchConfig(language="none", ngrams=1, title_weight=title_weight)
    first, later = ["sea law", "wine tax"], ["wine cellar", "sea", "cellar door"]
    documents = views_of(["sea law wine", "the cellar of the wine wine", "a door", "tax"], ["", "wine", "cellar", ""])
    fitted = LabelMatcher(config, bm25).fit(documents, named(*first))
    wider = fitted.with_labels(named(*first, *later), 2)
    names = ["cellar", "door", "law", "sea", "tax", "wine"]
    idf = dict(zip(fitted.words_.names_, fitted.words_.idf_, strict=True))
    largest = max(idf.values())
    both = LabelMatcher(config, bm25)
    vocabulary = both._vocabulary().fit([*first, *later])
    assert vocabulary.names_ == names
    both.words_ = vocabulary.weighed_by(np.array([idf.get(name, largest) for name in names]))
    both.mean_length_ = fitted.mean_length_
    texts, owners = label_texts(named(*first, *later))
    both.lists_ = InvertedLists.of(both.words_.transform(texts), owners)
    np.testing.assert_allclose(scores_of(wider, documents, 5), scores_of(both, documents, 5), atol=1e-6)
    assert wider.rank(views_of(["cellar"]), 5).ids[0, :2].tolist() == [2, 4]
    alone = wider.rank_added(documents, 5)
    assert set(np.unique(alone.ids).tolist()) == {-1, 2, 3, 4}
    assert scores_of(wider, documents, 5)[0, 3] == pytest.approx(float(alone.scores[0][alone.ids[0] == 3][0]))


def test_a_matcher_with_more_labels_is_another_one() -> None:
    """The old one ranks as before; nothing of it is copied, and one label at a time is as good as all at once."""
    documents = views_of(["sea law wine", "wine cellar", "penguins"])
    names = ["sea law", "wine tax", "wine cellar", "penguin colony"]
    fitted = LabelMatcher(MatchConfig()).fit(documents, named(*names[:2]))
    before = scores_of(fitted, documents, 2)
    once = fitted.with_labels(named(*names[:3]), 2)
    twice, both = once.with_labels(named(*names), 2), fitted.with_labels(named(*names), 2)
    np.testing.assert_array_equal(scores_of(twice, documents, 4), scores_of(both, documents, 4))
    np.testing.assert_array_equal(scores_of(fitted, documents, 2), before)
    assert twice.lists_ is once.lists_ is fitted.lists_
    assert twice.words_ is fitted.words_
    assert scores_of(twice, documents, 4)[2, 3] > 0
    again = LabelMatcher(MatchConfig()).restore("m", twice.state("m"))
    np.testing.assert_array_equal(scores_of(again, documents, 4), scores_of(twice, documents, 4))


def test_a_word_that_only_an_added_label_has_is_as_rare_as_the_rarest() -> None:
    documents = views_of(["sea law", "sea", "sea tax"])
    fitted = LabelMatcher(PLAIN).fit(documents, named("sea law"))
    wider = fitted.with_labels(named("sea law", "penguin tax"), 1)
    assert [fitted.rarity(word) for word in ("law", "penguin")] == [1, 0]
    assert 0 < fitted.rarity("sea") == wider.rarity("sea") < 1
    assert [wider.rarity(word) for word in ("law", "penguin", "tax", "nothing")] == [1, 1, 1, 0]


def test_labels_without_a_word_are_never_found() -> None:
    documents = views_of(["a text about all"])
    matcher = LabelMatcher(MatchConfig()).fit(documents, named("the", "a", "!"))
    assert matcher.words_.names_ == []
    assert matcher.rank(documents, 3).ids.tolist() == [[-1, -1, -1]]
    again = LabelMatcher(MatchConfig()).restore("m", matcher.state("m"))
    assert again.rank(documents, 3).ids.tolist() == [[-1, -1, -1]]


def test_bags_of_words_are_refused() -> None:
    bag = Views(Documents(["0"], [""], [""], csr_matrix([[1.0]])))
    with pytest.raises(DataError, match="can only be compared with texts"):
        LabelMatcher(PLAIN).fit(bag, named("fish"))
    with pytest.raises(DataError, match="can only be compared with texts"):
        LabelMatcher(PLAIN).fit(NOTHING, named("fish")).rank(bag, 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"ngrams": 0}, "match.ngrams must be from 1 to 32; got 0"), ({"title_weight": -1.0}, "must not be negative")],
)
def test_settings_that_cannot_work(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        MatchConfig(**settings).check()


# --- how much of a label's name a document has


def shares_of(matcher: LabelMatcher, documents: Views, *pairs: tuple[int, int]) -> list[list[float]]:
    rows, labels = np.array(pairs, np.int64).T
    return [list(map(float, row)) for row in np.round(matcher.shares(documents, rows, labels), 4)]


def test_shares_of_names_in_text_and_title() -> None:
    labels = LabelSet.of([Label("a", "wind power", "", ("mills",)), Label("b", "tidal power"), Label("c", "taxes")])
    documents = views_of(["plants of power by the wind", "power", "a mill"], ["wind", "", "Taxes"])
    matcher = LabelMatcher(MatchConfig(ngrams=1)).fit(documents, labels)
    found = shares_of(matcher, documents, (0, 0), (0, 1), (0, 2), (1, 0), (2, 0), (2, 2))
    wind, both, none = found[0], found[1], found[2]
    assert wind[0] == 1
    assert 0 < wind[1] < 1  # of the title
    assert 0 < both[0] < 0.5  # the other word is the rarer one
    assert none == [0, 0]
    assert found[3][1] == 0  # it has no title
    assert found[4] == [1, 0]  # one of its names is enough
    assert found[5] == [1, 1]  # the title is a part of the text
    pairs = LabelMatcher(MatchConfig(ngrams=2)).fit(documents, labels)
    assert shares_of(pairs, documents, (0, 0))[0][0] < 1  # not the words side by side


def test_shares_of_added_labels() -> None:
    documents = views_of(["wind power and lidar", "lidar"])
    matcher = LabelMatcher(MatchConfig(ngrams=1)).fit(documents, named("wind power", "taxes"))
    wider = matcher.with_labels(named("wind power", "taxes", "lidar", "wind lidar", "radar"), 2)
    found = shares_of(wider, documents, (0, 0), (0, 2), (0, 3), (0, 4), (1, 0), (1, 2), (1, 3))
    full = [row[0] for row in found]
    assert [full[i] for i in (0, 1, 2, 3, 4, 5)] == [1, 1, 1, 0, 0, 1]
    assert 0 < full[6] < 1
    assert shares_of(matcher, documents, (0, 0)) == found[:1]


# --- other languages


@pytest.mark.parametrize(
    ("language", "text", "label"),
    [
        ("de", "Eine Windkraftanlage an der See", "Windkraft"),
        ("de", "Große Straßen", "STRASSE"),
        ("fi", "Ympäristökasvatuksesta puhutaan", "ympäristö"),
        ("sv", "Skolbibliotekets böcker", "bibliotek"),
        ("nl", "De waterleidingen van de stad", "waterleiding"),
        ("none", "\u6211\u7684\u732b\u5f88\u53ef\u7231", "\u732b"),
        ("none", "\u30cd\u30b3\u304c\u597d\u304d", "\u30cd\u30b3"),
        ("none", "\u0e09\u0e31\u0e19\u0e0a\u0e2d\u0e1a\u0e41\u0e21\u0e27\u0e21\u0e32\u0e01", "\u0e41\u0e21\u0e27"),
        ("none", "well done \U0001f44d\U0001f3fd", "\U0001f44d"),
        ("none", "\u0627\u0644\u0643\u0650\u062a\u064e\u0627\u0628", "\u0627\u0644\u0643\u062a\u0627\u0628"),
        ("any", "kitabevlerinde", "kitabevi"),
    ],
)
def test_a_label_is_found_in_any_language(language: str, text: str, label: str) -> None:
    """And nothing else: the order of ids says nothing."""
    documents = views_of([text])
    matcher = LabelMatcher(MatchConfig(language=language)).fit(documents, named("fisk", label, "xyzzy"))
    assert matcher.rank(documents, 3).ids.tolist() == [[1, -1, -1]]


def test_names_in_one_language_and_alternatives_in_others() -> None:
    labels = LabelSet.of([Label("a", "hankkeet", alternatives=("skatter", "fisheries")), Label("b", "muu")])
    documents = views_of(["hankkeella", "skatten", "a fishery"])
    matcher = LabelMatcher(MatchConfig(language="fi+sv+en")).fit(documents, labels)
    assert matcher.rank(documents, 1).ids.tolist() == [[0], [0], [0]]


def test_a_matcher_with_pieces_is_restored_and_grows() -> None:
    documents = views_of(["Windkraftanlage", "Kernkraftwerk"])
    fitted = LabelMatcher(MatchConfig(language="de")).fit(documents, named("Windkraft"))
    again = LabelMatcher(MatchConfig(language="de")).restore("m", fitted.state("m"))
    np.testing.assert_array_equal(scores_of(again, documents, 1), scores_of(fitted, documents, 1))
    wider = again.with_labels(named("Windkraft", "Kernkraft"), 1)
    assert wider.rank(documents, 1).ids.tolist() == [[0], [1]]
