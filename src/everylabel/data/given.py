"""What a caller gives as texts: lists, generators, arrays and columns of strings; anything else is a clear error.

A wrong value is named by its place and kind. Nothing is converted: a number or bytes among the texts is a mistake that
would otherwise be ranked as if it were a text. Cost: one look at the type of each text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

from everylabel.errors import DataError

_NO_LISTS = (bytes, bytearray, memoryview, Mapping, Set)  # each can be iterated over, and none gives texts in order


def texts_of(values: Any, what: str = "text", where: str = "") -> list[str]:
    """A list of plain strings; a list that is one already passes through.

    For errors: `what` is how one of them is called, `where` what they belong to.
    """
    if type(values) is list and set(map(type, values)) <= {str}:
        return list(values)  # the caller's may change
    if isinstance(values, str):
        raise DataError(f"{where}expected a list of {what}s, got one {what}; put it into a list: [{what}]")
    if isinstance(values, _NO_LISTS) or hasattr(values, "columns") or not _can_be_iterated(values):
        of_table = "; give one column of it" if hasattr(values, "columns") else ""
        raise DataError(f"{where}expected a list of {what}s, got {kind_of(values)}{of_table}")
    found = values if isinstance(values, list) else list(values)
    if set(map(type, found)) <= {str}:
        return found
    for i, one in enumerate(found):
        if not isinstance(one, str):
            raise DataError(f"{where}{what} {i} is {kind_of(one)}, expected a string; leave it out, or make it one")
    return [str(one) for one in found]  # numpy's strings are strings, and others take them for arrays


def text_of_field(value: Any, what: str) -> str:
    """One text; `what` says which."""
    if type(value) is str:
        return value
    if not isinstance(value, str):
        raise DataError(f"{what} is {kind_of(value)}, expected a string")
    return str(value)


def kind_of(value: object) -> str:
    """The kind of a value in words: "a float", "None"."""
    if value is None or isinstance(value, bytes):
        return "None" if value is None else "bytes"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _can_be_iterated(values: object) -> bool:
    try:
        iter(values)  # type: ignore[call-overload]
    except TypeError:
        return False
    return isinstance(values, Iterable) or hasattr(values, "__getitem__")
