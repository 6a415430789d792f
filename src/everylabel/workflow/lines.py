"""Values as JSON, as they are printed, sent and written to files: the same bytes wherever a text was tagged."""

from __future__ import annotations

import json
from typing import Any


def json_text(value: Any, indent: int | None = None) -> str:
    """UTF-8 whatever the locale is; a number that is not one becomes null, since JSON has no NaN."""
    return json.dumps(_plain(value), ensure_ascii=False, indent=indent, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value != value:
        return None
    return value
