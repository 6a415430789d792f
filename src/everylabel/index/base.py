"""What an index is: unit vectors with ids, and those nearest to a query."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

from everylabel.types import FloatArray, LongArray, Ranking


class Index(Protocol):
    """Vectors are unit rows; the score is the cosine. Ids are not negative, and each is there at most once."""

    kind: ClassVar[str]  # by which `load_index` finds the class again
    dim: int

    def __len__(self) -> int: ...

    def add(self, ids: LongArray, vectors: FloatArray) -> None:
        """An id that is there already is an error, and nothing is added."""

    def remove(self, ids: LongArray) -> None:
        """An id that is not there is an error, and nothing is removed."""

    def known(self, ids: LongArray) -> LongArray:
        """Those of the ids that are there."""

    def search(self, vectors: FloatArray, k: int) -> Ranking:
        """The k nearest ids of each query, best first, equal scores by id; padded with -1 when there are fewer."""

    def check(self, below: int | None = None) -> None:
        """Of one that was loaded from a file of unknown origin: ValueError or DataError unless `save` can have written
        it, with ids below that. O(bytes). Nothing is searched, added or removed before."""

    def save(self, path: str | Path) -> None:
        """One file, written atomically."""

    @classmethod
    def load(cls, path: str | Path, **settings: Any) -> Self:
        """Memory-mapped: nothing is read before it is searched. Adding to or removing from it first reads it."""
