"""How the one-sided family learns (the paper: onesided.py): batches and a loss for the one loop.

Labels are numbered here in the order of their ids, the seen ones first; documents are those that have a label, in the
order of their ids. Cost of a step: a pass forward and back over the tokens of its documents and label texts, and
documents x label set x dim operations; attention: documents x labels of a document x distinct tokens x dim more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from everylabel.encoders.base import Tokens
from everylabel.methods.depl.dual_learning import STATIC_LR, TRANSFORMER_LR
from everylabel.methods.onesided.module import DocumentSide, LabelModule, Read, Seen
from everylabel.run import QUIET, Run
from everylabel.train.batches import dense_part, epoch_rows, joined_by_others
from everylabel.train.loop import Group, train
from everylabel.train.losses import decoupled_softmax
from everylabel.train.peers import by_first
from everylabel.types import Csr, IntArray, LongArray

if TYPE_CHECKING:
    from everylabel.methods.onesided.onesided import OfDe

ALWAYS = 1e4  # beside a logit: positives and the ranks asked for are in a label set before any other
POSITIVES = 8  # of a document that are asked for attention; documents with twenty would make all label sets long
Row = dict[str, Any]


@dataclass(frozen=True)
class Pairs:
    """Labelled documents, the texts of all labels, and which label belongs to which document."""

    documents: Tokens
    texts: Tokens
    truth: Csr
    n_seen: int

    @property
    def n_labels(self) -> int:
        return int(self.truth.shape[1])


class Batch(NamedTuple):
    """Rows are documents, then label texts as documents (eq. 4)."""

    rows: Tokens
    n_documents: int
    columns: IntArray  # the label set, sorted
    truth: NDArray[np.bool_]  # rows x label set
    negatives: NDArray[np.bool_]  # rows x label set: which labels a row is told apart from
    ranks: LongArray  # which of a row's wrong labels, best first, are asked for attention


@dataclass
class Batches:
    """`watch(step)` is asked before evenly spaced steps; its answers are kept, and are part of a checkpoint."""

    pairs: Pairs
    method: OfDe
    steps: int
    watch: Callable[[int], Row] | None = None

    def __post_init__(self) -> None:
        self.history: list[Row] = []
        method, pairs = self.method, self.pairs
        self.n_negatives = pairs.n_labels if method.unseen_negatives else pairs.n_seen
        self.n_texts = pairs.n_labels if method.unseen_auxiliary else pairs.n_seen
        if method.label_side == "free":  # the others have no weights
            self.n_negatives = self.n_texts = pairs.n_seen
        steps = (round(i * self.steps / max(method.evaluations, 1)) for i in range(method.evaluations))
        self.marks = {step * method.learn.accumulate: step for step in steps}

    def __call__(self, number: int, rng: np.random.Generator) -> Batch:
        if self.watch is not None and number in self.marks:
            self.history.append(self.watched(self.marks[number]))
        size, seed = self.method.learn.batch_size, self.method.random_state
        rows = epoch_rows(self.pairs.documents.n_rows, size, number, seed)
        labels = np.empty(0, np.int64)
        if self.method.auxiliary > 0:
            labels = epoch_rows(self.n_texts, len(rows), number, seed + 1)
        columns = self.columns(rows, labels, rng)
        truth = np.zeros((len(rows) + len(labels), len(columns)), bool)
        truth[: len(rows)] = dense_part(self.pairs.truth, rows, columns) > 0
        truth[len(rows) + np.arange(len(labels)), np.searchsorted(columns, labels)] = True
        negatives = np.ones_like(truth)
        negatives[: len(rows), columns >= self.n_negatives] = False
        texts = Tokens.join([self.pairs.documents.take(rows), self.pairs.texts.take(labels)])
        return Batch(texts, len(rows), columns, truth, negatives, self.ranks(rng))

    def watched(self, step: int) -> Row:
        assert self.watch is not None
        return by_first(partial(self.watch, step))

    def ranks(self, rng: np.random.Generator) -> LongArray:
        """Half of them the first ones, half at random from the rest of a shortlist: what attention will see."""
        n, last = self.method.hard_negatives, self.method.shortlist
        if not last:  # attention is asked for all labels of the batch
            return np.empty(0, np.int64)
        first = np.arange(min(n - n // 2, last))
        others = rng.choice(np.arange(len(first), last), min(n // 2, last - len(first)), replace=False)
        return np.concatenate([first, np.sort(others)])

    def columns(self, rows: LongArray, labels: LongArray, rng: np.random.Generator) -> IntArray:
        """All labels that may be negatives; too many: the rows' own, and random ones up to so many."""
        own = np.concatenate([self.pairs.truth[rows].indices, labels])
        return joined_by_others(own, self.n_negatives, self.method.most_labels, rng)

    def waits(self, number: int) -> bool:
        """Whether the weights are looked at before this batch."""
        return self.watch is not None and number in self.marks

    def state_dict(self) -> Row:
        return {"history": self.history}

    def load_state_dict(self, state: Row) -> None:
        self.history = list(state["history"])


