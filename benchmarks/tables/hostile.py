"""results/pages/hostile.md, what was tried to break it: python -m benchmarks.tables.hostile"""

from __future__ import annotations

from typing import Any

from benchmarks.record import read_result
from benchmarks.tables.markdown import Page, conditions, section, table


def trials_section() -> str:
    record = read_result("hostile")
    if record is None:
        return ""
    rows = [_row(f"**all {part}**", list(record[part].values())) for part in ("models", "data")]
    for part in ("models", "data"):
        rows += [_row(name, [known]) for name, known in record[part].items()]
    notes = (
        "Each case is a model or a folder of data with one to three changes at random (elements, types, shapes and "
        "places of arrays, plain values, settings, bytes of indexes; pieces, bytes, lines and compression of data), of "
        "models with all checksums made anew in nine of ten. Right: loaded, ranked, saved, loaded again with the same "
        "ranking; data: read. Refused: one line that says why. A find is all else: a signal, another exception, a "
        "ranking that is none, more than 20 seconds, more than twice the memory of the unchanged one. "
        "`-changed`: with labels that came and went, and calibrated."
    )
    return section(
        "Changed at random", table(["", "cases", "refused", "right", "finds"], rows), notes, conditions(record)
    )


def _row(name: str, known: list[dict[str, Any]]) -> list[str]:
    counts = [sum(one.get("outcomes", {}).get(key, 0) for one in known) for key in ("refused", "right", "find")]
    return [name, *(f"{count:,}" for count in (sum(one.get("cases", 0) for one in known), *counts))]


def checking_section() -> str:
    record = read_result("checking")
    if record is None:
        return ""
    keys = ("known_seconds", "first_seconds", "again_seconds", "checksums_seconds")
    rows = [
        [name, f"{one['mb']:,.0f}", *(f"{1000 * one[key]:,.0f}" for key in keys), f"{one['seconds_per_gb']:.2f}"]
        for name, one in record["models"].items()
    ]
    columns = ["half a GB of", "MB", "own, ms", "first, ms", "again, ms", "with checksums, ms", "check, s a GB"]
    notes = (
        "Loading a model that this machine wrote (own), a copy for the first time, which checks its contents, and "
        "again; with all checksums on request. Files are in the system's cache."
    )
    return section("What checking costs", table(columns, rows), notes, conditions(record))


PAGE = Page(
    module="hostile",
    title="Hostile models and data",
    about="Models and data that mean harm: how many were tried, what happened, and what the checks cost.",
    runs=("hostile", "checking"),
    sections=(trials_section, checking_section),
)

if __name__ == "__main__":
    PAGE.write()
