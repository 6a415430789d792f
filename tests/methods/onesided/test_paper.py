"""The one-sided family as its paper has it: presets, eq. 4, attention over all labels, classifiers, label encoders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.methods.clues import NAMES, data, labels, scores
from tests.methods.onesided.test_learning import batches

import everylabel
from everylabel.data.dataset import Label
from everylabel.encoders.base import EncoderConfig
from everylabel.methods.depl.settings import Learning
from everylabel.methods.onesided import ranker
from everylabel.methods.onesided.learning import Learner
from everylabel.methods.onesided.module import DocumentSide
from everylabel.methods.onesided.module_documents import ModuleDocuments
from everylabel.methods.onesided.onesided import OfDe
from everylabel.methods.onesided.variants import Dexml, Dpr, Lan, OfLan, OvaClf

LABELS = labels(Label("new0", "fishery"), Label("new1", "ships"))
DATA = data(LABELS)
MEMBERS: list[type[Any]] = [OfDe, OfLan, OvaClf, Lan, Dpr, Dexml]
EVERY: dict[str, Any] = {"shortlist": 0, "pooled_share": 0.0}
LINEAR: dict[str, Any] = {"output": "linear", "temperature": 1.0}
New = Callable[..., Any]


@pytest.fixture
def new(static: EncoderConfig) -> New:
    """`new(OfDe, pair_sums=True)`, with few steps."""

    def made(cls: type[Any], steps: int = 10, **settings: Any) -> Any:
        learn = Learning(steps=steps, batch_size=8, lr=0.1, layer_lr=0.05)
        given = {"encoder": static, "learn": learn, "frequency_weight": 0.0, "center": False}
        return cls(**given | settings)

    return made


def test_the_paper_s_numbers() -> None:
    """Section 5.4 and appendix C; table 5 says which rows of table 2 have unseen labels among the negatives."""
    for cls in MEMBERS:
        paper: Any = everylabel.method(cls.name, preset="paper:eurlex57k")
        # "We [...] use DistilBERT as the document encoder", "over 50 epochs for the EURLEX57K and MIMIC-III datasets"
        assert (paper.encoder.kind, paper.learn.epochs, paper.learn.steps) == ("distilbert-base-uncased", 50, None)
        assert paper == everylabel.method(cls.name, preset="paper:mimic-iii")
        # "32 per GPU, totaling 256", "weight decay of 0.01", rates "from {2e-5, 5e-5, 1e-4}": one for all weights
        assert (paper.learn.batch_size, paper.weight_decay) == (32 * 8, 0.01)
        assert paper.learn.lr == paper.learn.layer_lr == 5e-5
        assert (paper.pair_sums, paper.unseen_negatives, paper.most_labels >= 13_330) == (True, True, True)
        assert (paper.center, paper.document_layer, paper.frequency_weight, paper.rare_weight) == (False, False, 0, 0)
        # "30 epochs for AmazonCat-13K", of 948,992 documents (table 1)
        amazon: Any = everylabel.method(cls.name, preset="paper:amazoncat-13k")
        assert (amazon.learn.epochs, amazon.learn.steps) == (30, 30 * 948_992 // 256)
        assert replace(amazon, learn=paper.learn) == paper
        if cls().attention:  # section 4.3: over all labels, and no other loss than that of eq. 4
            assert (paper.shortlist, paper.pooled_share) == (0, 0)
    # "the 7B-parameter SFR-Embedding-2 for the label encoder"; "lambda = 1"; cosine similarity
    for name in ("of-de", "of-lan"):
        frozen: Any = everylabel.method(name, preset="paper")
        assert (frozen.label_encoder, frozen.auxiliary) == ("Salesforce/SFR-Embedding-2_R", 1)
        assert (frozen.output, frozen.temperature) == ("cosine", 0.05)
    # "a linear layer for each label"; section 4.3.1: with a constant
    assert {everylabel.method(cls.name, preset="paper").output for cls in (OvaClf, Lan)} == {"linear"}
    for name in ("dpr", "dexml", "ova-clf", "lan"):
        other: Any = everylabel.method(name, preset="paper")
        assert (other.label_encoder, other.auxiliary) == ("", 0)


# --- eq. 4


@pytest.mark.parametrize("sums", [True, False])
def test_eq_4_by_its_definition(sums: bool) -> None:
    """Every pair and every label text once, lambda before the texts; else each term is a mean."""
    made = batches(100, pair_sums=sums, auxiliary=0.7, unseen_negatives=True)
    batch = made(1, np.random.default_rng(0))
    n, s = batch.n_documents, np.random.default_rng(1).normal(size=batch.truth.shape) * 3

    def pairs(rows: range) -> list[float]:
        found = []
        for i in rows:
            wrong = np.exp(s[i][batch.negatives[i] & ~batch.truth[i]]).sum()
            found += [-np.log(np.exp(s[i, j]) / (np.exp(s[i, j]) + wrong)) for j in np.flatnonzero(batch.truth[i])]
        return found

    of_documents, of_texts = pairs(range(n)), pairs(range(n, len(s)))
    assert len(of_documents) > len(of_texts) == n
    learner = Learner.__new__(Learner)
    learner.method = made.method
    found = learner._parts("pooled", torch.from_numpy(s), torch.zeros(s.shape[1]), batch)
    total = float(sum(found.values()))
    if sums:
        assert total * n == pytest.approx(sum(of_documents) + 0.7 * sum(of_texts))
    else:
        assert total == pytest.approx(np.mean(of_documents) + 0.7 * np.mean(of_texts))


# --- attention over all labels


def seen_by(method: Any, text: str, query: Any) -> Any:
    """A document as a label sees it, token by token."""
    encoder = method.ranker_.encoder
    table = encoder.module.embedding.weight.detach().numpy().astype(np.float64)
    tokens = table[encoder.tokenize([text]).ids]
    logits = tokens @ query / tokens.shape[1] ** 0.5
    weights = np.exp(logits - logits.max())
    return weights @ tokens / weights.sum()


def test_without_a_shortlist_attention_is_asked_for_all_labels(new: New, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    names: set[str] = set()
    attended, loss = DocumentSide.attended, Learner.loss

    def watched(self: DocumentSide, tokens: Any, own: Any, sets: Any) -> Any:
        asked.append((sets.shape[1], len(own.outputs)))
        return attended(self, tokens, own, sets)

    def named(self: Learner, both: Any, batch: Any) -> Any:
        losses = loss(self, both, batch)
        names.update(losses)
        return losses

    with monkeypatch.context() as patch:
        patch.setattr(DocumentSide, "attended", watched)
        patch.setattr(Learner, "loss", named)
        method = new(OfLan, unseen_negatives=True, **EVERY).fit(DATA)
    assert set(asked) == {(len(LABELS), len(LABELS))}
    assert names == {"attention", "attention/labels"}  # no loss of a pooled vector
    texts = DATA.documents.full_texts[:6]
    vectors = method.ranker_.vectors
    expected = np.empty((len(texts), len(LABELS)))
    for i, text in enumerate(texts):
        for j in range(len(LABELS)):
            seen = seen_by(method, text, vectors["queries"][j].astype(np.float64))
            expected[i, j] = (1 + seen @ vectors["outputs"][j] / np.linalg.norm(seen)) / 2
    np.testing.assert_allclose(scores(method)[:6], expected, atol=1e-5)
    whole = method.rank(texts, 3)
    with monkeypatch.context() as patch:
        patch.setattr(ranker, "CELLS", 2 * len(texts))  # two labels at a time
        parts = method.rank(texts, 3)
    np.testing.assert_array_equal(parts.ids, whole.ids)
    np.testing.assert_allclose(parts.scores, whole.scores, atol=1e-6)


# --- linear classifiers


@pytest.mark.parametrize("cls", [OvaClf, Lan])
@pytest.mark.parametrize("more", [{}, EVERY, {"document_layer": False}])
def test_a_linear_output_is_a_product_and_a_constant(
    new: New, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cls: type[Any], more: dict[str, Any]
) -> None:
    learners: list[Learner] = []
    learn = Learner.learn

    def kept(self: Learner, watch: Any) -> Any:
        learners.append(self)
        return learn(self, watch)

    monkeypatch.setattr(Learner, "learn", kept)
    method = new(cls, 60, **LINEAR, **more | ({} if cls is Lan else {"pooled_share": 0.5})).fit(DATA)
    own: Any = learners[0].labels
    weights, constants = (part.detach().numpy() for part in (own.output, own.constant))
    assert np.abs(constants).max() > 0.01
    order = sorted(range(len(NAMES)), key=lambda i: LABELS[i].id)
    texts = DATA.documents.full_texts[:6]
    tokens = method.ranker_.encoder.tokenize(texts)
    pooled = ModuleDocuments(learners[0].documents.eval(), "cpu").vectors(tokens)  # torch, where the ranker needs none
    expected = pooled @ weights.T + constants
    if cls is Lan:
        seen = [[seen_by(method, text, query) for query in own.query.detach().numpy()] for text in texts]
        attended = np.einsum("ijd,jd->ij", np.array(seen), weights) + constants
        expected = method.pooled_share * expected + (1 - method.pooled_share) * attended
    found = scores(method)[:6, order]
    np.testing.assert_allclose(found, (1 + expected / (1 + np.abs(expected))) / 2, atol=1e-5)
    right = DATA.required_pairs.toarray()[:, : len(NAMES)] > 0
    ranked = np.argsort(-scores(method)[:, : len(NAMES)], axis=1)
    assert np.take_along_axis(right, ranked, 1)[:, 0].mean() == 1.0
    method.save(tmp_path / "model")
    loaded: Any = everylabel.load(tmp_path / "model")
    loaded.check_contents()
    np.testing.assert_array_equal(scores(loaded), scores(method))
    assert len(NAMES) not in method.rank(texts, len(LABELS)).ids  # nobody has used it


def test_a_linear_output_on_a_transformer(new: New, tiny_folder: Path, tmp_path: Path) -> None:
    encoder = EncoderConfig(kind=str(tiny_folder), max_tokens=16)
    for cls in (OvaClf, Lan):
        method = new(cls, 2, encoder=encoder, **LINEAR, **EVERY).fit(DATA)
        method.save(tmp_path / cls.name)
        np.testing.assert_array_equal(scores(everylabel.load(tmp_path / cls.name)), scores(method))


# --- several label encoders


@pytest.mark.parametrize("cls", [OfDe, OfLan])
def test_labels_read_by_several_encoders(
    new: New, static: EncoderConfig, tiny_folder: Path, tmp_path: Path, cls: type[Any]
) -> None:
    small, seen = replace(static, lexical=8), len(NAMES)
    settings = {"encoder": small, "label_encoder": f"own + {tiny_folder}", "unseen_auxiliary": False}
    method = new(cls, 60, **settings).fit(DATA)
    found = scores(method)
    right = DATA.required_pairs.toarray()[:, :seen] > 0
    assert np.take_along_axis(right, np.argsort(-found[:, :seen], axis=1), 1)[:, 0].mean() == 1.0
    encoders = method.reader_._as_they_were()
    assert len(encoders) == 2
    dim = method.ranker_.encoder.dim
    assert encoders[1].dim != dim
    assert method.reader_.layers["output.weight"].shape == (dim, dim + encoders[1].dim)
    method.save(tmp_path / "model")
    same = replace(LABELS[1], id="later")  # the same text: the same vector
    later = scores(everylabel.load(tmp_path / "model").add_labels([same]))
    np.testing.assert_array_equal(later[:, :-1], found)
    np.testing.assert_allclose(later[:, -1], found[:, 1], atol=1e-5)
