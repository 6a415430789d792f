"""Settings: dataclass <-> plain values <-> TOML <-> key=value, and errors that help."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import everylabel
from everylabel.config import build, merge, parse_settings, read_toml, to_dict
from everylabel.errors import ConfigError
from everylabel.methods.maclr.maclr import Maclr


@dataclass(kw_only=True)
class Inner:
    ngrams: int = 2
    scale: float = 1.0


@dataclass(kw_only=True)
class Outer:
    leaf_size: int = 400
    mode: Literal["fast", "exact"] = "fast"
    name: str = ""
    prune: bool = True
    limit: int | None = None
    widths: tuple[int, ...] = (1, 2)
    inner: Inner = field(default_factory=Inner)


@dataclass(kw_only=True)
class Outside:
    table: dict[str, Any] = field(default_factory=dict)


@dataclass(kw_only=True)
class Tuned:
    inner: Inner = field(default_factory=lambda: Inner(ngrams=3, scale=0.5))


outers = st.builds(
    Outer,
    leaf_size=st.integers(),
    mode=st.sampled_from(["fast", "exact"]),
    name=st.text(),
    prune=st.booleans(),
    limit=st.none() | st.integers(),
    widths=st.lists(st.integers()).map(tuple),
    inner=st.builds(Inner, ngrams=st.integers(), scale=st.floats(allow_nan=False, allow_infinity=False)),
)


@given(outers)
def test_plain_values_and_back(config: Outer) -> None:
    assert build(Outer, json.loads(json.dumps(to_dict(config)))) == config


@given(outers)
def test_settings_and_back(config: Outer) -> None:
    values = to_dict(config)
    inner = values.pop("inner")
    given = [f"{key}={json.dumps(value)}" for key, value in values.items()]
    given += [f"inner.{key}={json.dumps(value)}" for key, value in inner.items()]
    assert build(Outer, parse_settings(given)) == config


def test_a_part_of_a_table_leaves_the_other_parts_as_the_method_has_them() -> None:
    assert build(Tuned, {"inner": {"scale": 2.0}}).inner == Inner(ngrams=3, scale=2.0)
    assert build(Tuned, {"inner": {}}).inner == Inner(ngrams=3, scale=0.5)
    assert everylabel.method("maclr", learn={"steps": 9}).learn == replace(Maclr().learn, steps=9)


def test_values_that_are_not_json_are_text() -> None:
    assert parse_settings(["mode=exact", "a.b.c=1", "a.b.d=x=y"]) == {"mode": "exact", "a": {"b": {"c": 1, "d": "x=y"}}}


@pytest.mark.parametrize("setting", ["leaf_size", "=4", ""])
def test_what_is_no_setting_is_refused(setting: str) -> None:
    with pytest.raises(ConfigError, match="expected key=value"):
        parse_settings([setting])


def test_a_part_of_a_plain_value_is_refused() -> None:
    with pytest.raises(ConfigError, match="plain value"):
        parse_settings(["inner=1", "inner.ngrams=2"])


def test_later_layers_win_inside_tables_too() -> None:
    low, high = {"a": 1, "t": {"x": 1, "y": 1}}, {"t": {"y": 2}, "b": 3}
    assert merge(low, high) == {"a": 1, "b": 3, "t": {"x": 1, "y": 2}}
    assert low["t"] == {"x": 1, "y": 1}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"leafsize": 1}, "unknown setting 'leafsize'; did you mean leaf_size"),
        ({"zzz": 1}, "known are: leaf_size, mode"),
        ({"inner": {"ngram": 1}}, "unknown setting 'inner.ngram'; did you mean inner.ngrams"),
        ({"inner": 3}, "give inner.KEY=VALUE"),
        ({"leaf_size": "4"}, "leaf_size must be a whole number; got '4'"),
        ({"leaf_size": True}, "leaf_size must be a whole number; got True"),
        ({"leaf_size": 1.5}, "leaf_size must be a whole number"),
        ({"prune": 1}, "prune must be true or false"),
        ({"mode": "slow"}, "mode must be one of fast, exact; got 'slow'"),
        ({"widths": 3}, "widths must be a list"),
        ({"limit": "x"}, "limit must be a whole number"),
        ({"inner": {"scale": "x"}}, "inner.scale must be a number"),
    ],
)
def test_a_wrong_value_is_explained(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build(Outer, values)


def test_a_table_that_something_else_knows_takes_plain_values() -> None:
    given = {"a": 1, "b": {"c": (1, 2)}}
    found = build(Outside, {"table": given})
    assert found.table == {"a": 1, "b": {"c": [1, 2]}}  # as it is after saving
    assert build(Outside, to_dict(found)) == found
    assert build(Outside, parse_settings(["table.a=1", "table.b.c=[1, 2]"])) == found
    for value in (3, "x", [1], {"a": Inner()}, {"a": {1}}):
        with pytest.raises(ConfigError, match="table must be a table of plain values"):
            build(Outside, {"table": value})


def test_a_whole_number_is_a_number() -> None:
    assert build(Inner, {"scale": 2}).scale == 2.0


def test_toml(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('leaf_size = 10\n[inner]\nngrams = 1\n"scale" = 0.5\n')
    assert build(Outer, read_toml(file)) == Outer(leaf_size=10, inner=Inner(ngrams=1, scale=0.5))


@pytest.mark.parametrize("content", [b"leaf_size: 3", b"\xff\xfe"])
def test_broken_toml_is_explained(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "settings.toml"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match="expected TOML"):
        read_toml(file)


def test_missing_toml_is_explained(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such configuration file"):
        read_toml(tmp_path / "none.toml")


def test_a_folder_is_no_toml(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_toml(tmp_path)
