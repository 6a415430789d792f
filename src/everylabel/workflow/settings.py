"""The method that somebody asks for, by its name, a file and settings; and whether it is a tagger."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from everylabel.errors import ConfigError

if TYPE_CHECKING:
    from everylabel.methods.base import Method
    from everylabel.methods.xml0.fusion import Xml0
    from everylabel.tagger.tagger import Tagger

TAGGER = "tagger"
DEFAULT_METHOD = TAGGER


def asked_for(
    name: str | None = None, file: Path | None = None, settings: Sequence[str] = (), preset: str | None = None
) -> tuple[str, dict[str, Any]]:
    """The method's name and its settings: defaults < preset < TOML file < `settings` (KEY=VALUE).

    `name` and `preset` win over a file's `method` and `preset`.
    """
    from everylabel.config import merge, parse_settings, read_toml
    from everylabel.registry import method_class

    values = merge(read_toml(file) if file else {}, parse_settings(list(settings)))
    in_file = _word(values, "method", f"a method's name such as {DEFAULT_METHOD!r}")
    preset_in_file = _word(values, "preset", "a preset's name such as 'paper'")
    named, preset = name or in_file or DEFAULT_METHOD, preset or preset_in_file
    return named, values if preset is None else merge(method_class(named).preset(preset), values)


def configured(
    name: str | None = None,
    file: Path | None = None,
    settings: Sequence[str] = (),
    preset: str | None = None,
    **more: Any,
) -> Method:
    """An unfitted method whose settings are checked: a typo must not be found after an hour of reading data.

    `more`: settings as values, which win over the others.
    """
    from everylabel.config import build, merge
    from everylabel.registry import method_class

    named, values = asked_for(name, file, settings, preset)
    method = build(method_class(named), merge(values, more))
    method.check()
    return method


def _word(values: dict[str, Any], key: str, what: str) -> str | None:
    """Taken out of the settings: it is none."""
    word = values.pop(key, None)
    if word is not None and not isinstance(word, str):
        raise ConfigError(f"{key} must be {what}; got {word!r}")
    return word


def is_tagger(method: Method) -> TypeGuard[Tagger]:
    """By its name: nobody needs to import what a tagger is made of."""
    return method.name == TAGGER


def takes_dev(method: Method) -> TypeGuard[Tagger | Xml0]:
    """Whether a dev split is for its fit: a tagger blends on it, others choose settings."""
    return is_tagger(method) or method.traits.takes_dev


def as_tagger(method: Method, wanted: str, model: str | Path | None = None) -> Tagger:
    """For what only a tagger can do; `wanted` completes "method X ..." and says what to do instead."""
    if not is_tagger(method):
        where = "" if model is None else f"{model}: "
        raise ConfigError(f"{where}method {method.name!r} {wanted} (everylabel fit DATA -o MODEL)")
    return method
