"""How a dual encoder learns (the paper: depl.py): two stages for the one loop, a classifier and then retrieval.

Labels are numbered here in the order of their ids, the seen ones first; documents are those that have a label, in the
order of their ids. Cost of a step: a pass forward and back over the tokens of the batch's documents and of
its label set; the classifier's is documents x labels x dim operations more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from everylabel.encoders.base import Tokens
from everylabel.methods.depl.module import Dual, bce, joint_bce, linear
from everylabel.run import QUIET, Run
from everylabel.train.batches import dense_part, epoch_rows, joined_by_others
from everylabel.train.loop import Group, train
from everylabel.types import Csr, FloatArray, IntArray, LongArray

if TYPE_CHECKING:
    from everylabel.methods.depl.settings import Learning

STATIC_LR, TRANSFORMER_LR = 0.03, 5e-5
IMPROBABLE = -30.0  # a logit


@dataclass(frozen=True)
class Pairs:
    """Labelled documents and all labels; `hard` has each document's hard negatives, padded with -1."""

    documents: Tokens
    truth: Csr
    n_seen: int
    hard: IntArray


@dataclass(frozen=True)
class Texts:
    """The labels' texts, and the same labels' texts as if nobody had used them (`plain`)."""

    full: Tokens
    plain: Tokens
    plain_share: float  # of the labels of a batch: so that the labels nobody has used are read as the others are

    def take(self, labels: IntArray, rng: np.random.Generator) -> Tokens:
        plain = rng.random(len(labels)) < self.plain_share
        return self._both.take(labels + self.full.n_rows * plain)

    @cached_property
    def _both(self) -> Tokens:
        return Tokens.join([self.full, self.plain])


class Batch(NamedTuple):
    documents: Tokens
    columns: IntArray  # the label set, sorted
    truth: FloatArray  # documents x label set
    labels: Tokens | None = None  # the texts of the label set


