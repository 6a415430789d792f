"""New pairs without a new fit: what a tagger takes from them, keeps of them, and notes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix, vstack
from tests.tagger.conftest import SMALL, Copy, assert_identical, place, quality

import everylabel
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.errors import DataError, NotFittedError
from everylabel.methods.words.linear import Svm
from everylabel.tagger import update
from everylabel.tagger.blending_set import BlendingSet
from everylabel.tagger.candidates import ADDED, SHARED_COLUMNS, CandidateTable
from everylabel.tagger.judgements import Judgements
from everylabel.tagger.tagger import Tagger


def parts(texts: list[str]) -> list[str]:
    """The second half of each."""
    return [" ".join(text.split()[len(text.split()) // 2 :]) for text in texts]


@pytest.mark.parametrize("added", [True, False])
def test_a_label_with_a_few_documents_goes_up_for_texts_like_them(copied: Copy, corpus: Any, added: bool) -> None:
    """One that was added, and one that was there without any document; neither has anything to do with the texts."""
    tagger = copied()
    if added:
        tagger.add_labels([Label("new", "Quuxology")])
    texts = corpus.test.documents.full_texts[:5]
    unseen = [tagger.labels_[int(i)].id for i in np.flatnonzero(tagger.counts_ == 0)]
    label = "new" if added else max(unseen, key=lambda own: min(place(tagger, parts(texts), own)))
    before = place(tagger, parts(texts), label)
    found = tagger.learn([(text, [label]) for text in texts])
    assert (found.documents, found.pairs, found.new_labels) == (5, 5, 1)
    after = place(tagger, parts(texts), label)
    assert all(now < then for now, then in zip(after, before, strict=True))
    at = tagger.labels_.index[label]
    assert (tagger.experts_["knn"].rank(parts(texts), 1).ids == at).all()
    assert tagger.counts_[at] == 5
    documents = [item for item in tagger.tag(parts(texts)[:1], 126)[0] if item.id == label]
    assert "document" in [item.kind for item in documents[0].evidence]


def test_what_was_learned_is_saved(copied: Copy, corpus: Any, tmp_path: Any) -> None:
    tagger = copied().add_labels([Label("new", "Quuxology")])
    learned = tagger.learn(corpus.test.subset(range(5)))
    assert learned.documents == 5
    assert 0 < learned.ndcg5 <= 1  # before it was learned
    tagger.learn([(corpus.test.documents.texts[6], ["new"])])
    tagger.remove_labels(["new"]).add_labels([Label("new", "Quuxology"), Label("newer", "Fluxology")])
    tagger.save(tmp_path / "learned")
    again = everylabel.load(tmp_path / "learned")
    assert isinstance(again, Tagger)
    assert_identical(again.rank(corpus.test.documents, 20), tagger.rank(corpus.test.documents, 20))
    assert again.history() == tagger.history()
    more = [(corpus.test.documents.texts[7], ["newer"])]
    assert again.learn(more) == tagger.learn(more)
    assert_identical(again.rank(corpus.test.documents, 20), tagger.rank(corpus.test.documents, 20))


def test_learning_does_little_harm(copied: Copy, corpus: Any) -> None:
    tagger, rest = copied(), corpus.test.subset(range(20, len(corpus.test)))
    before = quality(tagger.rank(rest.documents, 5), rest)
    tagger.learn(corpus.test.subset(range(20)))
    assert quality(tagger.rank(rest.documents, 5), rest) > before - 0.05


def test_a_linear_expert_is_fitted_anew_when_there_is_enough_to_learn(copied: Copy, corpus: Any) -> None:
    """As one that is fitted on all documents; a few make none, and a label without documents stays what it was."""
    tagger = copied().add_labels([Label("new", "Quuxology")])
    first = tagger.experts_["svm"]
    tagger.learn(corpus.test.subset([0]))
    assert tagger.experts_["svm"] is first
    tagger.learn(corpus.test)
    svm, documents = tagger.experts_["svm"], corpus.test.documents
    parts = corpus.train, corpus.test.subset([0]), corpus.test
    texts, titles = ([own for part in parts for own in getattr(part.documents, field)] for field in ("texts", "titles"))
    joined = Dataset(
        Documents(ids=[str(i) for i in range(len(texts))], texts=texts, titles=titles),
        corpus.train.labels,
        csr_matrix(vstack([part.required_pairs for part in parts])),
    )
    one, other = svm.rank(documents, 5), Svm().fit(joined).rank(documents, 5)
    assert (one.ids[:, 0] == other.ids[:, 0]).mean() > 0.95
    assert svm.counts_.sum() == joined.required_pairs.nnz
    at = tagger.labels_.index["new"]
    assert tagger.fitted_counts_[at] == ADDED
    assert (np.delete(tagger.fitted_counts_, at) == joined.counts).all()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(update, "MOST_SECONDS", 0.0)
        slow = copied()
        slow.learn(corpus.test)
    assert (slow.fitted_counts_ == corpus.train.counts).all()


def test_much_that_was_learned_makes_a_full_fit_due(copied: Copy, corpus: Any) -> None:
    tagger = copied()
    assert tagger.learn(corpus.test.subset([0])).refit_due == ""
    assert "fit again with all of them" in tagger.learn(corpus.test).refit_due


def test_what_cannot_be_learned_changes_nothing(copied: Copy, corpus: Any) -> None:
    tagger, texts = copied(), corpus.test.documents.texts[:10]
    known = tagger.labels_[0].id
    tagger.remove_labels([tagger.labels_[1].id])
    before, history, counts, model = tagger.rank(texts, 20), tagger.history(), tagger.counts_.copy(), tagger.model_
    for wrong, message in (
        ([("text", [known, "nowhere"])], r"label 'nowhere' is not in the vocabulary.*nothing was learned.*add_labels"),
        ([("text", [tagger.labels_[1].id])], "is not in the vocabulary.*nothing was learned"),
        ([("text", [])], "nothing to learn"),
    ):
        with pytest.raises(DataError, match=message):
            tagger.learn(wrong)
    bag = Documents(["0"], [""], [""], csr_matrix(np.ones((1, 3), np.float32)))
    with pytest.raises(DataError, match="bag of words"):
        tagger.learn(Dataset(bag, tagger.labels_, pairs_from_lists([[0]], len(tagger.labels_))))
    assert_identical(tagger.rank(texts, 20), before)
    assert tagger.history() == history
    np.testing.assert_array_equal(tagger.counts_, counts)
    assert tagger.model_ is model


def test_a_document_of_which_nobody_knows_a_word_can_be_learned(readers: Tagger) -> None:
    tagger = Tagger(experts=SMALL).restore(readers.labels_, readers.state())
    assert tagger.learn([("zxqv wrtp", [tagger.labels_[0].id])]).documents == 1


def test_history(copied: Copy, corpus: Any) -> None:
    tagger = copied()
    tagger.add_labels([Label("new", "Quuxology")])
    tagger.learn([(corpus.test.documents.texts[0], ["new"])])
    tagger.remove_labels(["new"])
    tagger.calibrate(corpus.test)
    events = tagger.history()
    assert [event["what"] for event in events] == ["fitted", "labels added", "learned", "labels removed", "calibrated"]
    assert [event["when"] for event in events] == sorted(event["when"] for event in events)
    assert events[0]["documents"] == len(corpus.train)
    assert events[2] | {"when": ""} == {"when": "", "what": "learned", "documents": 1, "pairs": 1, "new_labels": 1}
    events.clear()
    events = tagger.history()
    events[0]["what"] = "forged"
    assert tagger.history()[0]["what"] == "fitted"
    with pytest.raises(NotFittedError):
        Tagger().history()


def test_what_people_judged_counts_more_and_what_they_did_not_see_may_count_nothing() -> None:
    """Three documents: nothing said beside the labels; one label rejected; not judged to the end."""
    columns = np.zeros((9, 3 + len(SHARED_COLUMNS)), np.float32)
    table = CandidateTable(np.repeat(np.arange(3), 3), np.tile(np.arange(3, dtype=np.int32), 3), columns, 3)
    truth = pairs_from_lists([[0], [0], [0]], 4)
    labels = LabelSet.of(Label(str(i), str(i)) for i in range(4))
    judged = Judgements.of(3, labels, [[], ["1", "unknown"], ["2"]], [True, True, False])
    weights = BlendingSet.judged(table, np.zeros(4, np.int64), truth, judged).weights
    assert weights is not None
    assert weights.reshape(3, 3).tolist() == [[1, 1, 1], [2, 2, 1], [2, 0, 2]]
    assert BlendingSet.judged(table, np.zeros(4, np.int64), truth, Judgements.of(3, labels, (), ())).weights is None


def test_rejected_labels_go_down(copied: Copy, corpus: Any) -> None:
    """Beside the same documents without what was rejected, all else being the same: other documents have them less."""
    model: Any = copied().model_
    documents, rest = corpus.test.subset(range(60)), corpus.test.documents.subset(range(60, len(corpus.test)))
    shown, pairs = model.rank(documents.documents, 10).ids, documents.required_pairs
    rejected = [
        [model.labels_[int(label)].id for label in row if label not in pairs[i].indices] for i, row in enumerate(shown)
    ]
    plain, _ = model.with_pairs(documents, (), [False] * 60)
    judged, learned = model.with_pairs(documents, rejected, [False] * 60)
    assert learned.documents == 60
    assert judged.rank(rest, 10).scores.mean() < plain.rank(rest, 10).scores.mean() - 0.05
    whole, _ = model.with_pairs(documents)
    weighed, _ = model.with_pairs(documents, rejected)
    assert not np.array_equal(whole.blend_.trees.values, weighed.blend_.trees.values)
    unread = corpus.test.subset(range(60, len(corpus.test)))
    assert quality(weighed.rank(rest, 5), unread) > quality(model.rank(rest, 5), unread) - 0.05


def test_incomplete_documents_are_no_neighbours(copied: Copy, corpus: Any) -> None:
    model = copied().model_
    some = corpus.test.subset(range(30))
    complete = [i % 3 == 0 for i in range(30)]
    found, learned = model.with_pairs(some, [()] * 30, complete)
    assert (learned.documents, learned.pairs) == (30, some.subset(range(0, 30, 3)).required_pairs.nnz)
    assert found.experts_["knn"].n_documents == model.experts_["knn"].n_documents + 10
    assert found.learned_ == 10
    np.testing.assert_array_equal(found.counts_, model.counts_ + some.subset(range(0, 30, 3)).counts)


def test_judgements_that_do_not_fit(copied: Copy, corpus: Any) -> None:
    tagger = copied()
    with pytest.raises(DataError, match="rejected is given for 1 documents, and there are 3"):
        tagger.learn(corpus.test.subset(range(3)), rejected=[["a"]])
    with pytest.raises(DataError, match="complete is given for 2"):
        tagger.learn(corpus.test.subset(range(3)), complete=[True, False])
