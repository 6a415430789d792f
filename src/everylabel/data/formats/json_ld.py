"""JSON-LD that is read without the network: what its terms mean must stand in the file itself.

A context that is named by an address (`"@context": "https://..."`, `"@import"`) would be fetched from there by whoever
parses it, and could be any address. Such a file is refused before it is parsed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from everylabel.errors import DataError

_FETCHED = ("@context", "@import")


def checked_json_ld(content: bytes, file: Path) -> dict[str, Any]:
    """The value of the file, which names no address to be read. ValueError or RecursionError where it is no JSON."""
    value = json.loads(content)
    found = value if isinstance(value, dict) else {"@graph": value}
    waiting: list[Any] = [found]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            for key in _FETCHED:
                _check_context(one.get(key), file)
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
    return found


def _check_context(context: Any, file: Path) -> None:
    for one in context if isinstance(context, list) else [context]:
        if isinstance(one, str):
            raise DataError(
                f"{file}: its JSON-LD context is at another address ({one[:80]!r}), which is not fetched; put the "
                "context itself into the file, or write it as Turtle (.ttl)"
            )
