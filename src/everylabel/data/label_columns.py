"""The columns of a vocabulary by a label's fields: made of labels, joined, taken from, saved and restored.

A column that no label has anything in is blank: it takes no memory, and is not saved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everylabel.data.columns import TextColumn, TextLists
from everylabel.data.label import Label
from everylabel.data.translations import TranslationLists
from everylabel.types import LongArray

COLUMNS = {  # a label's field: its column, in the order of the fields
    "id": "ids", "name": "names", "description": "descriptions", "alternatives": "alternatives", "parents": "parents",
    "notation": "notations", "uri": "uris", "types": "types", "schemes": "schemes", "related": "related",
    "translations": "translations", "deprecated": "deprecated", "replaced_by": "replaced_by",
    "language": "name_languages",
}  # fmt: skip
Columns = dict[str, Any]  # TextColumn, TextLists, TranslationLists, and an array for "deprecated"

_TEXTS = ("ids", "names", "descriptions", "notations", "uris", "name_languages")
_LISTS = ("alternatives", "parents", "types", "schemes", "related", "replaced_by")
_ALWAYS_SAVED = ("ids", "names", "descriptions", "alternatives", "parents")


def columns_of(labels: list[Label]) -> Columns:
    """O(characters)."""
    return {name: _column(name, [getattr(label, field) for label in labels]) for field, name in COLUMNS.items()}


def _column(name: str, values: list[Any]) -> Any:
    if not any(values):
        return _blank(name, len(values))
    if name == "deprecated":
        return np.array(values, np.bool_)
    return _kind(name).of(values)


def _kind(name: str) -> Any:
    if name in _TEXTS:
        return TextColumn
    return TextLists if name in _LISTS else TranslationLists


def _blank(name: str, n: int) -> Any:
    return _none_deprecated(n) if name == "deprecated" else _kind(name).blank(n)


def _none_deprecated(n: int) -> NDArray[np.bool_]:
    """All False, of one byte."""
    return np.broadcast_to(np.zeros(1, np.bool_), n)


def is_blank(column: Any) -> bool:
    return not column.any() if isinstance(column, np.ndarray) else bool(column.is_blank)


def values_of(column: Any) -> Iterable[Any]:
    found: Iterable[Any] = column.tolist() if isinstance(column, np.ndarray) else column
    return found


def taken(column: Any, rows: LongArray) -> Any:
    if isinstance(column, np.ndarray):
        return column[rows]
    return type(column).blank(len(rows)) if column.is_blank else column.take(rows)


def joined(column: Any, more: Any) -> Any:
    n = len(column) + len(more)
    if isinstance(column, np.ndarray):
        return np.concatenate([column, more]) if column.any() or more.any() else _none_deprecated(n)
    return type(column).blank(n) if column.is_blank and more.is_blank else column.extended(more)


def state_of(columns: Columns) -> dict[str, Any]:
    """As they are saved: texts and arrays by name."""
    state: dict[str, Any] = {}
    for name, column in columns.items():
        if name not in _ALWAYS_SAVED and is_blank(column):
            continue
        if name in _LISTS:
            state[name], state[f"{name}/offsets"] = column.whole()
        elif name == "translations":
            state |= {f"translations{key}": value for key, value in column.state().items()}
        else:
            state[name] = column
    return state


def restored_columns(state: Mapping[str, Any]) -> Columns:
    """Blank ones for those that were not saved."""
    n = len(state["ids"])
    columns: Columns = {}
    for name in COLUMNS.values():
        if name not in state and name not in _ALWAYS_SAVED:
            columns[name] = _blank(name, n)
        elif name in _LISTS:
            columns[name] = TextLists(state[name], state[f"{name}/offsets"])
        elif name == "translations":
            own = {key.removeprefix(name): value for key, value in state.items() if key.startswith(name)}
            columns[name] = TranslationLists.restored(own)
        else:
            columns[name] = state[name]
    return columns