class DualLearner:
    """Trains a dual encoder in place, and a head beside it, if there is to be one: seen labels x dim."""

    def __init__(
        self,
        dual: Dual,
        pairs: Pairs,
        seed: int,
        run: Run = QUIET,
        *,
        static: bool,
        device: str = "auto",
        with_head: bool = True,
    ) -> None:
        self.dual, self.pairs, self.seed, self.run, self.static, self.device = dual, pairs, seed, run, static, device
        self.head = linear(dual.dim, pairs.n_seen if with_head else 1)  # a row that nothing is done with
        share = np.asarray(pairs.truth.sum(axis=0)).ravel()[: self.head.out_features] / (pairs.truth.shape[0] + 1)
        with torch.no_grad():  # a head that knows nothing says how frequent a label is
            self.head.bias.copy_(torch.from_numpy(np.log(share / (1 - share))))
        self.both = nn.ModuleDict({"dual": dual, "head": self.head})

    def classify(self, learn: Learning) -> None:
        """Binary cross-entropy over all seen labels. The pooling layer of labels becomes that of the documents."""
        truth, columns = self.pairs.truth[:, : self.pairs.n_seen], np.arange(self.pairs.n_seen, dtype=np.int32)

        def batches(number: int, _rng: np.random.Generator) -> Batch:
            rows = epoch_rows(self.pairs.documents.n_rows, learn.batch_size, number, self.seed)
            return Batch(self.pairs.documents.take(rows), columns, truth[rows].toarray().astype(np.float32))

        layers, head = list(self.dual.document.parameters()), list(self.head.parameters())
        self._train("classifier", batches, self.classifier_loss, learn, layers, head)
        self.dual.label.load_state_dict(self.dual.document.state_dict())

    def retrieve(self, learn: Learning, texts: Texts, size: int, *, unseen: bool, joint: bool) -> None:
        """Binary cross-entropy over a label set a batch (section 3.3), of the seen labels or of all."""
        n_labels = int(self.pairs.truth.shape[1]) if unseen else self.pairs.n_seen
        sets = LabelSets(self.pairs, texts, n_labels, learn.batch_size, size, self.seed)
        per_document = self.pairs.truth.nnz / max(1, self.pairs.truth.shape[0])
        if not self.dual.shape.plain:
            with torch.no_grad():  # most labels are wrong: a start from there saves the first steps
                self.dual.constant.fill_(-float(np.log(max(2.0, min(size, n_labels) / per_document))))
        layers = [*self.dual.document.parameters(), *self.dual.label.parameters(), self.dual.constant]
        loss = self.joint_loss if joint else self.retrieval_loss
        self._train("retrieval", sets, loss, learn, layers, list(self.head.parameters()) if joint else [])

    def classifier_loss(self, both: Any, batch: Batch) -> Tensor:
        logits: Tensor = both["head"](both["dual"].documents(batch.documents))
        return bce(logits, _like(batch.truth, logits))

    def retrieval_loss(self, both: Any, batch: Batch) -> Tensor:
        _, logits = both["dual"].scored(batch.documents, batch.labels)
        return bce(logits, _like(batch.truth, logits))

    def joint_loss(self, both: Any, batch: Batch) -> Tensor:
        """The head knows nothing of labels that nobody has used: they are improbable."""
        documents, retrieved = both["dual"].scored(batch.documents, batch.labels)
        head = both["head"]
        n_seen = int(np.searchsorted(batch.columns, self.pairs.n_seen))
        at = torch.from_numpy(batch.columns[:n_seen].astype(np.int64)).to(head.weight.device)
        logits = functional.linear(documents, head.weight[at], head.bias[at])
        logits = functional.pad(logits, (0, len(batch.columns) - n_seen), value=IMPROBABLE)
        return joint_bce(retrieved, logits, _like(batch.truth, documents))

    def _train(
        self,
        name: str,
        batches: Callable[..., Batch],
        loss: Any,
        learn: Learning,
        layers: list[nn.Parameter],
        head: list[nn.Parameter],
    ) -> None:
        lr = learn.rate(STATIC_LR if self.static else TRANSFORMER_LR)
        encoder = Group(self.dual.encoder.parameters(), lr=lr, sparse=self.static)
        groups = [encoder, Group(layers, lr=learn.layer_lr), Group(head, lr=learn.head_lr or learn.layer_lr)]
        config = learn.schedule(steps=learn.n_steps(self.pairs.documents.n_rows), device=self.device)
        for _ in train(self.both, batches, loss, config, groups=groups, seed=self.seed, name=name, run=self.run):
            pass

    def head_rows(self) -> FloatArray:
        """Weights, and the constant last."""
        weight, bias = (tensor.detach().cpu().numpy() for tensor in (self.head.weight, self.head.bias))
        return np.column_stack([weight, bias])


@dataclass(frozen=True)
class LabelSets:
    """Batches of retrieval: documents with all their labels, their hard negatives, and random labels up to `size`."""

    pairs: Pairs
    texts: Texts
    n_labels: int  # the first so many are drawn from
    batch_size: int
    size: int
    seed: int

    def __call__(self, number: int, rng: np.random.Generator) -> Batch:
        rows = epoch_rows(self.pairs.documents.n_rows, self.batch_size, number, self.seed)
        columns = self.columns(rows, rng)
        truth = dense_part(self.pairs.truth, rows, columns)
        return Batch(self.pairs.documents.take(rows), columns, truth, self.texts.take(columns, rng))

    def columns(self, rows: LongArray, rng: np.random.Generator) -> IntArray:
        hard = self.pairs.hard[rows].ravel()
        own = np.concatenate([self.pairs.truth[rows].indices, hard[hard >= 0]])
        return joined_by_others(own, self.n_labels, self.size, rng)


def _like(values: FloatArray, tensor: Tensor) -> Tensor:
    return torch.from_numpy(values).to(tensor.device)
