"""An encoder fine-tuned level by level down a tree of labels: the neural part of MatchXML and XR-Transformer.

Each level has a head, a vector and a bias for each of its nodes, that starts as a linear model on the encoder's vectors
of that moment. A document is compared with its own nodes and with nodes below the branches to which the level above
sends it wrongly, never with all. Squared hinge; at the last level text-label matching (eq. 4 to 6). Cost of a step: one
pass of a batch's texts, and batch x shortlist x dim; between levels one encoding of all documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor, nn
from torch.nn import functional

from everylabel.encoders.base import Encoder, Tokens
from everylabel.linear.ranker import documents_of_nodes
from everylabel.linear.solver import Features, SolverConfig, train_level
from everylabel.run import QUIET, Run
from everylabel.train.batches import epoch_rows
from everylabel.train.loop import Group, train
from everylabel.train.losses import of_positives, squared_hinge, supervised_contrastive
from everylabel.tree.build import LabelTree
from everylabel.types import Csr, FloatArray, IntArray, LongArray
from everylabel.vectors import unit_rows

if TYPE_CHECKING:
    from everylabel.methods.matchxml.matchxml import FineTuning

BETAS, EPS, DECAY = (0.9, 0.98), 1e-6, 0.1  # of the paper's table IV; the last two for transformers
STATIC_LR, TRANSFORMER_LR, HEAD_LR = 0.01, 5e-5, 1e-3
BEAM = 10  # branches of the level above that other nodes are taken from
_CHUNK = 256


class Batch(NamedTuple):
    """Texts, and for each a shortlist of nodes, its own (`hits`) among them; `there` is false where it is padded."""

    texts: Tokens
    nodes: IntArray
    hits: Any
    there: Any


class Heads(nn.Module):
    """The encoder, and a vector with a bias for each node of the level that is trained."""

    def __init__(self, encoder: nn.Module, head: FloatArray) -> None:
        super().__init__()
        self.encoder = encoder
        n_nodes, width = head.shape
        self.head = nn.Embedding(n_nodes, width, sparse=True, _weight=torch.from_numpy(head))

    def texts(self, tokens: Tokens) -> Tensor:
        return functional.normalize(self.encoder(tokens), dim=1)

    def nodes(self, nodes: IntArray) -> Tensor:
        found: Tensor = self.head(torch.from_numpy(nodes).to(self.head.weight.device))
        return found


class Levels:
    """`fine_tune` trains the encoder in place."""

    def __init__(self, config: FineTuning, encoder: Encoder, texts: list[str], seed: int, run: Run = QUIET) -> None:
        self.config, self.encoder, self.seed, self.run = config, encoder, seed, run
        self.tokens = encoder.tokenize(texts, run=run)

    def fine_tune(self, pairs: Csr, tree: LabelTree) -> None:
        pairs = csr_matrix(pairs)[:, tree.order]
        # documents x nodes: where the search sends them
        above = csr_matrix(np.ones((self.tokens.n_rows, 1), np.float32))
        parents, weights = above, np.zeros((0, self.encoder.dim + 1), np.float32)
        for t in range(tree.depth):
            last = t == tree.depth - 1
            own = documents_of_nodes(pairs, tree, t + 1)
            vectors = self.encoder.encode_tokens(self.tokens, run=self.run)
            if t > 0:
                above = best_nodes(vectors, weights, above, tree.children[t - 1], BEAM)
            head = bootstrapped(vectors, own, parents, tree.children[t], self.seed + t)
            heads = Heads(self.encoder.module, unit_rows(head) if last and self.config.matching else head)
            self.train(heads, Shortlists(self, own, csr_matrix(above + parents), tree.children[t]), last)
            weights, parents = heads.head.weight.detach().cpu().numpy(), own

    def train(self, heads: Heads, batches: Shortlists, last: bool) -> None:
        config, static = self.config, self.encoder.config.kind == "static"
        rate = config.lr or (STATIC_LR if static else TRANSFORMER_LR)
        weights = list(heads.encoder.parameters())
        if static:
            encoder = [Group(weights, lr=rate, sparse=True, betas=BETAS)]
        else:
            encoder = Group(weights, lr=rate, betas=BETAS, eps=EPS, weight_decay=DECAY).but_vectors()
        head = Group(list(heads.head.parameters()), lr=HEAD_LR, sparse=True, betas=BETAS)
        steps = max(1, round(config.epochs * self.tokens.n_rows / (config.batch_size * config.accumulate)))
        loss = self.matching if last and config.matching else hinge
        schedule = config.schedule(steps=steps, device=self.encoder.config.device)
        name = f"fine-tuning, {batches.n_nodes:,} nodes"
        for _ in train(
            heads, batches, loss, schedule, groups=[*encoder, head], seed=self.seed, name=name, run=self.run
        ):
            pass

    def matching(self, heads: Heads, batch: Batch) -> dict[str, Tensor]:
        """Eq. 6. Text to label over each text's shortlist, label to text over the batch's own labels and texts."""
        losses, balance = {}, self.config.balance
        x, temperature = heads.texts(batch.texts), self.config.temperature
        if balance > 0:
            e = functional.normalize(heads.nodes(batch.nodes)[..., :-1], dim=2)
            logits = torch.einsum("id,ijd->ij", x, e) / temperature
            logits = logits.masked_fill(~torch.from_numpy(batch.there).to(logits.device), -torch.inf)
            losses["text-label"] = balance * of_positives(logits, batch.hits)
        if balance < 1:
            rows, places = np.nonzero(batch.hits)
            labels, columns = np.unique(batch.nodes[rows, places], return_inverse=True)
            mask = np.zeros((len(labels), len(batch.nodes)), bool)
            mask[columns, rows] = True
            e = functional.normalize(heads.nodes(labels)[:, :-1], dim=1)
            losses["label-text"] = (1 - balance) * supervised_contrastive(e, x, mask, temperature)
        return losses


def hinge(heads: Heads, batch: Batch) -> Tensor:
    x, nodes = heads.texts(batch.texts), heads.nodes(batch.nodes)
    scores = torch.einsum("id,ijd->ij", x, nodes[..., :-1]) + nodes[..., -1]
    return squared_hinge(scores, batch.hits, batch.there)


class Shortlists:
    """Batches of a level: each document with its own nodes, and some of the others below its branches."""

    def __init__(self, levels: Levels, own: Csr, branches: Csr, children: LongArray) -> None:
        self.levels, self.own, self.branches, self.children = levels, own, branches, children
        self.n_nodes = own.shape[1]

    def __call__(self, number: int, rng: np.random.Generator) -> Batch:
        config = self.levels.config
        rows = epoch_rows(self.levels.tokens.n_rows, config.batch_size, number, self.levels.seed)
        lists, n_own = [], []
        for row in rows:
            own = self.own.indices[self.own.indptr[row] : self.own.indptr[row + 1]]
            branches = self.branches.indices[self.branches.indptr[row] : self.branches.indptr[row + 1]]
            below = np.concatenate([np.arange(self.children[b], self.children[b + 1]) for b in branches])
            others = np.setdiff1d(below, own, assume_unique=True)
            if len(others) > config.negatives:
                others = rng.choice(others, config.negatives, replace=False)
            lists.append(np.concatenate([own, others]))
            n_own.append(len(own))
        places = np.arange(max(len(nodes) for nodes in lists))
        there = places < np.array([[len(nodes)] for nodes in lists])
        padded = np.zeros(there.shape, np.int32)
        padded[there] = np.concatenate(lists)
        return Batch(self.levels.tokens.take(rows), padded, places < np.array(n_own)[:, None], there)


def bootstrapped(vectors: FloatArray, own: Csr, parents: Csr, children: LongArray, seed: int) -> FloatArray:
    """(nodes, dim + 1): the level's linear model on these vectors, bias last."""
    features = Features.of(csr_matrix((len(vectors), 0), dtype=np.float32), vectors)
    weights = train_level(
        features, own, parents, children, SolverConfig(prune=0.0), seed=seed, name="linear model of the level"
    )
    return np.ascontiguousarray(weights.toarray().T)


def best_nodes(vectors: FloatArray, head: FloatArray, above: Csr, children: LongArray, beam: int) -> Csr:
    """Documents x nodes: the best `beam` nodes of each document below its branches. O(documents x nodes x dim)."""
    n_nodes = len(head)
    parents = np.repeat(np.arange(len(children) - 1), np.diff(children))
    member = csr_matrix((np.ones(n_nodes, np.float32), (parents, np.arange(n_nodes))))
    rows, nodes = [], []
    for first in range(0, len(vectors), _CHUNK):
        scores = vectors[first : first + _CHUNK] @ head[:, :-1].T + head[:, -1]
        allowed = csr_matrix(above[first : first + _CHUNK] @ member).toarray() > 0
        scores[~allowed] = -np.inf
        best = np.argsort(-scores, axis=1, kind="stable")[:, :beam]
        kept = np.take_along_axis(allowed, best, 1)
        rows.append(first + np.nonzero(kept)[0])
        nodes.append(best[kept])
    at = (np.concatenate(rows), np.concatenate(nodes))
    return csr_matrix((np.ones(len(at[0]), np.float32), at), shape=(len(vectors), n_nodes))
