"""An index that vectors were added to, without a change to it: the old one, and an exact one of what came later.

A model never changes, and copying a million vectors for one more would take a second: so the next model has the old
index and a small one beside it. Cost of adding: O(vectors added so far); of a search: that of both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from everylabel import checks
from everylabel.index.base import Index
from everylabel.index.checks import checked_new_ids, refuse
from everylabel.index.exact import ExactIndex
from everylabel.index.tokens import Layer, TokenIndex, is_of_tokens
from everylabel.types import FloatArray, LongArray, Ranking

if TYPE_CHECKING:
    from everylabel.encoders.table import TokenTable


class GrownIndex:
    """`search` and `scores` as those of its parts, `old` first."""

    def __init__(self, old: Index, added: ExactIndex) -> None:
        self.old, self.added, self.dim = old, added, old.dim

    def __len__(self) -> int:
        return len(self.old) + len(self.added)

    def search(self, vectors: FloatArray, k: int) -> Ranking:
        parts = [part.search(vectors, min(k, max(len(part), 1))) for part in (self.old, self.added)]
        ids, scores = (np.concatenate(both, axis=1) for both in zip(*parts, strict=True))
        return Ranking.best_of(ids, scores, k)

    def check(self, below: int | None = None) -> None:
        """Of one that was restored: both parts of one dimension, no id in both."""
        checks.require(isinstance(self.added, ExactIndex) and self.added.dim == self.dim, "parts of an index differ")
        for part in (self.old, self.added):
            part.check(below)
        refuse(self.old.known(self.added.content()[0]), "in both parts of an index")

    def scores(self, vectors: FloatArray) -> FloatArray:
        assert isinstance(self.old, ExactIndex)
        return np.concatenate([self.old.scores(vectors), self.added.scores(vectors)], axis=1)


def with_vectors(index: Index | GrownIndex, ids: LongArray, vectors: FloatArray) -> GrownIndex:
    """One more index, which has these too; an id that is there already is an error."""
    new = checked_new_ids(ids, len(vectors))
    old = index.old if isinstance(index, GrownIndex) else index
    refuse(old.known(new.astype(np.int64)), "in the index already; nothing was added")
    added = ExactIndex(index.dim)
    if isinstance(index, GrownIndex):
        added.add(*index.added.content())
    added.add(new.astype(np.int64), vectors)
    return GrownIndex(old, added)


def index_state(key: str, index: Any) -> dict[str, Any]:
    if isinstance(index, TokenIndex):
        return index.state(key)
    if isinstance(index, GrownIndex):
        return {key: index.old, f"{key}/added": index.added}
    return {key: index}


def restored_index(
    key: str, state: dict[str, Any], of_tokens: Callable[[], tuple[TokenTable, Layer | None]] | None = None
) -> Any:
    """`of_tokens` gives what an index of tokens is restored with, where there can be one."""
    if of_tokens is not None and is_of_tokens(key, state):
        return TokenIndex.restored(key, state, *of_tokens())
    added = state.get(f"{key}/added")
    return state[key] if added is None else GrownIndex(state[key], added)
