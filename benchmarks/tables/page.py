"""results/pages/page.md, the page for people: python -m benchmarks.tables.page"""

from __future__ import annotations

from typing import Any

from benchmarks.record import read_result
from benchmarks.tables.markdown import Page, conditions, section, table

PARTS = ("p50", "p95", "most")


def search_section() -> str:
    record = read_result("label-search")
    if record is None:
        return ""
    kinds = [("cpu_ms", "CPU"), *([("ms", "waited")] if record["alone"] else [])]
    rows = [
        [name, f"{own['queries']:,}", *(f"{own[kind][part]:.1f}" for kind, _ in kinds for part in PARTS)]
        for name, own in record["queries"].items()
    ]
    columns = ["asked by", "queries", *(f"{name}, {part} ms" for _, name in kinds for part in PARTS)]
    build = record["build"]
    notes = (
        f"{record['labels']:,} labels of wiktionary-translations, each with a notation, by "
        f"`GET /api/models/ID/labels?prefix=` of a real server on loopback, one client; CPU is the server's. The index "
        f"is built once, in {build['cpu_seconds']:.1f} s of CPU, and takes {build['mb']:,} MB; the server has "
        f"{record['server_mb']['rss']:,.0f} MB then. Wanted: at most 50 ms at the 95th percentile."
    )
    return section("Labels while one types", table(columns, rows), notes, beside(record), conditions(record))


def view_section() -> str:
    record = read_result("first-view")
    if record is None:
        return ""
    named = {"CPU of the page": "page_cpu_ms", "first paint": "first_paint_ms", "first view": "first_view_ms"}
    times = [[name, *(f"{record[key][part]:.0f}" for part in PARTS)] for name, key in named.items() if key in record]
    sizes = record["gzipped_bytes"]
    kilobytes = {name.replace("_", " "): size / 1000 for name, size in sizes.items()}
    heavy = ", ".join(f"{name} {size:.1f}" for name, size in kilobytes.items())
    notes = (
        f"{record['times']} times by a Chromium {record['chromium']} that was never there, {record['requests']} "
        f"requests each, for which the server takes {record['server_cpu_ms']:.0f} ms of CPU. kB, gzipped: {heavy}; "
        f"{sum(kilobytes.values()):.1f} in all. Wanted: under 300 ms, and under 60 kB of script and style."
    )
    columns = ["", *(f"{part} ms" for part in PARTS)]
    return section("First view", table(columns, times), notes, beside(record), conditions(record))


def beside(record: dict[str, Any]) -> str:
    if record["alone"]:
        return ""
    return "Measured beside other work: what a person waits is to be measured alone (`--alone`), and is not here yet."


PAGE = Page(
    module="page",
    title="The page",
    about="What the page for people costs: labels found while one types among 895,000, and the first view.",
    runs=("label_search", "first_view"),
    sections=(search_section, view_section),
)

if __name__ == "__main__":
    PAGE.write()
