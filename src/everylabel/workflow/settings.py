"""The method that somebody asks for, by its name, a file and settings; and whether it is a tagger."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from everylabel.errors import ConfigError

if TYPE_CHECKING:
    from everylabel.methods.base import Method
    from everylabel.tagger.tagger import Tagger

TAGGER = "tagger"
DEFAULT_METHOD = TAGGER


def asked_for(
    name: str | None = None, file: Path | None = None, settings: Sequence[str] = ()
) -> tuple[str, dict[str, Any]]:
    """The method's name and its settings: defaults < TOML file < `settings` (KEY=VALUE); a file's `method` < `name`."""
    from everylabel.config import merge, parse_settings, read_toml

    values = merge(read_toml(file) if file else {}, parse_settings(list(settings)))
    named = values.pop("method", None)
    if named is not None and not isinstance(named, str):
        raise ConfigError(f"method must be a method's name such as {DEFAULT_METHOD!r}; got {named!r}")
    return name or named or DEFAULT_METHOD, values


def configured(name: str | None = None, file: Path | None = None, settings: Sequence[str] = (), **more: Any) -> Method:
    """An unfitted method whose settings are checked: a typo must not be found after an hour of reading data.

    `more`: settings as values, which win over the others.
    """
    from everylabel.config import build, merge
    from everylabel.registry import method_class

    named, values = asked_for(name, file, settings)
    method = build(method_class(named), merge(values, more))
    method.check()
    return method


def is_tagger(method: Method) -> TypeGuard[Tagger]:
    """By its name: nobody needs to import what a tagger is made of."""
    return method.name == TAGGER


def as_tagger(method: Method, wanted: str, model: str | Path | None = None) -> Tagger:
    """For what only a tagger can do; `wanted` completes "method X ..." and says what to do instead."""
    if not is_tagger(method):
        where = "" if model is None else f"{model}: "
        raise ConfigError(f"{where}method {method.name!r} {wanted} (everylabel fit DATA -o MODEL)")
    return method
