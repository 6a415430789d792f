"""Which index: by its name, or by the number of labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from everylabel.errors import ConfigError, ModelError

if TYPE_CHECKING:
    from everylabel.index.base import Index

IndexKind: TypeAlias = Literal["auto", "exact", "ann"]
INDEX_KINDS = ("exact", "ann")  # of the classes; the ends of the names of their files in a model
EXACT_BELOW = 200_000  # vectors: 20 ms a query; above, building a graph pays off (docs/label_index.md)


def make_index(kind: IndexKind, dim: int, n: int) -> Index:
    """An empty index for about n vectors: "exact", "ann" (approximate), or "auto": exact for fewer than 200,000."""
    if kind == "auto":
        kind = "exact" if n < EXACT_BELOW else "ann"
    if kind == "exact":
        from everylabel.index.exact import ExactIndex

        return ExactIndex(dim)
    if kind == "ann":
        from everylabel.index.ann import AnnIndex

        return AnnIndex(dim)
    raise ConfigError(f"index must be 'auto', 'exact' or 'ann'; got {kind!r}")


def load_index(kind: str, path: str | Path) -> Index:
    """A saved index of this kind (`index.kind`), memory-mapped."""
    if kind == "exact":
        from everylabel.index.exact import ExactIndex

        return ExactIndex.load(path)
    if kind == "ann":
        from everylabel.index.ann import AnnIndex

        return AnnIndex.load(path)
    raise ModelError(f"{path}: is an index of the unknown kind {kind!r}; upgrade: pip install --upgrade everylabel")
