"""The rows of the tables of quality: rows/DATA/TABLE.toml, one TOML table a row, measured by `benchmarks.run.quality`.

What stands above the first row of a file holds for all of its rows, a table `settings` too, which a row's own are put
over; a row says the rest:

| key | meaning |
|---|---|
| `method`, `settings` | what `everylabel.method(method, **settings)` takes |
| `seeds` | a cell of the table each |
| `documents` | show so many of the training documents |
| `pairs = "none"`, `label_share`, `pair_share` | show no pairs, or those of a share of the labels, or a share of them |
| `dropped` | which 500 labels lose all their pairs (`benchmarks.run.shown`); bands go by what is left |
| `texts = "names"` | labels have their names alone, as in most published systems |
| `bands = "shown"` | bands go by the documents that are shown, not by all training documents |
| `test_documents` | rank only so many of the split's documents |
| `made_of` | no fit: the kept rankings of that row; `ensemble`: their mean, `rare_weight`: in another order |
| `against` | rows that `benchmarks.run.differences` compares it with |
"""

from __future__ import annotations

import difflib
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

ROWS = Path(__file__).parent
Row = dict[str, Any]


@cache
def all_rows() -> dict[str, Row]:
    """By name, in the order of the names; `data` is the folder of a row's file."""
    rows: dict[str, Row] = {}
    for path in sorted(ROWS.glob("*/*.toml")):
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
        settings = entries.pop("settings", {})
        shared = {key: value for key, value in entries.items() if not isinstance(value, dict)}
        for name, row in entries.items():
            if isinstance(row, dict):
                if name in rows:
                    raise ValueError(f"{path}: there is a row {name!r} in {rows[name]['data']} already")
                own = merged(settings, row.get("settings", {}))
                rows[name] = {"data": path.parent.name, **shared, **row, **({"settings": own} if own else {})}
    return dict(sorted(rows.items()))


def merged(under: Row, over: Row) -> Row:
    """Settings, tables of them one in the other."""
    both = {key: merged(under[key], over[key]) for key in under.keys() & over.keys() if isinstance(over[key], dict)}
    return {**under, **over, **both}


def read_row(name: str) -> Row:
    rows = all_rows()
    if name not in rows:
        near = difflib.get_close_matches(name, rows, n=3)
        raise SystemExit(f"there is no row {name!r} in benchmarks/rows; near: {', '.join(near) or 'none'}")
    return rows[name]


def cell_name(row: str, seed: int, split: str = "test") -> str:
    """The result of a row with one seed."""
    return f"quality/{row}-seed{seed}" + ("" if split == "test" else f"-{split}")
