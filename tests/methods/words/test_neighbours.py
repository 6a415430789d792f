"""knn by hand: similarities, votes, and what is not found."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.errors import ConfigError
from everylabel.methods.words.neighbours import NearestNeighbours
from everylabel.text.views import Views
from everylabel.types import Csr


def bag(rows: list[list[float]]) -> Documents:
    n = len(rows)
    return Documents([str(i) for i in range(n)], [""] * n, [""] * n, csr_matrix(rows, dtype=np.float32))


def data(rows: list[list[float]], labels: list[list[int]], n_labels: int = 4) -> Dataset:
    names = LabelSet.of(Label(str(i), f"label {i}") for i in range(n_labels))
    return Dataset(bag(rows), names, pairs_from_lists(labels, n_labels))


def learned(method: NearestNeighbours, documents: Documents, pairs: Csr) -> NearestNeighbours:
    """The next model; the vocabulary stays."""
    counts = method.counts_ + np.bincount(pairs.indices, minlength=len(method.labels_))
    return method.with_documents(Views(documents), pairs, method.labels_, counts)


# cosines with (1, 0, 0): 1, 0.6, 0.8, 0
ROWS = [[2.0, 0, 0], [3.0, 4, 0], [4.0, 0, 3], [0, 5.0, 0]]
LABELS = [[0], [1, 2], [1], [3]]


@pytest.mark.parametrize(
    ("neighbours", "power", "votes"),
    [
        (1, 2.0, {0: 1.0}),
        (2, 1.0, {0: 1 / 1.8, 1: 0.8 / 1.8}),
        (3, 1.0, {1: 1.4 / 2.4, 0: 1 / 2.4, 2: 0.6 / 2.4}),
        (3, 2.0, {0: 1 / 2, 1: 1 / 2, 2: 0.36 / 2}),
        (3, 0.0, {1: 2 / 3, 0: 1 / 3, 2: 1 / 3}),
        (100, 3.0, {0: 1 / 1.728, 1: 0.728 / 1.728, 2: 0.216 / 1.728}),  # the last document shares no word
    ],
)
def test_votes(neighbours: int, power: float, votes: dict[int, float]) -> None:
    method = NearestNeighbours(neighbours=neighbours, power=power).fit(data(ROWS, LABELS))
    ids, scores = method.rank(bag([[7.0, 0, 0]]), 4)
    found = {int(label): float(score) for label, score in zip(ids[0], scores[0], strict=True) if label >= 0}
    assert found == pytest.approx(votes, abs=1e-6)


def test_equal_votes_in_the_order_of_the_labels() -> None:
    method = NearestNeighbours(neighbours=3, power=0.0).fit(data(ROWS, [[2, 3], [2, 0], [1]] + [[]]))
    assert method.rank(bag([[1.0, 0, 0]]), 4).ids.tolist() == [[2, 0, 1, 3]]


def test_a_document_that_shares_no_word_with_any_gets_nothing() -> None:
    method = NearestNeighbours().fit(data([[1.0, 0, 0], [0, 1.0, 0]], [[0], [1]]))
    ids, scores = method.rank(bag([[0, 0, 1.0], [0, 0, 0]]), 2)
    assert ids.tolist() == [[-1, -1], [-1, -1]]
    assert np.all(np.isneginf(scores))


def test_neighbours_without_labels_take_their_share() -> None:
    method = NearestNeighbours(neighbours=2, power=1.0).fit(data([[1.0, 0], [1.0, 0]], [[], [3]]))
    ids, scores = method.rank(bag([[1.0, 0]]), 2)
    assert ids.tolist() == [[3, -1]]
    assert scores[0, 0] == pytest.approx(0.5)


def test_many_neighbours_that_agree_are_certain_and_no_more() -> None:
    rng = np.random.default_rng(0)
    rows: Any = rng.random((200, 8)) + 0.1
    method = NearestNeighbours(neighbours=150).fit(data(rows.tolist(), [[1]] * 200))
    scores = method.rank(bag((rng.random((100, 8)) + 0.1).tolist()), 1).scores
    assert np.all(scores <= 1)
    np.testing.assert_allclose(scores, 1, rtol=1e-5)


@pytest.mark.parametrize("settings", [{"neighbours": 0}, {"power": -1.0}, {"words": -1}])
def test_settings_that_cannot_work(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="neighbours must be at least 1, power and words not negative"):
        NearestNeighbours(**settings).fit(data(ROWS, LABELS))


def test_only_the_heaviest_words_look_for_neighbours() -> None:
    rows = [[9.0, 0, 0], [0, 9.0, 0], [0, 0, 9.0]]
    document = bag([[1.0, 3.0, 2.0]])
    found = {n: NearestNeighbours(words=n).fit(data(rows, [[0], [1], [2]])).rank(document, 3).ids for n in (0, 1, 2, 3)}
    assert found[0].tolist() == found[3].tolist() == [[1, 2, 0]]
    assert found[2].tolist() == [[1, 2, -1]]
    assert found[1].tolist() == [[1, -1, -1]]


def test_what_is_learned_later_is_as_good_as_what_was_there_before() -> None:
    """But for how rare words are, which a bag of words does not ask."""
    rng = np.random.default_rng(0)
    rows: Any = rng.random((60, 12)) * (rng.random((60, 12)) < 0.4)
    rows[0] = 0.1  # all columns are there from the beginning
    labels = [rng.choice(4, rng.integers(0, 3), replace=False).tolist() for _ in range(60)]
    whole = NearestNeighbours().fit(data(rows.tolist(), labels))
    first = data(rows[:30].tolist(), labels[:30])
    fitted, before = NearestNeighbours().fit(first), first.required_pairs.copy()
    queries = bag(rng.random((20, 12)).tolist())
    as_fitted = fitted.rank(queries, 4)
    method = learned(fitted, bag(rows[30:45].tolist()), pairs_from_lists(labels[30:45], 4))
    method = learned(method, bag(rows[45:].tolist()), pairs_from_lists(labels[45:], 4))
    one, other = method.rank(queries, 4), whole.rank(queries, 4)
    np.testing.assert_array_equal(one.ids, other.ids)
    np.testing.assert_allclose(one.scores, other.scores, rtol=1e-4)
    np.testing.assert_array_equal(method.nearest(Views(queries)).ids, whole.nearest(Views(queries)).ids)
    np.testing.assert_array_equal(fitted.rank(queries, 4).scores, as_fitted.scores)  # it has learned nothing
    assert (first.required_pairs != before).nnz == 0  # the data stay as they were
    again = NearestNeighbours().restore(method.labels_, method.state())
    np.testing.assert_array_equal(again.rank(queries, 4).scores, one.scores)


def test_a_label_without_documents_is_found_once_it_has_one() -> None:
    names = LabelSet.of(Label(str(i), f"label {i}") for i in range(3))
    texts = ["boats at sea", "ships at sea", "milk and butter", "cheese and milk"]
    method = NearestNeighbours().fit(Dataset(Documents.of(texts), names, pairs_from_lists([[0], [0], [1], [1]], 3)))
    assert 2 not in method.rank(["butter and cheese"], 3).ids
    method = learned(method, Documents.of(["butter, cheese"]), pairs_from_lists([[2]], 3))
    found = method.rank(["butter, cheese"], 3)
    assert found.ids[0, 0] == 2
    near = method.nearest(Views.of(["butter, cheese"]))
    assert near.ids[0, 0] == 4  # after the four of the fit
    assert near.scores[0, 0] == pytest.approx(1)


def test_words_of_what_is_learned_later_are_known_as_after_a_fit() -> None:
    """A model of few documents knows few words; those that come later would find no neighbour otherwise."""
    names = LabelSet.of(Label(str(i), f"label {i}") for i in range(3))
    old, new = ([f"{word}{i} {word}{i % 7} common{i % 3} shared" for i in range(20)] for word in ("sea", "rail"))
    titles = [f"title{i % 5}" for i in range(40)]
    texts, lists = [*old, *new], [[i % 2] for i in range(20)] + [[2]] * 20
    documents = Documents.of(texts, titles)
    whole = NearestNeighbours().fit(Dataset(documents, names, pairs_from_lists(lists, 3)))
    first = Dataset(documents.subset(range(20)), names, pairs_from_lists(lists[:20], 3))
    method = NearestNeighbours().fit(first)
    queries = [f"rail{i} rail{i % 7} sea1" for i in range(6)]
    assert 2 not in method.rank(queries, 3).ids
    for part in (range(20, 30), range(30, 40)):
        method = learned(method, documents.subset(part), pairs_from_lists([[2]] * 10, 3))
    assert sorted(method.features_.names) == sorted(whole.features_.names)
    one, other = method.rank(queries, 3), whole.rank(queries, 3)
    np.testing.assert_array_equal(one.ids, other.ids)
    np.testing.assert_allclose(one.scores, other.scores, rtol=1e-3)
    again = NearestNeighbours().restore(method.labels_, method.state())
    again.check_contents()
    np.testing.assert_array_equal(again.rank(queries, 3).scores, one.scores)


def test_a_word_of_every_text_is_not_a_new_one() -> None:
    """It was left out of the fit for that; and of one text nobody can tell."""
    names = LabelSet.of([Label("0", "label")])
    texts = [f"the word{i}" for i in range(20)]
    method = NearestNeighbours().fit(Dataset(Documents.of(texts), names, pairs_from_lists([[0]] * 20, 1)))
    assert "the" not in method.features_.names
    more = learned(method, Documents.of([f"the new{i}" for i in range(12)]), pairs_from_lists([[0]] * 12, 1))
    assert "new3" in more.features_.names
    assert "the" not in more.features_.names
    few = learned(method, Documents.of(["the newest"]), pairs_from_lists([[0]], 1))
    assert few.features_.names == method.features_.names


def test_evidence_takes_as_long_in_a_vocabulary_a_thousand_times_as_large() -> None:
    """A column of all labels took a hundred times as long."""
    texts = [f"fish number {i}" if i < 20 else f"bird number {i}" for i in range(40)]
    pairs = csr_matrix(np.ones((40, 1), np.float32))
    dataset = Dataset(Documents.of(texts), LabelSet.of([Label("a", "animals")]), pairs)
    model = NearestNeighbours().fit(dataset).model_
    views = Views.of(["fish"])

    def evidence(n_labels: int) -> tuple[int, float]:
        wide = model._copy()
        wide.pairs_ = csr_matrix((pairs.data, pairs.indices, pairs.indptr), shape=(40, n_labels))
        times = []
        for _ in range(25):
            began = time.process_time()
            found = list(wide.evidence(views, 0))
            times.append(time.process_time() - began)
        assert not list(wide.evidence(views, 1))
        return len(found), min(times)

    (n_few, few), (n_many, many) = evidence(3_000), evidence(3_000_000)
    assert n_few == n_many == 20
    assert many < 5 * few
