"""The method that a command line asks for: defaults < TOML file < --set, and --method before a file's `method`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from everylabel.cli.options import DEFAULT_METHOD
from everylabel.errors import ConfigError

if TYPE_CHECKING:
    from everylabel.methods.base import Method


def configured(name: str | None, file: Path | None, settings: list[str] | None) -> Method:
    """An unfitted method whose settings are checked: a typo must not be found after an hour of reading data."""
    from everylabel.config import build, merge, parse_settings, read_toml
    from everylabel.registry import method_class

    values = merge(read_toml(file) if file else {}, parse_settings(settings or []))
    named = values.pop("method", DEFAULT_METHOD)
    if not isinstance(named, str):
        raise ConfigError(f"method must be a method's name such as {DEFAULT_METHOD!r}; got {named!r}")
    method = build(method_class(name or named), values)
    method.check()
    return method
