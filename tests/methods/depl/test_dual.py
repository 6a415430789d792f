"""The dual encoder: its losses, its label sets, its start, and how two parts become one ranking."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import expit
from tests.encoders import conftest as encoders

from everylabel.data.dataset import pairs_from_lists
from everylabel.encoders.base import EncoderConfig, Tokens
from everylabel.encoders.build import load_encoder
from everylabel.methods.depl.dual import DualRanker, Head
from everylabel.methods.depl.dual_learning import DualLearner, LabelSets, Pairs, Texts
from everylabel.methods.depl.module import Dual, ModuleTowers, bce, joint_bce
from everylabel.methods.depl.settings import Learning, Shape
from everylabel.text.views import Views

tiny_folder = encoders.made_folder
NAMES = ["fish", "sea", "ship", "law", "tax", "customs"]
LISTS = [[0], [1, 2], [0, 2], [3], [2], [0, 1]]
HARD = np.array([[1, 2], [3, -1], [1, 3], [-1, -1], [0, 1], [3, 2]], np.int32)
Rankers = Callable[..., DualRanker]


def tokens(n: int, start: int = 0) -> Tokens:
    """Row i is the one token start + i."""
    return Tokens.of([[start + i] for i in range(n)])


def pairs(n_seen: int = 4, n_labels: int = 6) -> Pairs:
    return Pairs(tokens(6), pairs_from_lists(LISTS, n_labels), n_seen, HARD)


def sets(size: int, n_labels: int = 6, batch_size: int = 2, plain_share: float = 0.0) -> LabelSets:
    return LabelSets(pairs(), Texts(tokens(6, 100), tokens(6, 200), plain_share), n_labels, batch_size, size, 0)


@pytest.fixture
def encoder(tiny_folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("EVERYLABEL_CACHE", str(cache))
    monkeypatch.setenv("EVERYLABEL_THREADS", "1")
    return load_encoder(EncoderConfig(teacher=str(tiny_folder)))


def dual_of(encoder: Any) -> Dual:
    return Dual(encoder.module, np.zeros(encoder.dim, np.float32), Shape())


# --- losses


def test_losses_are_sums_over_labels_and_means_over_documents() -> None:
    logits, other = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0)).double() * 3
    truth = (torch.arange(15).reshape(3, 5) % 3 == 0).double()
    one = torch.sigmoid(logits)
    expected = -(truth * one.log() + (1 - truth) * (1 - one).log()).sum() / 3
    torch.testing.assert_close(bce(logits, truth), expected)
    mean = (one + torch.sigmoid(other)) / 2
    expected = -(truth * mean.log() + (1 - truth) * (1 - mean).log()).sum() / 3
    torch.testing.assert_close(joint_bce(logits, other, truth), expected)
    torch.testing.assert_close(joint_bce(logits, logits, truth), bce(logits, truth))


def test_the_joint_loss_is_finite_where_probabilities_are_0_and_1() -> None:
    one = torch.tensor([[200.0, -200.0]], requires_grad=True)
    for other in (torch.tensor([[-200.0, 200.0]]), torch.tensor([[-30.0, -30.0]])):
        for truth in (torch.ones(1, 2), torch.zeros(1, 2)):
            loss = joint_bce(one, other, truth)
            (gradient,) = torch.autograd.grad(loss, one)
            assert torch.isfinite(loss)
            assert torch.isfinite(gradient).all()


# --- label sets


@pytest.mark.parametrize("size", [1, 4, 5, 100])
def test_a_label_set_has_all_positives_hard_negatives_and_random_ones_up_to_its_size(size: int) -> None:
    for number in range(6):
        batch = sets(size)(number, np.random.default_rng(number))
        rows = batch.documents.ids.tolist()
        needed = {label for row in rows for label in LISTS[row]} | set(HARD[rows].ravel().tolist()) - {-1}
        columns = batch.columns.tolist()
        assert needed <= set(columns)
        assert columns == sorted(set(columns))
        assert len(columns) == max(len(needed), min(size, 6))
        assert batch.truth.tolist() == [[float(label in LISTS[row]) for label in columns] for row in rows]
        assert batch.labels is not None
        assert (batch.labels.ids - 100).tolist() == columns


def test_unseen_labels_are_drawn_only_when_asked() -> None:
    drawn = [set(sets(100, n)(0, np.random.default_rng(0)).columns.tolist()) for n in (4, 6)]
    assert drawn == [set(range(4)), set(range(6))]


def test_a_share_of_the_labels_is_read_plainly() -> None:
    generator = np.random.default_rng(0)
    texts = [sets(100, plain_share=0.25)(n, generator).labels for n in range(300)]
    read = np.concatenate([found.ids for found in texts if found is not None])
    assert 0.22 < (read >= 200).mean() < 0.28
    assert set((read % 100).tolist()) == set(range(6))


def test_the_same_batch_for_the_same_number() -> None:
    one, other = (sets(5, plain_share=0.5)(3, np.random.default_rng(7)) for _ in range(2))
    for a, b in zip(
        one.documents + (one.columns, one.truth), other.documents + (other.columns, other.truth), strict=True
    ):
        np.testing.assert_array_equal(a, b)


# --- the module and its learning


def test_both_towers_start_as_the_encoder(encoder: Any) -> None:
    dual = dual_of(encoder)
    read = encoder.tokenize(NAMES)
    with torch.inference_mode():
        scores = dual.documents(read) @ dual.labels(read).T * dual.scale
    vectors = encoder.encode(NAMES)
    np.testing.assert_allclose(scores.numpy(), vectors @ vectors.T / 0.05, atol=1e-4)


def test_scores_in_training_are_those_of_ranking(encoder: Any) -> None:
    dual, random = dual_of(encoder), torch.Generator().manual_seed(0)
    with torch.inference_mode():
        for weights in (*dual.document.parameters(), *dual.label.parameters(), dual.constant):
            weights.add_(torch.randn(weights.shape, generator=random) * 0.1)
        documents, labels = encoder.tokenize(["sea law", "tax"]), encoder.tokenize(NAMES)
        vectors, scores = dual.scored(documents, labels)
        np.testing.assert_allclose(vectors.numpy(), dual.documents(documents).numpy(), atol=1e-5)
        expected = vectors @ dual.labels(labels).T * dual.scale + dual.constant
        np.testing.assert_allclose(scores.numpy(), expected.numpy(), atol=1e-4)


def learner(encoder: Any) -> DualLearner:
    documents = encoder.tokenize([" ".join(NAMES[label] for label in labels) for labels in LISTS])
    given = Pairs(documents, pairs_from_lists(LISTS, 6), 4, HARD)
    return DualLearner(dual_of(encoder), given, 0, static=True)


def test_a_head_starts_as_the_frequencies_and_learns(encoder: Any) -> None:
    made = learner(encoder)
    np.testing.assert_allclose(expit(made.head_rows()[:, -1]), np.array([3, 2, 3, 1]) / 7, rtol=1e-5)
    assert not made.head_rows()[:, :-1].any()
    made.classify(Learning(steps=150, batch_size=6, lr=0.1, layer_lr=0.01))
    with torch.inference_mode():
        logits = made.head(made.dual.documents(made.pairs.documents)).numpy()
    np.testing.assert_array_equal(logits > 0, made.pairs.truth[:, :4].toarray() > 0)
    for name, weight in made.dual.document.state_dict().items():
        assert torch.equal(weight, made.dual.label.state_dict()[name])
    assert not torch.equal(made.dual.document.weight, torch.eye(encoder.dim))


@pytest.mark.parametrize("joint", [False, True])
def test_retrieval_learns_its_documents(encoder: Any, joint: bool) -> None:
    made = learner(encoder)
    read = encoder.tokenize(NAMES)
    before = made.head_rows()
    made.retrieve(Learning(steps=60, batch_size=6, lr=0.1), Texts(read, read, 0.0), 6, unseen=True, joint=joint)
    assert (made.head_rows() != before).any() == joint
    with torch.inference_mode():
        scores = made.dual.documents(made.pairs.documents) @ made.dual.labels(read).T * made.dual.scale
    right = made.pairs.truth.toarray() > 0
    logits = scores.numpy() + float(made.dual.constant.detach())
    assert (logits[right].mean() > 0) or joint
    assert logits[right].min() > logits[~right].mean()


def test_steps() -> None:
    assert Learning(steps=7).n_steps(6) == 7
    assert Learning().n_steps(6) == 150
    assert Learning(epochs=500, batch_size=2).n_steps(6) == 1500
    assert Learning(epochs=500, batch_size=2, accumulate=3).n_steps(6) == 500
    assert Learning(epochs=8, batch_size=16).n_steps(1_186_239) == 593_119  # however many there are


# --- ranking


def test_a_joint_score_is_the_mean_of_both_and_half_without_a_head(encoder: Any) -> None:
    rng = np.random.default_rng(0)
    read = encoder.tokenize(NAMES)
    rows = (rng.normal(size=(4, encoder.dim + 1)) / 8).astype(np.float32)
    head = Head(rows, np.array([5, 0, 3, 1], np.int32))
    alone, other, both = (
        DualRanker.of(encoder, dual_of(encoder)).index_labels("exact", texts, given, 6)
        for texts, given in ((read, None), (None, head), (read, head))
    )
    views = Views.of(["fish and sea", "the law of tax", ""])
    scores = [dense(ranker, views) for ranker in (alone, other, both)]
    assert (scores[1][:, [2, 4]] == 0).all()
    np.testing.assert_allclose(scores[2], (scores[0] + scores[1]) / 2, rtol=1e-4)
    assert not alone.rows
    assert set(both.rows) == {"texts", "head"}


def test_without_torch_vectors_are_those_of_the_module(encoder: Any) -> None:
    made = learner(encoder)
    read = encoder.tokenize(NAMES)
    made.retrieve(Learning(steps=20, batch_size=6, lr=0.1), Texts(read, read, 0.0), 6, unseen=True, joint=False)
    made.dual.mean.add_(0.1)
    towers, module = DualRanker.of(encoder, made.dual).towers, ModuleTowers(made.dual, "cpu")
    texts = encoder.tokenize(["fish and sea", "", "the law of tax and tax and tax"] * 300)
    np.testing.assert_allclose(towers.documents(texts), module.documents(texts), atol=1e-5)
    np.testing.assert_allclose(towers.labels(texts), module.labels(texts), atol=1e-5)
    assert (towers.scale, towers.constant) == (module.scale, module.constant)


def dense(ranker: DualRanker, views: Views) -> Any:
    found = ranker.rank(views, 6, 6)
    scores = np.zeros((len(views), 6), np.float32)
    for row, ids, values in zip(scores, found.ids, found.scores, strict=True):
        row[ids[ids >= 0]] = values[ids >= 0]
    return scores
