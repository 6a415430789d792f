"""The best subset of weighted label vectors for each of many other labels: all subsets, or one that grows.

A subset's cosine with a label needs no sum of vectors: with v_i = p_i x e_i its numerator is the sum of the members'
products v_i . u (`cross`), and its length comes from their products with each other (`gram`). So the work is that of
products once, n x labels x dim, and then for n members:
- `exhaustive`: 2^n x labels, all subsets in an order in which neighbours differ by one member (Algorithm 1 of
  "Leveraging Pre-Trained Extreme Multi-Label Classifiers for Zero-Shot Learning" is 2^n x dim x labels);
- `greedy`: n^2 x labels. The subset grows by the member that leaves the best cosine, n times, and the best stage of
  that growth counts. Never above the exhaustive search;
- `full`: n x labels, all members at once, which is ConSE's combination.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from everylabel.types import LongArray

Doubles: TypeAlias = NDArray[np.float64]
SearchKind: TypeAlias = Literal["exhaustive", "greedy", "full"]

MOST_EXHAUSTIVE = 16  # members: 65,535 subsets
MOST = 62  # members that a mask of 64 bits has room for
_NOTHING = 1e-12  # of the members' squared lengths: a sum as short as that is rounding, and points nowhere


class Best(NamedTuple):
    """For each label: the best cosine, and the subset as bits, member 0 the lowest."""

    cosines: Doubles
    members: LongArray


class Loss(NamedTuple):
    """The growing search against the exhaustive one."""

    searches: int  # a document and a label each
    same: float  # share with the very same subset
    mean_loss: float  # of the cosine, over all searches
    largest_loss: float


def search(kind: SearchKind, gram: Doubles, cross: Doubles) -> Best:
    """`gram` (n, n) and `cross` (n, labels) as above, with labels of length 1. Without members all cosines are 0."""
    from everylabel.methods.xml0 import kernels

    if len(gram) == 0:
        return Best(np.zeros(cross.shape[1]), np.zeros(cross.shape[1], np.int64))
    gram, cross = np.ascontiguousarray(gram), np.ascontiguousarray(cross)
    nothing = _NOTHING * float(np.trace(gram))
    members = np.full(cross.shape[1], (1 << len(gram)) - 1, np.int64)
    if kind == "exhaustive":
        kernels.best_of_all(gram, cross, nothing, members)
    elif kind == "greedy":
        kernels.best_of_growth(gram, cross, nothing, members)
    return Best(cosines_of(members, gram, cross), members)


def cosines_of(members: LongArray, gram: Doubles, cross: Doubles) -> Doubles:
    """The cosine of each label with its own subset, always added up in the same order. O(n^2 x labels)."""
    from everylabel.methods.xml0 import kernels

    return np.asarray(kernels.cosines(members, gram, cross, _NOTHING * float(np.trace(gram))), np.float64)


def is_member(members: LongArray, n: int) -> NDArray[np.bool_]:
    """(n, labels): whether each of the n is in each label's subset."""
    return (members[None, :] >> np.arange(n)[:, None] & 1).astype(bool)


def loss_of_greedy(problems: Iterable[tuple[Doubles, Doubles]]) -> Loss:
    """How often the growing search finds the same subset, and what it loses, over (gram, cross) of many documents."""
    searches = same = 0
    total = largest = 0.0
    for gram, cross in problems:
        exact, quick = search("exhaustive", gram, cross), search("greedy", gram, cross)
        lost = np.maximum(exact.cosines - quick.cosines, 0)
        searches += len(lost)
        same += int((exact.members == quick.members).sum())
        total += float(lost.sum())
        largest = max(largest, float(lost.max(initial=0)))
    return Loss(searches, same / max(searches, 1), total / max(searches, 1), largest)
