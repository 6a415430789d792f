"""The page about installing is true: its table is what was measured, it has every extra, and CI tries what is built."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
PINNED = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]


def test_the_table_is_what_was_measured() -> None:
    measured = json.loads((ROOT / "benchmarks" / "results" / "install" / "extras.json").read_text(encoding="utf-8"))[
        "rows"
    ]
    rows = re.findall(r"^\| (?:`(\w+)`|none) \|.*\| ([\d,]+) \| (\d+) \|$", PAGE, re.MULTILINE)
    assert rows == [(row["extra"], f"{row['mb']:,}", str(row["packages"])) for row in measured]
    assert [name for name, *_ in rows[1:]] == [name for name in EXTRAS if name != "dev"]
    (torch,) = {row["torch"] for row in measured if "torch" in row}
    assert torch in PAGE


def test_the_versions_it_names_are_those_of_the_constraints() -> None:
    assert set(re.findall(r"`(\w+==[\d.]+)`", PAGE)) <= set(PINNED)


def test_every_extra_is_pinned_and_built_packages_are_tried_by_ci() -> None:
    pinned = {line.partition("==")[0].lower().replace("_", "-") for line in PINNED}
    named = {re.split(r"[\[><=]", one)[0].lower().replace("_", "-") for needed in EXTRAS.values() for one in needed}
    assert named - {"everylabel"} <= pinned
    assert "make dist\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
