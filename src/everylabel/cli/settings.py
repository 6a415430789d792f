"""The method that a command line asks for: defaults < TOML file < --set, and --method before a file's `method`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from everylabel.cli.options import DEFAULT_METHOD
from everylabel.errors import ConfigError

if TYPE_CHECKING:
    from everylabel.methods.base import Method


def configured(
    name: str | None, file: Path | None, settings: list[str] | None, default: str = DEFAULT_METHOD
) -> Method:
    """An unfitted method whose settings are checked: a typo must not be found after an hour of reading data."""
    from everylabel.config import build
    from everylabel.registry import method_class

    named, values = asked_for(name, file, settings)
    method = build(method_class(named or default), values)
    method.check()
    return method


def asked_for(name: str | None, file: Path | None, settings: list[str] | None) -> tuple[str | None, dict[str, Any]]:
    """The method's name, if there is one, and the settings."""
    from everylabel.config import merge, parse_settings, read_toml

    values = merge(read_toml(file) if file else {}, parse_settings(settings or []))
    named = values.pop("method", None)
    if named is not None and not isinstance(named, str):
        raise ConfigError(f"method must be a method's name such as {DEFAULT_METHOD!r}; got {named!r}")
    return name or named, values
