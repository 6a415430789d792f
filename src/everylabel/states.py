"""States are flat: what a part of a method learned stands under the part's name, "tfidf/idf"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

Value = TypeVar("Value")


def strip_prefix(state: Mapping[str, Value], name: str) -> dict[str, Value]:
    """What stands under a name, without the name."""
    return {key[len(name) + 1 :]: value for key, value in state.items() if key.startswith(f"{name}/")}


def add_prefix(name: str, state: Mapping[str, Any]) -> dict[str, Any]:
    """The other way round."""
    return {f"{name}/{key}": value for key, value in state.items()}
