"""Approximate search."""

from __future__ import annotations

from everylabel.errors import ConfigError
from everylabel.index.exact import ExactIndex


class AnnIndex(ExactIndex):
    def __init__(self, dim: int) -> None:
        raise ConfigError(f"index 'ann' (dim {dim}) is not there yet; use 'exact'")
