"""The rows of the benchmarks' tables: each can be built, and none that has a result is lost."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest
from benchmarks.record import RESULTS
from benchmarks.rows import ROWS, all_rows, cell_name, read_row

from everylabel import config
from everylabel.registry import method_class

KEYS = {"data", "table", "method", "settings", "seeds", "documents", "test_documents", "against"}
SHOWN = {"pairs", "label_share", "pair_share", "dropped", "texts", "bands"}
MADE = {"made_of", "ensemble", "rare_weight"}


@pytest.mark.parametrize("name", all_rows())
def test_a_row_is_a_configuration_of_its_method(name: str) -> None:
    row = read_row(name)
    method = config.build(method_class(row["method"]), row.get("settings", {}))
    assert dataclasses.is_dataclass(method)
    assert set(row) <= KEYS | SHOWN | MADE
    assert row["seeds"]


def test_rows_that_others_are_made_of_or_compared_with_are_there() -> None:
    rows = all_rows()
    for name, row in rows.items():
        named = [*row.get("against", []), *([row["made_of"]] if "made_of" in row else [])]
        assert set(named) <= set(rows), name


def test_a_table_is_one_file_of_a_data_set() -> None:
    for path in ROWS.glob("*/*.toml"):
        (table,) = {row["table"] for row in all_rows().values() if path == file_of(row)}
        assert table.replace(" ", "-") == path.stem


def file_of(row: dict[str, Any]) -> Any:
    return ROWS / row["data"] / f"{row['table'].replace(' ', '-')}.toml"


def test_every_result_of_quality_has_its_row_and_seed() -> None:
    seeds = [(name, seed) for name, row in all_rows().items() for seed in row["seeds"]]
    cells = {cell_name(name, seed, split) for name, seed in seeds for split in ("dev", "test")}
    results = {f"quality/{path.stem}" for path in (RESULTS / "quality").glob("*.json")}
    assert results <= cells


def test_a_row_that_is_not_there_is_an_error_that_names_near_ones() -> None:
    with pytest.raises(SystemExit, match=re.escape("eurlex57k-xr-linear")):
        read_row("eurlex57k-xrlinear")
