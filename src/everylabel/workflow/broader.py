"""A broader label in place of narrow ones that are all uncertain (Annif's issue 316): a tiger or a lion, so a big cat.

A label below `SURE` gives way to one of its parents if it is more likely than `SURE` that at least one of the uncertain
labels below that parent, or the parent itself, is right. With probabilities p that is 1 - prod (1 - p), as if labels
were right independently of each other: never less than the best of them, too much where they go together, too little
where they exclude each other. A parent of a label that is sure is not suggested: the narrow one says more.
Cost: O(ranks x labels above each) a document.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import NamedTuple

import numpy as np

from everylabel.data.dataset import LabelSet
from everylabel.types import BoolArray, Ranking

SURE = 0.5
DEPTH = 200  # ranks whose labels are added up
Replaced = dict[int, list[tuple[int, float]]]
"""Of each broader label: the narrow ones that it stands for, with their probabilities, best first."""


class Broadened(NamedTuple):
    """A ranking, and what the broader labels of each document stand for."""

    ranking: Ranking
    replaced: list[Replaced]


def with_broader(ranking: Ranking, labels: LabelSet, allowed: BoolArray, k: int) -> Broadened:
    """The ranking with broader labels in their places, by probability. `allowed`: those that may be suggested; `k`: how
    many labels of a document are looked at, where one of them is uncertain, for what is broader."""
    above = _ancestors(labels)
    ids, scores, replaced = ranking.ids.copy(), ranking.scores.copy(), []
    for row in range(ranking.n_docs):
        n = int((ids[row] >= 0).sum())
        known = dict(zip(ids[row, :n].tolist(), scores[row, :n].astype(float).tolist(), strict=True))
        given_way = _given_way(known, list(known)[:k], labels, allowed, above)
        for label, (chance, members) in given_way.items():
            for one, _ in members:
                known.pop(one)
            known[label] = chance
        order = sorted(known, key=lambda label: (-known[label], label))
        ids[row], scores[row] = -1, -np.inf
        ids[row, : len(order)], scores[row, : len(order)] = order, [known[label] for label in order]
        replaced.append(
            {label: [one for one in members if one[0] != label] for label, (_, members) in given_way.items()}
        )
    return Broadened(Ranking(ids, scores), replaced)


def _given_way(
    known: dict[int, float],
    shown: list[int],
    labels: LabelSet,
    allowed: BoolArray,
    above: Callable[[int], frozenset[int]],
) -> dict[int, tuple[float, list[tuple[int, float]]]]:
    """Broader labels that are suggested, with their chance and the labels that they stand for: themselves among them
    if they are ranked."""
    uncertain = {label: p for label, p in known.items() if p < SURE}
    sure_above = {broad for label, p in known.items() if p >= SURE for broad in above(label)} | known.keys() - uncertain
    parents = {int(one) for label in shown if label in uncertain for one in labels.parent_places[label].indices}
    left = {broad for broad in parents - sure_above if allowed[broad]}
    found: dict[int, tuple[float, list[tuple[int, float]]]] = {}
    while left:
        members = {
            broad: [(one, p) for one, p in uncertain.items() if one == broad or broad in above(one)] for broad in left
        }
        chances = {broad: 1 - prod(1 - p for _, p in members[broad]) for broad in left}
        best = min(left, key=lambda broad: (-chances[broad], len(members[broad]), broad))
        if chances[best] < SURE:
            return found
        found[best] = chances[best], members[best]
        uncertain = {one: p for one, p in uncertain.items() if (one, p) not in members[best]}
        left -= {best} | above(best)  # what is broader still would say less of the same
    return found


def _ancestors(labels: LabelSet) -> Callable[[int], frozenset[int]]:
    """All labels above one, found once each."""
    found: dict[int, frozenset[int]] = {}
    indices, offsets = labels.parent_places.indices, labels.parent_places.indptr

    def above(label: int) -> frozenset[int]:
        if label not in found:
            seen: set[int] = set()
            waiting = [label]
            while waiting:
                at = waiting.pop()
                new = set(indices[offsets[at] : offsets[at + 1]].tolist()) - seen
                seen |= new
                waiting += new
            found[label] = frozenset(seen - {label})
        return found[label]

    return above
