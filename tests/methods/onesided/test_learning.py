"""The batches of the one-sided family: documents, label texts as documents, label sets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from everylabel.data.dataset import pairs_from_lists
from everylabel.encoders.base import EncoderConfig, Tokens
from everylabel.methods.depl.settings import Learning
from everylabel.methods.facts import Facts
from everylabel.methods.onesided.learning import POSITIVES, Batches, Pairs, label_sets
from everylabel.methods.onesided.onesided import OfDe

USUAL: dict[str, Any] = {"n_docs": 45_000, "n_labelled": 45_000, "n_pairs": 200_000, "n_labels": 4_000}
USUAL |= {"n_seen": 4_000, "n_dev": 0, "words": 200}


def batches(size: int = 3, **settings: Any) -> Batches:
    texts = Tokens.of([[i] for i in range(8)])
    truth = pairs_from_lists([[0], [1, 2], [3], [0, 3]], 8)
    method = OfDe(labels_per_batch=size, learn=Learning(batch_size=2), **settings)
    return Batches(Pairs(texts.take(np.arange(4)), texts, truth, 5), method, 10)


def test_a_batch_has_its_labels_and_label_texts_as_documents() -> None:
    made = batches(6, hard_negatives=3, shortlist=4)
    for number in range(8):
        batch = made(number, np.random.default_rng(number))
        assert batch.n_documents == 2
        assert batch.rows.n_rows == 4
        assert (np.diff(batch.columns) > 0).all()
        own = batch.rows.ids[2:]  # label texts are numbered as the labels
        np.testing.assert_array_equal(batch.truth[2:], own[:, None] == batch.columns)
        for row, document in enumerate(batch.rows.ids[:2]):
            wanted = made.pairs.truth[int(document)].indices
            assert set(batch.columns[batch.truth[row]]) == set(wanted)
        assert not batch.negatives[:2, batch.columns >= 5].any()
        assert batch.negatives[2:].all()
        assert batch.ranks.tolist() in ([0, 1, 2], [0, 1, 3])  # the first ones, and one of the rest of a shortlist


def test_all_labels_that_may_be_negatives_or_as_many_as_asked_for() -> None:
    rng = np.random.default_rng(0)
    assert batches(100, auxiliary=0.0)(0, rng).columns.tolist() == [0, 1, 2, 3, 4]
    assert batches(100, auxiliary=0.0, unseen_negatives=True)(0, rng).columns.tolist() == list(range(8))
    assert len(batches(4, auxiliary=0.0)(0, rng).columns) == 4
    drawn = [set(batches(1, unseen_auxiliary=asked)(0, rng).columns.tolist()) for asked in (True, False)]
    assert not drawn[1] & {5, 6, 7}


def test_label_sets_for_attention() -> None:
    batch = batches(100, hard_negatives=2, shortlist=2, unseen_auxiliary=False)(0, np.random.default_rng(0))
    batch = batch._replace(ranks=np.array([0, 2]))
    logits = torch.from_numpy(np.random.default_rng(1).normal(size=batch.truth.shape).astype(np.float32))
    sets = label_sets(logits, batch)
    assert sets.shape[1] == batch.truth.sum(axis=1).max() + 2
    for row in range(len(batch.truth)):
        own = sets[row].tolist()
        assert len(set(own)) == len(own)
        assert set(np.flatnonzero(batch.truth[row])) <= set(own)
        may = batch.negatives[row] & ~batch.truth[row]
        wrong = [int(i) for i in np.argsort(-logits[row].numpy()) if may[i]]
        assert {wrong[rank] for rank in (0, 2) if rank < len(wrong)} <= set(own)


def test_a_document_of_many_labels_does_not_make_all_label_sets_long() -> None:
    batch = batches(100, hard_negatives=1, shortlist=2, auxiliary=0.0)(0, np.random.default_rng(0))
    truth = np.zeros((2, 30), bool)
    truth[0, :20] = truth[1, 29] = True
    batch = batch._replace(truth=truth, negatives=np.ones_like(truth), ranks=np.array([0]))
    logits = torch.from_numpy(np.random.default_rng(1).normal(size=truth.shape).astype(np.float32))
    sets = label_sets(logits, batch)
    assert sets.shape == (2, POSITIVES + 1)
    farthest = np.argsort(logits[0, :20].numpy())[:POSITIVES]
    assert set(farthest) <= set(sets[0].tolist())
    assert 29 in sets[1]


def test_a_planned_fit_is_bounded_however_many_documents_and_labels() -> None:
    def work(n_docs: int, n_labels: int) -> tuple[int, float]:
        """Documents and labels that all steps see, and what that is said to take."""
        counts: dict[str, Any] = {"n_labelled": n_docs, "n_pairs": n_docs, "n_labels": n_labels, "n_seen": n_labels}
        facts = Facts(n_docs=n_docs, n_dev=0, words=20, **counts)
        method = planned(facts)
        return method.learn.n_steps(n_docs) * method.learn.batch_size * method.most_labels, OfDe.cost(facts).training

    def planned(facts: Facts) -> OfDe:
        given = OfDe.settings_for(facts)
        learn = replace(OfDe().learn, **given.pop("learn", {}))
        return OfDe(**{**given, "encoder": EncoderConfig(**given["encoder"]), "learn": learn})

    usual = planned(Facts(**USUAL))
    assert (usual.learn, usual.most_labels) == (OfDe().learn, OfDe().most_labels)
    (seen, said), (more, said_more) = work(300_000, 60_000), work(3_000_000, 900_000)
    assert abs(more / seen - 1) < 0.01
    assert said_more == said
    assert work(20_000, 60_000)[0] < seen / 9
