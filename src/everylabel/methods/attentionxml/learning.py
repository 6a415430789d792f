"""How AttentionXML (attentionxml.py) learns: level by level down the tree, in the one training loop."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor, nn
from torch.nn import functional

from everylabel.encoders.base import Encoder, Tokens
from everylabel.encoders.fingerprint import evaluating
from everylabel.methods.attentionxml.module import Level, token_vectors
from everylabel.methods.attentionxml.ranker import AttentionRanker, children_of, parts_of
from everylabel.methods.depl.dual_learning import TRANSFORMER_LR
from everylabel.run import Run
from everylabel.train.batches import epoch_rows
from everylabel.train.loop import Group, train
from everylabel.train.peers import by_first
from everylabel.tree.build import LabelTree
from everylabel.types import Csr, FloatArray, IntArray, LongArray
from everylabel.vectors import unit_rows

if TYPE_CHECKING:
    from everylabel.methods.attentionxml.attentionxml import AttentionXml

DROPOUTS = (0.2, 0.5)  # of token vectors and of states, as in the paper
SAMPLE = 256  # documents whose token vectors say how long they are
STATIC_LR = 0.003  # of vectors that are 1 long
START = 4.0  # length of a label's first query and output vector


class Batch(NamedTuple):
    documents: Tokens
    nodes: LongArray  # a row a document, or one for all
    truth: FloatArray  # documents x nodes
    there: FloatArray  # 0 where a row has fewer nodes than others


@dataclass
class Learner:
    """Trains the encoder with the first level, then each other level beside it."""

    method: AttentionXml
    encoder: Encoder
    tree: LabelTree
    documents: Tokens
    truth: Csr  # documents x places in the tree's order
    run: Run

    def learn(self) -> AttentionRanker:
        ranker = AttentionRanker(self.encoder, self.tree, [], self.method.beam)
        self.encoder.module.requires_grad_(self.encoder.config.trainable)
        for t in range(self.tree.depth):
            level, own = self._level(t, ranker.levels[-1] if ranker.levels else None), self._truth(t + 1)
            above = None if t == 0 else by_first(partial(ranker.best_nodes, self.documents, t, self.run))
            if not self.method.shared_output:
                self._start(level, own)
            self._train(t, level, own, above)
            ranker.add(level)
            self.encoder.module.requires_grad_(False)  # it stays as the first level has left it: all levels share it
        return ranker

    def _level(self, t: int, above: Level | None) -> Level:
        method = self.method
        shape = method.shape(self.encoder.dim, int(self.tree.children[t][-1]))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(method.random_state + t)
            level = Level(self.encoder.module, shape, DROPOUTS)
        if above is None:
            level.reader.scale.fill_(by_first(lambda: self._scale(level)))
        else:  # the paper: a level begins with what the one above has learned, but for its attention
            level.reader.load_state_dict(above.reader.state_dict())
            if level.layers is not None and above.layers is not None:
                level.layers.load_state_dict(above.layers.state_dict())
        return level

    def _scale(self, level: Level) -> float:
        """That makes token vectors 1 long, on average."""
        sample = self.documents.take(np.arange(min(SAMPLE, self.documents.n_rows)))
        with evaluating(level), torch.inference_mode():
            vectors, mask = token_vectors(level.encoder, sample.cut(SAMPLE))
            return 1 / max(float(vectors[mask].norm(dim=1).mean()), 1e-6)

    def _truth(self, t: int) -> Csr:
        """Documents x nodes of a level: how many of a document's labels are below each."""
        node = self.tree.node_of_label(t)
        n_nodes = int(node[-1]) + 1
        below = csr_matrix((np.ones(len(node), np.float32), (np.arange(len(node)), node)), (len(node), n_nodes))
        return csr_matrix(self.truth @ below)

    def _start(self, level: Level, truth: Csr) -> None:
        """A node's first query and output vector point to what its documents have and others have not."""
        own = truth.sign()
        centres = by_first(lambda: self._centres(level, own))
        share = np.clip(np.asarray(own.mean(axis=0)).ravel(), 1e-6, 0.5)
        assert level.outputs is not None
        assert level.biases is not None
        with torch.no_grad():
            for table in (level.queries, level.outputs):
                table.weight.copy_(torch.from_numpy(centres))
            level.biases.weight.copy_(torch.from_numpy(np.log(share / (1 - share)).astype(np.float32))[:, None])

    def _centres(self, level: Level, truth: Csr) -> FloatArray:
        pooled = np.zeros((self.documents.n_rows, level.shape.dim), np.float32)
        with evaluating(level), torch.inference_mode():
            for rows in parts_of(self.documents.lengths, 1, level.shape.dim):
                read = level.read(self.documents.take(rows))
                counts = read.mask.sum(dim=1, keepdim=True).clamp(min=1)
                pooled[rows] = (read.states.sum(dim=1) / counts).cpu().numpy()
        return np.asarray(START * unit_rows(truth.T @ (pooled - pooled.mean(axis=0))))

    def _train(self, t: int, level: Level, truth: Csr, above: IntArray | None) -> None:
        method, learn = self.method, self.method.learn
        static = self.encoder.config.kind == "static"
        scale = float(level.reader.scale)  # static vectors are as long as the corpus makes them: so is a step
        lr = learn.rate(STATIC_LR / scale if static else TRANSFORMER_LR)
        tables = [part for part in (level.queries, level.outputs, level.biases) if part is not None]
        labels: list[nn.Parameter] = [part.weight for part in tables]  # type: ignore[misc]
        known = {id(weight) for weight in (*labels, *level.encoder.parameters())}
        layers = [weight for weight in level.parameters() if id(weight) not in known]
        groups = [
            Group(level.encoder.parameters(), lr=lr, sparse=static),
            Group(layers, lr=learn.layer_lr),
            Group(labels, lr=method.label_lr, sparse=True),
        ]
        batches = Batches(self, t, truth.sign(), above)
        config = learn.schedule(steps=learn.n_steps(self.documents.n_rows), device=self.encoder.config.device)
        settings: dict[str, Any] = {"seed": method.random_state, "name": f"level-{t + 1}", "run": self.run}
        for _ in train(level, batches, candidate_loss, config, groups=groups, **settings):
            pass


