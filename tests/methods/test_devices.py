"""Every method that trains, on a GPU: its module, loss and ranking, with static embeddings and a transformer."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from tests.devices import are_elsewhere, elsewhere, pretended
from tests.encoders import conftest as encoders

from everylabel.data.dataset import Documents, pairs_from_lists
from everylabel.encoders.base import Encoder, EncoderConfig, Tokens
from everylabel.encoders.build import load_encoder
from everylabel.encoders.placed import Placed
from everylabel.methods.attentionxml import learning as attention
from everylabel.methods.attentionxml.attentionxml import AttentionXml
from everylabel.methods.attentionxml.module import Level
from everylabel.methods.attentionxml.ranker import AttentionRanker
from everylabel.methods.depl.dual_learning import DualLearner, LabelSets, Texts
from everylabel.methods.depl.dual_learning import Pairs as DualPairs
from everylabel.methods.depl.module import Dual, ModuleTowers
from everylabel.methods.depl.settings import Learning, Shape
from everylabel.methods.maclr import selfsup
from everylabel.methods.maclr.maclr import SelfSupervision
from everylabel.methods.maclr.towers import Towers
from everylabel.methods.matchxml import levels
from everylabel.methods.matchxml.matchxml import FineTuning
from everylabel.methods.onesided.learning import Batches, Learner, Pairs
from everylabel.methods.onesided.module import DocumentSide, FreeLabels, FrozenLabels, ReadLabels
from everylabel.methods.onesided.module_documents import ModuleDocuments, label_vectors
from everylabel.methods.onesided.onesided import OfDe
from everylabel.run import QUIET
from everylabel.train.batches import Corpus
from everylabel.tree.build import flat_tree

tiny_folder = encoders.made_folder
TEXTS = ["fish in the sea", "customs law of the european union", "milk and milk", "tax"]
NAMES = ["fish", "sea", "law", "tax", "milk", "wine"]
TRUTH = pairs_from_lists([[0, 1], [2], [4], [3]], 6)


class Problem(NamedTuple):
    """A step of training: the loss of a batch."""

    module: Any
    loss: Callable[[Any, Any], Any]
    batch: Any


@pytest.fixture(params=["static", "transformer"])
def encoder(request: pytest.FixtureRequest, tiny_folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Encoder:
    monkeypatch.setenv("EVERYLABEL_CACHE", str(cache))
    monkeypatch.setenv("EVERYLABEL_THREADS", "1")
    if request.param == "static":
        return load_encoder(EncoderConfig(teacher=str(tiny_folder)))
    return load_encoder(EncoderConfig(kind=str(tiny_folder), cache=False))


def one_sided(encoder: Encoder, label_side: Any, *, attention: bool, paper: bool = False) -> Problem:
    method = OfDe(label_side=label_side, attention=attention, hard_negatives=2, learn=Learning(batch_size=4))
    side, linear = document_side(encoder, attention=attention), paper and label_side == "free"
    if paper:  # attention over all labels; free weights as linear classifiers
        method = replace(method, shortlist=0, pooled_share=0.0, pair_sums=True)
        side.linear_output = linear
    texts = encoder.tokenize(NAMES)
    vectors = np.eye(len(NAMES), encoder.dim, dtype=np.float32)
    labels: Any
    if label_side == "free":
        labels = FreeLabels(vectors, attention=attention, linear_output=linear)
    elif label_side == "frozen":
        labels = FrozenLabels(vectors, np.eye(encoder.dim, dtype=np.float32), attention=attention)
    else:
        labels = ReadLabels(side, texts, second=label_side == "second", attention=attention)
    pairs = Pairs(encoder.tokenize(TEXTS), texts, TRUTH, 5)
    learner = Learner(side, labels, pairs, method)
    return Problem(learner.both, learner.loss, Batches(pairs, method, 10)(0, np.random.default_rng(0)))


def document_side(encoder: Encoder, *, attention: bool) -> DocumentSide:
    return DocumentSide(encoder.module, np.full(encoder.dim, 0.1, np.float32), layer=True, attention=attention)


def dual(encoder: Encoder, what: str) -> Problem:
    shape = Shape("cls", "mean", None) if what == "paper pooling" else Shape()
    module = Dual(encoder.module, np.zeros(encoder.dim, np.float32), shape)
    pairs = DualPairs(encoder.tokenize(TEXTS), TRUTH, 5, np.full((4, 1), -1, np.int32))
    learner = DualLearner(module, pairs, 0, static=encoder.config.kind == "static")
    texts = encoder.tokenize(NAMES)
    batch = LabelSets(pairs, Texts(texts, texts, 0.0), 6, 4, 6, 0)(0, np.random.default_rng(0))
    if what == "classifier":
        batch = batch._replace(truth=np.zeros((4, 5), np.float32))
    losses = {"classifier": learner.classifier_loss, "joint": learner.joint_loss}
    return Problem(learner.both, losses.get(what, learner.retrieval_loss), batch)


def self_supervised(encoder: Encoder) -> Problem:
    learner = object.__new__(selfsup.Learner)  # its loss alone
    learner.config, learner.temperature = SelfSupervision(), 0.05
    documents, labels = encoder.tokenize(TEXTS), encoder.tokenize(NAMES[:4])
    pairs = {
        "rows": selfsup.Pairs(documents, labels),
        "mask": selfsup.Pairs(documents, documents, y_is_document=True, mask=np.eye(4, dtype=bool)),
    }
    towers = Towers(encoder.module, np.zeros(encoder.dim, np.float32))
    return Problem(towers, learner.loss, selfsup.Batch(pairs, labels))


def level(encoder: Encoder, *, matching: bool) -> Problem:
    heads = levels.Heads(encoder.module, np.ones((6, encoder.dim + 1), np.float32))
    trained = levels.Levels(FineTuning(balance=0.5, weighted=True), encoder, TEXTS, 0)
    there = np.array([[1, 1, 1], [1, 1, 0], [1, 1, 0], [1, 1, 1]], bool)
    hits = np.array([[1, 1, 0], [1, 0, 0], [1, 0, 0], [1, 0, 0]], bool)
    nodes = np.array([[0, 1, 2], [2, 3, 0], [4, 0, 0], [3, 1, 5]], np.int32)
    batch = levels.Batch(trained.tokens, nodes, hits, there)
    return Problem(heads, trained.matching if matching else levels.hinge, batch)


def attention_level(encoder: Encoder) -> Level:
    with torch.random.fork_rng(devices=[]):
        return Level(encoder.module, AttentionXml(dim=8).shape(encoder.dim, len(NAMES)))


def label_wise(encoder: Encoder) -> Problem:
    truth = TRUTH.toarray().astype(np.float32)
    batch = attention.Batch(encoder.tokenize(TEXTS), np.arange(len(NAMES)), truth, np.ones_like(truth))
    return Problem(attention_level(encoder), attention.candidate_loss, batch)


PROBLEMS: dict[str, Callable[[Encoder], Problem]] = {
    "of-de": lambda encoder: one_sided(encoder, "frozen", attention=False),
    "of-lan": lambda encoder: one_sided(encoder, "frozen", attention=True),
    "ova-clf": lambda encoder: one_sided(encoder, "free", attention=False),
    "lan": lambda encoder: one_sided(encoder, "free", attention=True),
    "of-lan of the paper": lambda encoder: one_sided(encoder, "frozen", attention=True, paper=True),
    "ova-clf of the paper": lambda encoder: one_sided(encoder, "free", attention=False, paper=True),
    "lan of the paper": lambda encoder: one_sided(encoder, "free", attention=True, paper=True),
    "dpr": lambda encoder: one_sided(encoder, "second", attention=False),
    "dexml, attention": lambda encoder: one_sided(encoder, "same", attention=True),
    "classifier": lambda encoder: dual(encoder, "classifier"),
    "depl": lambda encoder: dual(encoder, "retrieval"),
    "depl+cls": lambda encoder: dual(encoder, "joint"),
    "maclr": self_supervised,
    "xr-transformer": lambda encoder: level(encoder, matching=False),
    "matchxml": lambda encoder: level(encoder, matching=True),
    "attentionxml": label_wise,
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_step_on_another_device(encoder: Encoder, name: str) -> None:
    """Loss and gradients are where the weights are; anything that is left on the CPU raises on the way."""
    module, loss, batch = PROBLEMS[name](encoder)
    with pretended():
        elsewhere(module).train()
        found = loss(module, batch)
        parts = list(found.values()) if isinstance(found, dict) else [found]
        torch.stack(parts).sum().backward()  # type: ignore[no-untyped-call]
        trained = {name: weight for name, weight in module.named_parameters() if weight.grad is not None}
    assert are_elsewhere(*parts, *(weight.grad for weight in trained.values()))
    assert any("encoder" in name or "embedding" in name for name in trained)


def test_paper_pooling_on_another_device(tiny_folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERYLABEL_CACHE", str(cache))
    module, loss, batch = dual(load_encoder(EncoderConfig(kind=str(tiny_folder), cache=False)), "paper pooling")
    with pretended():
        loss(elsewhere(module), batch).backward()
        assert are_elsewhere(module["dual"].document.weight.grad)


def tokens_of(encoder: Encoder) -> Tokens:
    return encoder.tokenize(["fish in the sea", "", "law of the european union"])


def test_attention_ranks_on_another_device(encoder: Encoder) -> None:
    """Queries and outputs of labels are kept as numpy arrays: they follow the tokens."""
    side, tokens = document_side(encoder, attention=True), tokens_of(encoder)
    labels = {name: np.ones((6, encoder.dim), np.float32) for name in ("queries", "outputs")}
    with pretended():
        documents = ModuleDocuments(elsewhere(side), "auto")
        vectors, read = documents.read(tokens)
        cosines = documents.attended(read, np.array([[0, 1], [2, -1], [5, 4]], np.int32), labels)
        weights = documents.weights(encoder.tokenize(["fish and fish"]), labels["queries"][0])
    assert vectors.shape == (3, encoder.dim)
    assert cosines.shape == (3, 2)
    assert weights.shape == (3,)


@pytest.mark.parametrize("attention", [False, True])
def test_documents_and_labels_are_read_on_another_device(encoder: Encoder, attention: bool) -> None:
    module = one_sided(encoder, "frozen", attention=attention).module
    tokens = tokens_of(encoder)
    with pretended():
        elsewhere(module)
        documents = ModuleDocuments(module["documents"], "auto")
        assert documents.vectors(tokens).shape == (3, encoder.dim)
        assert documents.through_layer(np.ones((2, encoder.dim), np.float32)).shape == (2, encoder.dim)
        assert all(isinstance(value, np.ndarray) for value in documents.state().values())
        own = label_vectors(module["labels"], 6, "auto")
    assert own["outputs"].shape == (6, encoder.dim)
    assert set(own) == ({"outputs", "queries"} if attention else {"outputs"})


def test_a_dual_encoder_is_read_on_another_device(encoder: Encoder) -> None:
    module, tokens = dual(encoder, "retrieval").module, tokens_of(encoder)
    with pretended():
        towers = ModuleTowers(elsewhere(module)["dual"], "auto")
        assert towers.documents(tokens).shape == towers.labels(tokens).shape == (3, encoder.dim)
        assert towers.constant == 0
        assert all(isinstance(value, np.ndarray) for value in towers.state().values())


def test_after_training_texts_are_read_on_the_gpu(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Training brings the weights back to the CPU: documents and labels are read by a copy on the device."""
    tokens = tokens_of(encoder)
    towers = ModuleTowers(dual(encoder, "retrieval").module["dual"], "auto")
    sides = one_sided(encoder, "second", attention=True).module
    documents = ModuleDocuments(sides["documents"], "auto")
    ranker = AttentionRanker(encoder, flat_tree(np.arange(len(NAMES), dtype=np.int32)), [attention_level(encoder)], 2)
    own = (towers.dual, sides["documents"], sides["labels"], ranker._levels)
    copies, read = {id(module): deepcopy(module) for module in own}, []

    def copied(self: Placed[Any]) -> Any:
        read.append(elsewhere(copies[id(self.module)]))
        return read[-1]

    monkeypatch.setattr(Placed, "__call__", copied)  # a pretended module cannot be copied
    asked: list[Callable[[], Any]] = [
        lambda: towers.documents(tokens),
        lambda: towers.labels(tokens),
        lambda: documents.vectors(tokens),
        lambda: documents.read(tokens),
        lambda: label_vectors(sides["labels"], 6, "auto"),
        lambda: ranker.best_nodes(tokens, 1, QUIET),
    ]
    for ask in asked:
        read.clear()
        with pretended():
            ask()
        assert read


def test_clusters_are_made_of_vectors_from_another_device(encoder: Encoder) -> None:
    learner: Any = object.__new__(selfsup.Learner)
    learner.config, learner.progress = SelfSupervision(clustering=True), QUIET
    learner.towers = Towers(encoder.module, np.zeros(encoder.dim, np.float32))
    corpus = Corpus.of(Documents.of(TEXTS), encoder)
    stage = selfsup.StageOne(learner, corpus, 10)
    with pretended():
        elsewhere(learner.towers)
        assert stage.vectors().shape == (len(corpus), encoder.dim) == (3, encoder.dim)  # one has a single word
