"""What experts say: as deep as is worth it, also of titles alone; those that share their work say it as if alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from tests.methods import conftest as methods

from everylabel.data.dataset import Dataset, Documents, Label, LabelSet
from everylabel.encoders.base import EncoderConfig
from everylabel.linear.nearest import InvertedLists
from everylabel.methods.traits import DEEP, SHALLOW
from everylabel.methods.words.lexical import TfidfMatch
from everylabel.methods.words.linear import Svm
from everylabel.methods.words.neighbours import NearestNeighbours
from everylabel.methods.words.popularity import Popularity
from everylabel.methods.xml0.fusion import Xml0
from everylabel.run import Run
from everylabel.tagger.experts import TITLES, fit_expert, new_expert, opinion, opinion_names, opinions, ranks_unseen
from everylabel.text.views import Views
from everylabel.types import Ranking

tiny_folder, cache, static = methods.tiny_folder, methods.cache, methods.static


def assert_identical(one: Ranking, other: Ranking) -> None:
    np.testing.assert_array_equal(one.ids, other.ids)
    np.testing.assert_array_equal(one.scores, other.scores)


# --- opinions


@pytest.mark.parametrize("threads", ["1", "2", "4"])
def test_each_expert_says_what_it_says_alone(corpus: Any, threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERYLABEL_THREADS", threads)
    train, documents = corpus.train.subset(range(60)), corpus.test.documents
    experts = {"tfidf": TfidfMatch().fit(train), "knn": NearestNeighbours().fit(train), "svm": Svm().fit(train)}
    found = opinions(experts, Views(documents))
    assert list(found) == opinion_names(list(experts), True) == ["tfidf", "knn", "svm", TITLES]
    for name, expert in experts.items():
        assert_identical(found[name], opinion(expert, Views(documents)))
    assert_identical(found[TITLES], opinion(experts["tfidf"], Views(Documents.of(documents.titles))))
    assert (found[TITLES].ids != found["tfidf"].ids).any()


def test_titles_have_a_say_where_there_are_words_and_who_reads_them() -> None:
    assert opinion_names(["knn", "tfidf"], True) == ["knn", "tfidf", TITLES]
    assert opinion_names(["knn", "tfidf"], False) == ["knn", "tfidf"]  # a bag of words
    assert opinion_names(["knn", "svm"], True) == ["knn", "svm"]
    assert ranks_unseen(["tfidf", "knn", TITLES, "svm", "zestxml"]) == [True, False, True, False, True]


def test_opinions_are_as_deep_as_is_worth_it_and_zeros_say_nothing() -> None:
    n_labels = DEEP + 100
    labels = LabelSet.of(Label(str(i), f"word{i} common") for i in range(n_labels))
    pairs = csr_matrix(np.ones((1, n_labels), np.float32))
    data = Dataset(Documents.of([" ".join(f"word{i}" for i in range(n_labels))]), labels, pairs)
    for method, depth in ((TfidfMatch(), DEEP), (Popularity(), SHALLOW)):
        assert opinion(method.fit(data), Views(data.documents)).k == depth
    few = Dataset(data.documents, labels.subset(range(5)), pairs[:, :5])
    found = opinion(Popularity().fit(few.with_pairs(csr_matrix([[1.0, 0, 1, 0, 0]]))), Views(data.documents))
    assert found.ids.tolist() == [[0, 2, -1, -1, -1]]
    assert np.isneginf(found.scores[0, 2:]).all()

    class Certain(Popularity):
        """One that gives labels a score of 0."""

        def _rank(self, views: Views, k: int) -> Ranking:  # noqa: ARG002
            scores = np.array([[1.0, 0.0]], np.float32)
            return Ranking(np.array([[1, 0]], np.int32), scores).top(k)

    assert opinion(Certain().fit(few), Views(data.documents)).ids.tolist() == [[1, -1, -1, -1, -1]]


def test_those_that_do_not_learn_from_pairs_do_not_see_any(corpus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, bool] = {}
    for cls in (TfidfMatch, NearestNeighbours):
        usual = cls._fit

        def watched(self: Any, dataset: Dataset, run: Run, usual: Any = usual) -> None:
            seen[self.name] = dataset.pairs is not None
            usual(self, dataset, run)

        monkeypatch.setattr(cls, "_fit", watched)
        fit_expert(cls(), corpus.train.subset(range(20)))
    assert seen == {"tfidf": False, "knn": True}


def test_settings_and_the_seed_reach_an_expert() -> None:
    expert = new_expert("knn", {"neighbours": 3}, 7)
    assert expert == NearestNeighbours(neighbours=3, random_state=7)
    assert new_expert("knn", {"random_state": 2}, 7).random_state == 2


# --- neighbours


def test_neighbours_of_the_same_documents_are_found_once_and_what_one_learns_is_its_own(
    corpus: Any, static: EncoderConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run().sharing()  # as in one fit
    knn = NearestNeighbours().fit(corpus.train, run=run)
    xml0 = Xml0(base="knn", search="greedy", label_encoder="", encoder=static).fit(corpus.train, run=run)
    documents = corpus.test.documents
    alone = xml0.rank(documents, 20), knn.rank(documents, 20)
    searches: list[int] = []
    search = InvertedLists.nearest

    def counted(self: InvertedLists, vectors: Any, k: int) -> Any:
        searches.append(vectors.shape[0])
        return search(self, vectors, k)

    monkeypatch.setattr(InvertedLists, "nearest", counted)
    views = Views(documents)
    assert_identical(knn.rank(views, 20), alone[1])
    assert_identical(xml0.rank(views, 20), alone[0])
    assert searches == [len(documents)]
    more = knn.with_documents(views, corpus.test.required_pairs, knn.labels_, knn.counts_ + corpus.test.counts)
    assert (more.rank(views, 20).ids != alone[1].ids).any()
    assert_identical(xml0.rank(views, 20), alone[0])


def test_neighbours_of_other_settings_are_their_own(corpus: Any) -> None:
    """Asked about the same views, and fitted in one run."""
    run, views = Run().sharing(), Views(corpus.test.documents)
    for settings in ({"neighbours": 3}, {"words": 10}, {}):
        method = NearestNeighbours(**settings).fit(corpus.train, run=run)  # type: ignore[arg-type]
        alone = NearestNeighbours(**settings).fit(corpus.train)  # type: ignore[arg-type]
        assert_identical(method.rank(views, 20), alone.rank(corpus.test.documents, 20))


def test_a_list_of_texts_that_was_changed_is_read_again(corpus: Any) -> None:
    knn = NearestNeighbours().fit(corpus.train)
    documents = corpus.test.documents.subset([0, 1])
    knn.rank(documents, 5)
    documents.texts[0], documents.titles[0] = documents.texts[1], documents.titles[1]
    found = knn.rank(documents, 5)
    np.testing.assert_array_equal(found.ids[0], found.ids[1])
