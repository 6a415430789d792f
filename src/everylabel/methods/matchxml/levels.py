"""An encoder fine-tuned level by level down a tree of labels: the neural part of MatchXML and XR-Transformer.

Each level of at most `most_nodes` nodes is a stage. It has a head, a vector and a bias for each of its nodes, that
starts as a linear model on the encoder's vectors of that moment. A document is compared with its own nodes and with
nodes below the branches to which the level above sends it wrongly, never with all. Squared hinge; at the last stage
text-label matching (eq. 4 to 6). Cost of a step: one pass of a batch's texts, and batch x shortlist x dim; between
stages one encoding of all documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
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
from everylabel.train.peers import by_first
from everylabel.tree.build import LabelTree
from everylabel.types import Csr, FloatArray, IntArray, LongArray, Ranking
from everylabel.vectors import unit_rows

if TYPE_CHECKING:
    from everylabel.methods.matchxml.matchxml import FineTuning

BETAS, EPS, DECAY = (0.9, 0.98), 1e-6, 0.1  # of the paper's table IV; the last two for transformers
STATIC_LR, TRANSFORMER_LR = 0.01, 5e-5
_CHUNK = 256


class Batch(NamedTuple):
    """Texts, and for each a shortlist of nodes, its own (`hits`) among them; `there` is false where it is padded.

    `weights`, where they count: as many as the text has labels below a node, and 1 for nodes that are not its own.
    """

    texts: Tokens
    nodes: IntArray
    hits: Any
    there: Any
    weights: Any = None


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
        n_stages = self.n_stages(tree)
        for t in range(n_stages):
            last = t == n_stages - 1
            own = documents_of_nodes(pairs, tree, t + 1)
            above, head = by_first(partial(self.started, tree, t, own, parents, above, weights))
            branches = csr_matrix(above + parents)
            by_direction = last and self.config.matching and not self.config.hinge_too
            heads = Heads(self.encoder.module, unit_rows(head) if by_direction else head)
            self.train(heads, Shortlists(self, own, branches, tree.children[t]), t, last=last)
            weights, parents = heads.head.weight.detach().cpu().numpy(), own

    def started(
        self, tree: LabelTree, t: int, own: Csr, parents: Csr, above: Csr, weights: FloatArray
    ) -> tuple[Csr, FloatArray]:
        """Before stage t: where the search by the `weights` of the one before sends documents, and the first head."""
        vectors = self.encoder.encode_tokens(self.tokens, run=self.run)
        if t > 0:
            above = best_nodes(vectors, weights, above, tree.children[t - 1], self.config.beam)
        compared = csr_matrix(above + parents) if self.config.matcher_start else parents
        head = bootstrapped(vectors, own, compared, tree.children[t], self.seed + t, weighted=self.starts_weighted)
        return above, head

    @property
    def starts_weighted(self) -> bool:
        asked = self.config.weighted_start
        return self.config.weighted if asked is None else asked

    def n_stages(self, tree: LabelTree) -> int:
        """One at least, whatever the nodes of the first level."""
        return max(1, sum(int(level[-1]) <= self.config.most_nodes for level in tree.children))

    def train(self, heads: Heads, batches: Shortlists, stage: int, *, last: bool) -> None:
        config, static = self.config, self.encoder.config.kind == "static"
        rate = of_stage(config.stage_lr, stage) or config.lr or (STATIC_LR if static else TRANSFORMER_LR)
        weights = list(heads.encoder.parameters())
        if static:
            encoder = [Group(weights, lr=rate, sparse=True, betas=BETAS)]
        else:
            encoder = Group(weights, lr=rate, betas=BETAS, eps=EPS, weight_decay=DECAY).but_vectors()
        of_head: dict[str, Any] = {} if static else {"eps": EPS}
        head = Group(list(heads.head.parameters()), lr=config.head_lr, sparse=True, betas=BETAS, **of_head)
        by_epochs = max(1, round(config.epochs * self.tokens.n_rows / (config.batch_size * config.accumulate)))
        steps = int(of_stage(config.stage_steps, stage) or by_epochs)
        loss = self.matching if last and config.matching else hinge
        schedule = config.schedule(steps=steps, device=self.encoder.config.device)
        warmup = of_stage(config.stage_warmup, stage)
        schedule = schedule if warmup is None else replace(schedule, warmup=warmup)
        name = f"fine-tuning, {batches.n_nodes:,} nodes"
        for _ in train(
            heads, batches, loss, schedule, groups=[*encoder, head], seed=self.seed, name=name, run=self.run
        ):
            pass

    def matching(self, heads: Heads, batch: Batch) -> dict[str, Tensor]:
        """Eq. 6. Text to label over each text's shortlist, label to text over the batch's own labels and texts."""
        losses, balance = {}, self.config.balance
        x, temperature = heads.texts(batch.texts), self.config.temperature
        if self.config.hinge_too:
            losses["hinge"] = hinge_of(x, heads, batch) / batch.nodes.shape[1]
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
    return hinge_of(heads.texts(batch.texts), heads, batch)


def hinge_of(x: Tensor, heads: Heads, batch: Batch) -> Tensor:
    """The mean over texts of the sum over their shortlists."""
    nodes = heads.nodes(batch.nodes)
    scores = torch.einsum("id,ijd->ij", x, nodes[..., :-1]) + nodes[..., -1]
    return squared_hinge(scores, batch.hits, batch.there, batch.weights)


def of_stage(values: Sequence[float], stage: int) -> float | None:
    """A stage's own value; the last one holds for all stages after it."""
    return values[min(stage, len(values) - 1)] if values else None


class Shortlists:
    """Batches of a level: each document with its own nodes, and some of the others below its branches."""

    def __init__(self, levels: Levels, own: Csr, branches: Csr, children: LongArray) -> None:
        self.levels, self.own, self.branches, self.children = levels, own, branches, children
        self.n_nodes = own.shape[1]

    def __call__(self, number: int, rng: np.random.Generator) -> Batch:
        config = self.levels.config
        rows = epoch_rows(self.levels.tokens.n_rows, config.batch_size, number, self.levels.seed)
        lists, n_own, counts = [], [], []
        for row in rows:
            own = self.own.indices[self.own.indptr[row] : self.own.indptr[row + 1]]
            counts.append(self.own.data[self.own.indptr[row] : self.own.indptr[row + 1]])
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
        hits, weights = places < np.array(n_own)[:, None], None
        if config.weighted:
            weights = np.ones(there.shape, np.float32)
            weights[hits] = np.concatenate(counts)
        return Batch(self.levels.tokens.take(rows), padded, hits, there, weights)


def bootstrapped(
    vectors: FloatArray, own: Csr, branches: Csr, children: LongArray, seed: int, *, weighted: bool = False
) -> FloatArray:
    """(nodes, dim + 1): the level's linear model on these vectors, bias last.

    A node learns from the documents of its parent in `branches`. Weighted: own ones count by their values in `own`.
    """
    features = Features.of(csr_matrix((len(vectors), 0), dtype=np.float32), vectors)
    settings: Any = {"seed": seed, "name": "linear model of the level", "weighted": weighted}
    weights = train_level(features, own, branches, children, SolverConfig(prune=0.0), **settings)
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
        ids = np.broadcast_to(np.arange(n_nodes, dtype=np.int32), scores.shape)
        best = Ranking.best_of(ids, scores, beam).ids
        rows.append(first + np.nonzero(best >= 0)[0])
        nodes.append(best[best >= 0])
    at = (np.concatenate(rows), np.concatenate(nodes))
    return csr_matrix((np.ones(len(at[0]), np.float32), at), shape=(len(vectors), n_nodes))
