"""Keywords: which words a label gets, which of them fit into its text, and which labels are hard negatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.special import expit

from everylabel.data.dataset import Label, LabelSet, pairs_from_lists
from everylabel.errors import ConfigError, DataError
from everylabel.text.keywords import Descriptions, Keyword, KeywordConfig, WordSvm, hard_negatives, top_words
from everylabel.text.views import Views
from everylabel.types import Ranking

LABELS = LabelSet.of(
    [
        Label("fish", "Fishing", "The catch."),
        Label("none", "Nobody", "Not used.", alternatives=("no one", "nil")),
        Label("rail", "Railways", alternatives=("trains",)),
    ]
)
TEXTS = ["many boats and nets", "boats with a net", "trains on tracks", "a train, its track", "boats by train"]
PAIRS = pairs_from_lists([[0], [0], [2], [2], [0, 2]], 3)
SLOPE = 4  # of the linear ranker's sigmoid
SEEN = np.array([0, 2], np.int32)


def fitted(**settings: Any) -> WordSvm:
    svm = WordSvm(KeywordConfig(**settings), 0)
    svm.fit(Views.of(TEXTS), PAIRS, SEEN)
    return svm


def words(text: str) -> int:
    return len(text.split())


def made(svm: WordSvm, n: int, room: int) -> Descriptions:
    keywords = top_words(svm.weights(3)[0], n)
    return Descriptions.made(LABELS, svm.words, keywords, lambda texts: np.array([words(t) for t in texts]), room)


def test_words_in_their_base_forms_of_two_documents_at_least_and_not_of_all() -> None:
    assert fitted().words == ["boat", "net", "track", "train"]  # "many", "with" and "by" stand in one only
    assert "nets" in fitted(language="none", min_df=1, max_df=1.0).words


def test_the_weights_are_those_that_the_svm_ranks_by() -> None:
    svm = fitted()
    weights, constants = svm.weights(3)
    assert weights[1].nnz == 0
    assert constants[1] == 0
    X = svm.features(Views.of(["boats and a net", "a track"])).sparse
    margins = ((X @ weights.T).toarray() + constants)[:, SEEN]
    found = svm.ranker_.rank(svm.features(Views.of(["boats and a net", "a track"])), 2)
    assert found.ids[:, 0].tolist() == [0, 2]
    np.testing.assert_allclose(np.sort(expit(SLOPE * margins))[:, ::-1], found.scores, rtol=1e-5)


def test_keywords_are_a_label_s_own_words() -> None:
    keywords = top_words(fitted().weights(3)[0], 2)
    names = fitted().words
    found = [[names[i] for i in keywords[label].indices] for label in range(3)]
    assert [sorted(row) for row in found] == [["boat", "net"], [], ["track", "train"]]
    assert (keywords.data > 0).all()


def test_the_largest_positive_weights_best_first() -> None:
    weights = csr_matrix(np.array([[0.5, -2, 0.5, 1, 0.1], [0, 0, 0, 0, 0], [-1, 0, 0, 0, 3]], np.float32))
    top = top_words(weights, 3)
    assert [top.indices[top.indptr[i] : top.indptr[i + 1]].tolist() for i in range(3)] == [[3, 0, 2], [], [4]]
    assert top.data.tolist() == [1, 0.5, 0.5, 3]
    assert top_words(weights, 0).nnz == 0


def test_hard_negatives_are_the_first_that_are_wrong() -> None:
    found = Ranking(np.array([[2, 0, 1], [1, 2, -1], [0, 1, 2]], np.int32), np.zeros((3, 3), np.float32))
    pairs = pairs_from_lists([[0], [1, 2], []], 3)
    assert hard_negatives(found, pairs, 2).tolist() == [[2, 1], [-1, -1], [0, 1]]
    assert hard_negatives(found, pairs, 4).tolist() == [[2, 1, -1, -1], [-1] * 4, [0, 1, 2, -1]]
    assert hard_negatives(found, pairs, 0).shape == (3, 0)


@pytest.mark.parametrize(("room", "fits"), [(1, 0), (2, 1), (3, 2), (10, 2)])
def test_keywords_are_taken_as_long_as_they_fit(room: int, fits: int) -> None:
    found = made(fitted(), 2, room)
    assert found.read.tolist() == [fits, 0, fits]
    names, given = found.texts(LABELS, np.array([True, False, True]))
    assert words(names[0]) == 1 + fits
    assert names[1] == "Nobody no one nil"
    assert names[2].split()[0] == "Railways"
    assert "trains" not in names[2]  # an alternative name, and it has been used
    assert given == ["The catch.", "Not used.", ""]
    assert np.diff(found.read_keywords().indptr).tolist() == [fits, 0, fits]


def test_a_label_described() -> None:
    found = made(fitted(), 2, 2)
    fish = found.one(LABELS, 0, used=True)
    assert (fish.id, fish.name) == ("fish", "Fishing")
    assert fish.text == f"Fishing {fish.keywords[0].word} The catch."
    assert [keyword.read for keyword in fish.keywords] == [True, False]
    assert fish.keywords[0].weight > fish.keywords[1].weight > 0
    assert {type(value) for value in fish.keywords[0]} == {str, float, bool}  # JSON
    assert found.one(LABELS, 1, used=False) == ("none", "Nobody", "Nobody no one nil Not used.", [])
    assert found.without_keywords().one(LABELS, 2, used=True).text == "Railways"
    assert isinstance(fish.keywords[0], Keyword)


def test_a_tree_of_labels_instead_of_all_documents() -> None:
    n = 8
    texts = [f"word{i} again{i}" for i in range(n) for _ in range(3)]
    pairs = pairs_from_lists([[i] for i in range(n) for _ in range(3)], n)
    svm = WordSvm(KeywordConfig(leaf_size=2), 0)
    svm.fit(Views.of(texts), pairs, np.arange(n, dtype=np.int32))
    assert svm.ranker_.tree_.depth > 1
    keywords = top_words(svm.weights(n)[0], 2)
    for label in range(n):
        assert {svm.words[i] for i in keywords[label].indices} <= {f"word{label}", f"again{label}"}


def test_the_same_after_its_state() -> None:
    svm = fitted()
    again = WordSvm(svm.config, 0).restore("svm", svm.state("svm"))
    assert again.words == svm.words
    np.testing.assert_array_equal(again.weights(3)[0].toarray(), svm.weights(3)[0].toarray())


def test_no_word_left_says_what_to_do() -> None:
    with pytest.raises(DataError, match=r"keywords\.min_df"):
        fitted(min_df=6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"per_label": -1}, "per_label must not be negative"),
        ({"leaf_size": 1}, "leaf_size must be 0"),
        ({"min_df": 0}, "min_df must be at least 1"),
        ({"max_df": 0.0}, "max_df a share above 0"),
        ({"language": "klingon"}, "language must be"),
    ],
)
def test_settings_that_cannot_work(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        KeywordConfig(**settings).check()
