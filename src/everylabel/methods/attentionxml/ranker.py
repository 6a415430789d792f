"""How AttentionXML (attentionxml.py) ranks: down the tree, the best nodes of each level, and what of it is saved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import torch
from torch import nn

from everylabel import checks
from everylabel.encoders.base import Encoder, EncoderConfig, Tokens
from everylabel.encoders.build import restore_encoder
from everylabel.encoders.fingerprint import evaluating
from everylabel.encoders.placed import Placed
from everylabel.methods.attentionxml.module import Level, Shape
from everylabel.run import QUIET, Run
from everylabel.states import add_prefix, strip_prefix
from everylabel.text.views import Views
from everylabel.tree.build import LabelTree
from everylabel.types import IntArray, LongArray, Ranking

CELLS = 1 << 22  # numbers of the largest array at a time, 16 MB
LARGEST_WEIGHT = 1e4


class AttentionRanker:
    """`rank`. A document: levels x (tokens x width x dim), then its candidates x tokens x dim."""

    def __init__(self, encoder: Encoder, tree: LabelTree, levels: list[Level], beam: int) -> None:
        self.encoder, self.tree, self.beam = encoder, tree, beam
        self._levels = nn.ModuleList(levels)
        self._placed = Placed(self._levels, encoder.config.device)

    @property
    def levels(self) -> list[Level]:
        return list(self._levels)  # type: ignore[arg-type]

    def add(self, level: Level) -> None:
        """While it learns: the next level down."""
        self._levels.append(level.eval())

    def rank(self, views: Views, k: int) -> Ranking:
        tokens = views.tokens(self.encoder)
        found = self._down(tokens, self.tree.depth, k, QUIET)
        ids = np.where(found.ids >= 0, self.tree.order[found.ids], -1).astype(np.int32)
        return Ranking.best_of(ids, found.scores, k).without(tokens.lengths == 0)

    def best_nodes(self, tokens: Tokens, t: int, run: Run) -> IntArray:
        """The `beam` best nodes of level t for each text, -1 where there are fewer."""
        return self._down(tokens, t, self.beam, run).ids

    def _down(self, tokens: Tokens, depth: int, k: int, run: Run) -> Ranking:
        """The k best nodes of a level, with the products of the probabilities on the way to them."""
        result, levels = Ranking.empty(tokens.n_rows, k), list(self._placed())[:depth]
        most = max(self.levels[0].shape.n_nodes, *(self._widest(t) for t in range(1, depth)), 0)
        with run.task("candidates", tokens.n_rows) as advance, torch.inference_mode():
            for rows in parts_of(tokens.lengths, most, self.levels[0].shape.dim):
                found = self._search(levels, tokens.take(rows), depth, k)
                result.ids[rows], result.scores[rows] = found.ids, found.scores
                advance(len(rows))
        return result

    def _search(self, levels: list[nn.Module], tokens: Tokens, depth: int, k: int) -> Ranking:
        best = Ranking(np.zeros((tokens.n_rows, 1), np.int32), np.ones((tokens.n_rows, 1), np.float32))  # the root
        for t, level in enumerate(levels):
            starts = self.tree.children[t]
            nodes = np.arange(starts[-1])[None] if t == 0 else children_of(best.ids.astype(np.int64), starts)
            there, asked = nodes >= 0, np.maximum(nodes, 0)
            with evaluating(level):
                logits = level(level.read(tokens), asked[0] if t == 0 else asked)  # type: ignore[operator]
            scores = torch.sigmoid(logits).cpu().numpy()
            if t:
                parents = np.searchsorted(starts, asked, side="right") - 1
                above = np.zeros((tokens.n_rows, len(starts) - 1), np.float32)
                inside = best.ids >= 0
                above[np.nonzero(inside)[0], best.ids[inside]] = best.scores[inside]
                scores = scores * np.take_along_axis(above, parents, 1)
            ids = np.where(np.broadcast_to(there, scores.shape), np.broadcast_to(asked, scores.shape), -1)
            scores = np.where(ids >= 0, scores, -np.inf).astype(np.float32)
            best = Ranking.best_of(ids.astype(np.int32), scores, k if t == depth - 1 else self.beam)
        return best

    def _widest(self, t: int) -> int:
        """Candidates of a document at most."""
        return int(np.sort(np.diff(self.tree.children[t]))[-self.beam :].sum())

    def state(self, prefix: str) -> dict[str, Any]:
        found = add_prefix(f"{prefix}/encoder", self.encoder.state()) | add_prefix(f"{prefix}/tree", self.tree.state())
        for t, level in enumerate(self.levels):
            weights = {name: value.cpu().numpy() for name, value in level.own_state().items()}
            found |= add_prefix(f"{prefix}/level{t}", weights)
        return found

    @classmethod
    def restore(
        cls, config: EncoderConfig, prefix: str, state: dict[str, Any], shapes: Any, beam: int, n_labels: int
    ) -> Self:
        """`shapes(width, n_nodes)`: of a level. Nothing is made of sizes that the weights have not."""
        encoder = restore_encoder(config, strip_prefix(state, f"{prefix}/encoder"))
        tree = LabelTree.restored(strip_prefix(state, f"{prefix}/tree"))
        tree.check(n_labels)
        levels = []
        for t in range(tree.depth):
            weights = strip_prefix(state, f"{prefix}/level{t}")
            shape = shapes(encoder.dim, int(tree.children[t][-1]))
            levels.append(_restored_level(encoder, shape, weights))
        return cls(encoder, tree, levels, beam)


def _restored_level(encoder: Encoder, shape: Shape, weights: dict[str, Any]) -> Level:
    with torch.device("meta"):  # nothing is allocated
        expected = {key: tuple(value.shape) for key, value in Level(torch.nn.Identity(), shape).own_state().items()}
    checks.require(expected == {key: np.shape(value) for key, value in weights.items()}, "levels with other weights")
    for key, value in weights.items():
        checks.numbers(value, key, *expected[key], most=LARGEST_WEIGHT)
    with torch.random.fork_rng(devices=[]):  # the first weights are random, and written over
        level = Level(encoder.module, shape)
    level.load_state_dict({key: torch.from_numpy(np.array(value)) for key, value in weights.items()}, strict=False)
    return level.eval()


def children_of(parents: LongArray, starts: LongArray) -> LongArray:
    """The children of each row's nodes, padded with -1; so are the nodes."""
    inside = parents >= 0
    first = np.where(inside, starts[parents], 0)
    counts = np.where(inside, starts[np.maximum(parents, 0) + 1] - first, 0)
    sizes = counts.sum(axis=1)
    found = np.full((len(parents), max(1, int(sizes.max(initial=0)))), -1, np.int64)
    flat_first, flat_counts = first.ravel(), counts.ravel()
    offsets = np.cumsum(flat_counts) - flat_counts
    values = np.arange(flat_counts.sum()) + np.repeat(flat_first - offsets, flat_counts)
    found[np.arange(found.shape[1]) < sizes[:, None]] = values
    return found


def parts_of(lengths: LongArray, n_candidates: int, dim: int) -> Iterator[LongArray]:
    """Rows of like length together, as many as fit into CELLS with their candidates; longest first."""
    order = np.argsort(-lengths, kind="stable")
    first = 0
    while first < len(order):
        longest = max(1, int(lengths[order[first]]))
        numbers = max(n_candidates * max(longest, dim), longest * 4 * dim)
        size = max(1, CELLS // numbers)
        yield order[first : first + size]
        first += size
