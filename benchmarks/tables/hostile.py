"""results/pages/hostile.md, what was tried to break it: python -m benchmarks.tables.hostile"""

from __future__ import annotations

from typing import Any

from benchmarks.record import read_result
from benchmarks.tables.markdown import Page, conditions, section, table


def trials_section() -> str:
    """One table: what was tried, how many times, what happened."""
    changed, writers = read_result("hostile"), read_result("hostile-writers")
    if changed is None or writers is None:
        return ""
    rows = [_all_changed(part, list(changed[part].values())) for part in ("models", "data")]
    rows += [[what, f"{_times(what, found):,}", _spoken(found)] for what, found in writers["trials"].items()]
    notes = (
        "Writers: a model with files of others in its folder. They are killed (SIGKILL) within 30 ms, in one of "
        "several saves, or may write no more bytes to a file than a number drawn at random; afterwards the model must "
        "be the old one or the new one, every byte of it, with all files of others, and the next save must leave "
        "nothing else behind. Two processes load as fast as they can while a third saves. Two processes add labels, "
        "one at a time. Whatever is not so is counted as lost, and would stand here. With the exchange of names that "
        "Linux has (renameat2), and where there is none, by two renames."
    )
    return section(
        "Trials",
        table(["what was tried", "times", "what happened"], rows),
        notes,
        conditions(changed),
        conditions(writers),
    )


def _all_changed(part: str, known: list[dict[str, Any]]) -> list[str]:
    cases, refused, right, finds = _counts(known)
    what = f"{part} changed at random, of {len(known)} kinds"
    found = f"{finds:,} finds" if finds else "no signal, no hang, no wrong result, no memory beyond"
    return [what, f"{cases:,}", f"refused with one line: {refused:,}; read and right: {right:,}; {found}"]


def _counts(known: list[dict[str, Any]]) -> tuple[int, ...]:
    """Cases; of these refused, right, finds."""
    of = [sum(one.get("outcomes", {}).get(key, 0) for one in known) for key in ("refused", "right", "find")]
    return sum(one.get("cases", 0) for one in known), *of


def _times(what: str, found: dict[str, int]) -> int:
    return sum(found.values()) if "killed" in what or "room" in what else max(found.values())


def _spoken(found: dict[str, int]) -> str:
    lost = sum(n for key, n in found.items() if key.startswith(("lost", "left")))
    return "; ".join([*(f"{key}: {n:,}" for key, n in found.items()), *(["nothing lost"] if not lost else [])])


def changed_section() -> str:
    record = read_result("hostile")
    if record is None:
        return ""
    rows = [
        [name, *(f"{count:,}" for count in _counts([known]))]
        for part in ("models", "data")
        for name, known in record[part].items()
    ]
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
    title="Hostile trials",
    about="Models and data that mean harm, writers that are killed: how many were tried, what happened, what it costs.",
    runs=("hostile", "hostile_writers", "checking"),
    sections=(trials_section, changed_section, checking_section),
)

if __name__ == "__main__":
    PAGE.write()