@dataclass(frozen=True)
class Batches:
    """Documents with all nodes of the first level, or with the children of their best and their true nodes above."""

    learner: Learner
    t: int
    truth: Csr
    above: IntArray | None

    def __call__(self, number: int, _rng: np.random.Generator) -> Batch:
        learner = self.learner
        rows = epoch_rows(
            learner.documents.n_rows, learner.method.learn.batch_size, number, learner.method.random_state
        )
        truth, documents = self.truth[rows], learner.documents.take(rows)
        if self.above is None:
            dense = truth.toarray().astype(np.float32)
            return Batch(documents, np.arange(truth.shape[1]), dense, np.ones_like(dense))
        starts = learner.tree.children[self.t]
        parents = np.searchsorted(starts, truth.indices, side="right") - 1
        own = np.split(parents, truth.indptr[1:-1])
        chosen = [np.union1d(true, best[best >= 0]) for true, best in zip(own, self.above[rows], strict=True)]
        width = max(len(some) for some in chosen)
        padded = np.stack([np.pad(some, (0, width - len(some)), constant_values=-1) for some in chosen])
        nodes = children_of(padded, starts)
        there = (nodes >= 0).astype(np.float32)
        nodes = np.maximum(nodes, 0)
        marks = np.zeros(nodes.shape, np.float32)
        for i in range(len(rows)):
            marks[i] = np.isin(nodes[i], truth.indices[truth.indptr[i] : truth.indptr[i + 1]])
        return Batch(documents, nodes, marks * there, there)


def candidate_loss(level: Any, batch: Batch) -> Tensor:
    """Binary cross-entropy, the mean over the candidates of all documents."""
    logits = level(level.read(batch.documents), batch.nodes)
    truth, there = (torch.from_numpy(part).to(logits.device) for part in (batch.truth, batch.there))
    losses = functional.binary_cross_entropy_with_logits(logits, truth, reduction="none")
    return (losses * there).sum() / there.sum().clamp(min=1)
