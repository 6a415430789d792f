"""A configuration is a dataclass: the same fields are keyword arguments, TOML, `--set a.b=1` and the saved manifest."""

from __future__ import annotations

import dataclasses
import difflib
import json
import sys
import tomllib
import types
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from everylabel.errors import ConfigError

C = TypeVar("C")
_LARGEST = sys.float_info.max


def build(cls: type[C], values: Mapping[str, Any], where: str = "", default: C | None = None) -> C:
    """An instance from plain values; an unknown key is an error that suggests the nearest known one.

    What is not given is as in `default`, or as the class has it. A part of a table leaves its other parts as they are:
    in `maclr` with learn.steps=100 the rest of `learn` is still maclr's, not that of the table's own class.
    """
    hints = get_type_hints(cls)
    fields = {f.name: f for f in dataclasses.fields(cls) if f.init}  # type: ignore[arg-type]
    known = list(fields)
    given: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{where}{key}"
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {where}{near[0]!s}?" if near else f"known are: {', '.join(known) or 'none'}"
            raise ConfigError(f"unknown setting {name!r}; {hint}")
        if dataclasses.is_dataclass(hints[key]) and isinstance(value, Mapping):
            before = _default(fields[key]) if default is None else getattr(default, key)
            given[key] = build(hints[key], value, f"{name}.", before)
        else:
            given[key] = _convert(hints[key], value, name)
    return cls(**given) if default is None else dataclasses.replace(default, **given)  # type: ignore[type-var]


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return None if field.default is dataclasses.MISSING else field.default


def to_dict(config: Any) -> dict[str, Any]:
    """Plain values, ready for JSON and for `build`."""
    values: dict[str, Any] = {}
    for f in dataclasses.fields(config):
        if not f.init:
            continue
        value = getattr(config, f.name)
        if dataclasses.is_dataclass(value):
            value = to_dict(value)
        values[f.name] = list(value) if isinstance(value, tuple) else value
    return values


def changed(values: Mapping[str, Any], defaults: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """The settings that are not as the defaults are, by their full names: {"tfidf.ngrams": 2}."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        default = defaults.get(key)
        if isinstance(value, Mapping) and isinstance(default, Mapping):
            found |= changed(value, default, f"{where}{key}.")
        elif key not in defaults or value != default:
            found[f"{where}{key}"] = value
    return found


def flat(values: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """Settings by their full names: {"tfidf.ngrams": 2}."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= flat(value, f"{where}{key}.") if isinstance(value, Mapping) and value else {f"{where}{key}": value}
    return found


def read_toml(path: str | Path) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such configuration file") from None
    except OSError as error:
        raise ConfigError(f"{path}: expected a TOML file; it cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: expected TOML such as 'leaf_size = 400'; {error}") from None


def parse_settings(settings: Iterable[str]) -> dict[str, Any]:
    """`["a.b=1", "c=x"]` as nested values: {"a": {"b": 1}, "c": "x"}. Values are JSON, or else plain strings."""
    nested: dict[str, Any] = {}
    for setting in settings:
        path, equals, text = setting.partition("=")
        if not equals or not path.strip():
            raise ConfigError(f"expected key=value such as tfidf.ngrams=2, got {setting!r}")
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            value = text
        *parents, last = path.strip().split(".")
        at = nested
        for parent in parents:
            at = at.setdefault(parent, {})
            if not isinstance(at, dict):
                raise ConfigError(f"{setting!r} sets a part of {parent!r}, which another setting gives a plain value")
        at[last] = value
    return nested


def merge(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Later layers win, key by key, inside nested tables too."""
    merged: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            old = merged.get(key)
            merged[key] = merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def _convert(hint: Any, value: Any, name: str) -> Any:
    """`value` as the annotated type, without guessing: 1 is fine for a float, "1" or True is not fine for an int."""
    origin, args = get_origin(hint), get_args(hint)
    if dataclasses.is_dataclass(hint):
        if isinstance(value, hint):  # type: ignore[arg-type]
            return value
        raise ConfigError(f"{name} has settings of its own: give {name}.KEY=VALUE instead of {name}={value!r}")
    if origin is Literal:
        if value in args:
            return value
        raise ConfigError(f"{name} must be one of {', '.join(map(str, args))}; got {value!r}")
    if origin in (Union, types.UnionType):
        if value is None and type(None) in args:
            return None
        if any(value in get_args(arm) for arm in args if get_origin(arm) is Literal):  # a word beside numbers
            return value
        return _convert(next(a for a in args if a is not type(None)), value, name)
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise ConfigError(f"{name} must be a list; got {value!r}")
        return tuple(_convert(args[0], item, name) for item in value)
    if origin is dict:
        return _table(value, name)
    if hint is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        if not -_LARGEST <= value <= _LARGEST:
            raise ConfigError(f"{name} must be a finite number; got {str(value)[:40]}")
        return float(value)
    if isinstance(value, hint) and not (hint is int and isinstance(value, bool)):
        return value
    raise ConfigError(f"{name} must be {_spoken(hint)}; got {value!r}")


def _table(value: Any, name: str) -> dict[str, Any]:
    """Settings of something else, which knows what they mean: a copy, of plain values only, as they are saved."""
    try:
        if isinstance(value, Mapping):
            return dict(json.loads(json.dumps(dict(value))))
    except (TypeError, ValueError):
        pass
    raise ConfigError(f"{name} must be a table of plain values, {name}.KEY=VALUE; got {value!r}")


def _spoken(hint: Any) -> str:
    spoken = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    return spoken.get(hint, str(hint))
