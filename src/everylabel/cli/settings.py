"""The method that a command line asks for: defaults < TOML file < --set, and --method before a file's `method`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import typer

from everylabel.cli.options import DEFAULT_METHOD
from everylabel.errors import ConfigError

if TYPE_CHECKING:
    from everylabel.methods.base import Method
    from everylabel.tagger.tagger import Tagger

TAGGER = "tagger"


def configured(name: str | None, file: Path | None, settings: list[str] | None, budget: str | None = None) -> Method:
    """An unfitted method whose settings are checked: a typo must not be found after an hour of reading data."""
    from everylabel.config import build
    from everylabel.registry import method_class

    named, values = asked_for(name, file, settings)
    if budget is not None and named != TAGGER:
        raise typer.BadParameter(
            f"only the tagger has a budget, and the method is {named!r}; leave out one of them", param_hint="--budget"
        )
    method = build(method_class(named), values if budget is None else values | {"budget": budget})
    method.check()
    return method


def asked_for(name: str | None, file: Path | None, settings: list[str] | None) -> tuple[str, dict[str, Any]]:
    """The method's name and the settings."""
    from everylabel.config import merge, parse_settings, read_toml

    values = merge(read_toml(file) if file else {}, parse_settings(settings or []))
    named = values.pop("method", None)
    if named is not None and not isinstance(named, str):
        raise ConfigError(f"method must be a method's name such as {DEFAULT_METHOD!r}; got {named!r}")
    return name or named or DEFAULT_METHOD, values


def is_tagger(method: Method) -> TypeGuard[Tagger]:
    """By its name: no other command needs to import what a tagger is made of."""
    return method.name == TAGGER


def as_tagger(method: Method, model: Path, wanted: str) -> Tagger:
    """For what only a tagger can do; `wanted` completes "method X ..." and says what to do instead."""
    if not is_tagger(method):
        raise ConfigError(f"{model}: method {method.name!r} {wanted} (everylabel fit DATA -o MODEL)")
    return method