class Learner:
    """Trains both sides in place."""

    def __init__(
        self,
        documents: DocumentSide,
        labels: LabelModule,
        pairs: Pairs,
        method: OfDe,
        run: Run = QUIET,
        *,
        name: str = "fine-tuning",
    ) -> None:
        self.name = name
        self.documents, self.labels, self.pairs, self.method, self.run = documents, labels, pairs, method, run
        self.both = nn.ModuleDict({"documents": documents, "labels": labels})
        counts = np.bincount(pairs.truth.indices, minlength=pairs.n_labels)
        self.prior = torch.from_numpy((method.frequency_weight * np.log1p(counts)).astype(np.float32))

    def learn(self, watch: Callable[[int], Row] | None) -> list[Row]:
        method, steps = self.method, self.steps()
        static = method.encoder.kind == "static"
        lr = method.learn.rate(STATIC_LR if static else TRANSFORMER_LR)
        parts = [self.documents.encoder, getattr(self.labels, "encoder", nn.Module())]
        encoders = {id(weight): weight for part in parts for weight in part.parameters()}
        layers = [weight for weight in self.both.parameters() if id(weight) not in encoders]
        decay = method.weight_decay
        if static:  # the few biases beside static embeddings decay as well: what was measured has it so
            groups = [Group(encoders.values(), lr=lr, sparse=True)]
            groups += [Group(layers, lr=method.learn.layer_lr, weight_decay=decay)]
        else:
            groups = Group(encoders.values(), lr=lr, weight_decay=decay).but_vectors()
            groups += Group(layers, lr=method.learn.layer_lr, weight_decay=decay).but_vectors()
        batches = Batches(self.pairs, method, steps, watch)
        config = method.learn.schedule(steps=steps, device=method.encoder.device)
        name, seed = self.name, method.random_state
        for _ in train(self.both, batches, self.loss, config, groups=groups, seed=seed, name=name, run=self.run):
            pass
        return batches.history + ([batches.watched(steps)] if watch is not None else [])

    def steps(self) -> int:
        return self.method.learn.n_steps(self.pairs.documents.n_rows)

    def loss(self, both: Any, batch: Batch) -> dict[str, Tensor]:
        """Eq. 4. With attention and shortlists pooled vectors are trained, too, by the same loss: they make them.

        Labels that are not asked for attention then count with the pooled vector's score in its loss.
        """
        read: Read = both["documents"].read(batch.rows)
        labels: Seen = both["labels"](batch.columns)
        prior = self.prior[torch.from_numpy(batch.columns.astype(np.int64))].to(labels.outputs.device)
        tokens, temperature, share = read.tokens, self.method.temperature, self.method.pooled_share
        if tokens is not None and not self.method.shortlist:
            every = torch.arange(len(batch.columns), device=labels.outputs.device).expand(len(batch.truth), -1)
            logits = both["documents"].attended(tokens, labels, every) / temperature
            return self._parts("attention", logits, prior, batch)
        logits = labels.scores(read.vectors) / temperature
        losses = self._parts("pooled", logits, prior, batch)
        if tokens is not None:
            sets = label_sets(logits.detach(), batch)
            attended = both["documents"].attended(tokens, labels, sets)
            mixed = share * logits.gather(1, sets) + (1 - share) * attended / temperature
            losses |= self._parts("attention", logits.scatter(1, sets, mixed), prior, batch)
        return losses

    def _parts(self, name: str, logits: Tensor, prior: Tensor, batch: Batch) -> dict[str, Tensor]:
        """Each term the mean over its pairs, or the sum, both divided by the number of documents (`pair_sums`)."""
        truth, negatives, n = batch.truth, batch.negatives, batch.n_documents

        def weight(pairs: NDArray[np.bool_]) -> float:
            return int(pairs.sum()) / n if self.method.pair_sums else 1.0

        losses = {name: weight(truth[:n]) * decoupled_softmax(logits[:n] + prior, truth[:n], negatives[:n])}
        if len(logits) > n:
            own = decoupled_softmax(logits[n:], truth[n:], negatives[n:])
            losses[f"{name}/labels"] = self.method.auxiliary * weight(truth[n:]) * own
        return losses


def label_sets(logits: Tensor, batch: Batch) -> Tensor:
    """Places in the label set (rows x labels of a row): a row's positives, the wrong labels of the ranks asked for.

    Rows with fewer positives than others have more of their best wrong labels instead; of more than POSITIVES those
    that the pooled vector is farthest from.
    """
    truth, negatives = (torch.from_numpy(mask).to(logits.device) for mask in (batch.truth, batch.negatives))
    order = logits.masked_fill(~negatives | truth, -ALWAYS)
    wrong = order.topk(min(int(batch.ranks.max(initial=-1)) + 1, order.shape[1]), dim=1).indices
    asked = wrong[:, torch.from_numpy(batch.ranks[batch.ranks < wrong.shape[1]]).to(wrong.device)]
    order = order.scatter_add(1, asked, torch.full_like(asked, ALWAYS, dtype=order.dtype))
    order = torch.where(truth, 3 * ALWAYS - logits, order)
    size = min(POSITIVES, int(batch.truth.sum(axis=1).max(initial=0))) + asked.shape[1]
    return order.topk(min(size, order.shape[1]), dim=1).indices
