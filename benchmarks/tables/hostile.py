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


def requests_section() -> str:
    record = read_result("hostile-requests")
    if record is None:
        return ""
    rows = [
        [kind, f"{one['cases']:,}", _statuses(one["statuses"]), f"{one['longest']:.1f}", str(len(one["finds"]))]
        for kind, one in record["kinds"].items()
    ]
    n, seconds, canaries = sum(one["cases"] for one in record["kinds"].values()), record["seconds"], record["canaries"]
    memory = "; ".join(
        f"{name}: {one['warm']['peak_mb']:,.0f} MB before, {one['now']['peak_mb']:,.0f} at the peak, threads "
        f"{one['warm']['threads']} and {one['now']['threads']}, file handles {one['warm']['files']} and "
        f"{one['now']['files']}, readers of uploads {one['readers_mb']:,.0f} MB"
        for name, one in record["servers"].items()
    )
    notes = (
        f"{n:,} requests in {seconds:,.0f} s ({n / seconds:,.0f} a second) to two servers that learn, one without keys "
        "and one with. An answer is right if its status is one that the OpenAPI documents have, an error is "
        "`application/problem+json`, 503 says when to come back, and nothing of the server's insides, of its files or "
        "keys is in it; what is no HTTP may be closed without an answer. "
        f"An honest client asked {canaries['asked']:,} times meanwhile: {canaries['right']:,} answers were the same, "
        f"byte for byte, as before; {canaries['came_back_later']:,} times it was asked to come back; "
        f"{1000 * canaries['seconds'] / canaries['asked']:,.0f} ms on average, {canaries['longest_ms']:,.0f} at most. "
        f"Servers: {memory}. No text of a request, traceback or made-up line in their logs, and nobody was asked at an "
        f"address that requests name, or it is one of {len(record['finds'])} finds beside those of the table"
        + (": " + "; ".join(record["finds"]) if record["finds"] else "")
        + "."
    )
    columns = ["requests", "number", "answers by status", "longest, s", "finds"]
    return section("Hostile requests", table(columns, rows), notes, conditions(record))


def _statuses(found: dict[str, int]) -> str:
    return ", ".join(f"{status}: {n:,}" for status, n in sorted(found.items()))


PAGE = Page(
    module="hostile",
    title="Hostile trials",
    about="Models, data and requests that mean harm, writers that are killed: what was tried, what happened, the cost.",
    runs=("hostile", "hostile_writers", "hostile_requests", "checking"),
    sections=(trials_section, requests_section, changed_section, checking_section),
)

if __name__ == "__main__":
    PAGE.write()
