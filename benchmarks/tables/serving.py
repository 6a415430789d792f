"""results/pages/serving.md, the server under load, faults and time: python -m benchmarks.tables.serving"""

from __future__ import annotations

from typing import Any

from benchmarks.record import read_result
from benchmarks.tables.markdown import Page, conditions, difference, percent, picture, section, table

SYSTEMS = {"everylabel": "everylabel", "fast": 'everylabel, accuracy="fast"', "annif": "Annif"}
WAYS = {"suggest": "Annif's `suggest`", "tag": "our `tag`"}


def load_section() -> str:
    record = read_result("serving-load")
    if record is None:
        return ""
    rounds = record["rounds"]
    rows = [row for number, one in enumerate(rounds, 1) for row in load_rows(str(number), one)]
    columns = ["round", "what", "clients", "documents/s", "p50 ms", "p95 ms", "2 x clients / rate, ms", "client, cores"]
    annif = record["annif"]
    notes = (
        f"{record['data']}: {record['documents']:,} test documents a pass, {record['clients']} clients in a process of "
        "their own, each of which asks again when it has its answer; a word more in each pass, so that nothing that "
        "was kept helps; all were asked for once before. `rank`: documents/s in batches of 256 and of 32 (of 32 "
        "clients, which wait for their answers, "
        "there are never more documents), p50 of one document at a time. All on the same cores, "
        "those of the clients included. From the command to readiness: "
        + ", ".join(f"{one['everylabel']['start_seconds']:.1f} s" for one in rounds)
        + "."
    )
    if annif:
        notes += (
            f" Annif: {', '.join(annif['packages'])}, defaults of omikuji, trained in {annif['train_seconds']:,.0f} s "
            "on the same documents (and those of dev, which we blend on), served by gunicorn with one uvicorn worker a "
            "core, asked by the same clients in the same rounds."
        )
    return section(
        "Load",
        table(columns, rows),
        "Medians of the rounds against what was to be shown:",
        table(["what", "", "wanted"], ratio_rows(record)),
        notes,
        conditions(record),
    )


def load_rows(number: str, one: dict[str, Any]) -> list[list[str]]:
    rows = []
    for when in ("before", "after"):
        rank = one[f"rank_{when}"]
        alone = f"{rank['alone_p50_ms']:.1f}"
        rates = {"256": rank["documents_per_second"], "32": rank["documents_per_second_by_clients"]}
        rows += [
            [number, f"`rank` by {size}, {when}", "", f"{rate:,.0f}", alone if size == "256" else "", "", "", ""]
            for size, rate in rates.items()
        ]
    for system, called in SYSTEMS.items():
        for way, name in WAYS.items():
            for clients, key in (("32", way), ("1", f"{way}_alone")):
                if key in one.get(system, {}):
                    rows.append([number, f"{called}: {name}", clients, *load_cells(one[system][key])])
    return rows


def load_cells(one: dict[str, Any]) -> list[str]:
    numbers = [f"{one[key]:.1f}" for key in ("p50_ms", "p95_ms", "p95_bound_ms")]
    return [f"{one['documents_per_second']:,.0f}", *numbers, f"{one['client_cpu']:.2f}"]


def ratio_rows(record: dict[str, Any]) -> list[list[str]]:
    ratios, quality = record["ratios"], record["quality"]
    rows = []
    for way, name in WAYS.items():
        rows += [
            [
                f"{name}: documents/s, of those of `rank` by 32",
                f"{ratios[f'{way}_of_rank_by_clients']:.2f}",
                "0.8 or more",
            ],
            [f"{name}: documents/s, of those of `rank` by 256", f"{ratios[f'{way}_of_rank']:.2f}", ""],
            [f"{name}: p95, of clients / rate", f"{ratios[f'{way}_p95_of_fair']:.2f}", "2 or less"],
            [f"{name}: a single client's wait, of `rank`", f"{ratios[f'{way}_alone_of_rank']:.2f}", "1.3 or less"],
        ]
    if "annif" in quality:
        rows.append(["documents/s, of those of Annif, default", f"{ratios['suggest_of_annif']:.1f}", ""])
        rows.append(["documents/s, of those of Annif, fast", f"{ratios['fast_of_annif']:.1f}", "5 or more"])
        known = [f"{percent(quality[system])} ({called})" for system, called in SYSTEMS.items()]
        rows.append(["nDCG@5 of what was answered", ", ".join(known), ""])
        for system in ("everylabel", "fast"):
            above = difference(quality[f"{system}_minus_annif"])
            rows.append([f"nDCG@5 above Annif's, {SYSTEMS[system]}", above, "above 0"])
    return rows


def faults_section() -> str:
    record = read_result("serving-faults")
    if record is None:
        return ""
    rows = [fault_row(name, known) for name, known in record["trials"].items()]
    notes = (
        "`everylabel serve` on the sample, under traffic that tags, decides and has it learned all the time. Killed: "
        "SIGKILL within 3 seconds, one in five before it is ready; then every acknowledged decision must be in the "
        "database once, as it was sent, every model must open with all its bytes, and after a proper stop no other "
        "file may be left. Exchanged: every name of a label says which of two models it is of; one document and eight "
        "at a time. The others: tagging must go on meanwhile; a decision is acknowledged, and then there for good, or "
        "refused with 503 and a sentence; afterwards decisions are taken again without a restart. Whatever is not so "
        "is counted as lost, and would stand here."
    )
    return section(
        "Faults", table(["what was tried", "times", "what happened", "what it said"], rows), notes, conditions(record)
    )


def fault_row(name: str, known: dict[str, Any]) -> list[str]:
    if "not_done" in known:
        return [name, "0", f"not done here: {known['not_done']}", ""]
    counts = known.get("counts", {})
    bad = any(key.startswith(("lost", "left")) for key in counts)
    happened = "; ".join([*(f"{key}: {n:,}" for key, n in counts.items()), *([] if bad else ["nothing lost"])])
    said = known.get("said", [])
    return [name, f"{known.get('times', 0):,}", happened, said[0].replace("|", "/") if said else ""]


def soak_section() -> str:
    record = read_result("serving-soak")
    if record is None:
        return ""
    found = record["verdicts"]
    rows = [
        [f"{name}, the last third of what was before", f"{found[f'{key}_last_of_before']:.3f}"] for name, key in SOAKED
    ]
    rows += [
        [f"{name}, least and most", " to ".join(map(str, found[f"{name}_extremes"]))] for name in ("threads", "handles")
    ]
    rows += [["requests", f"{sum(record['requests'].values()):,}"], ["failed", f"{sum(record['failed'].values()):,}"]]
    rows += [
        ["decisions acknowledged", f"{record['decisions']:,}"],
        ["of these lost", f"{sum(record['lost'].values()):,}"],
    ]
    models = ", ".join(f"{what} {n:,}" for what, n in record["models"].items())
    rows.append(["models", models or "none"])
    notes = (
        f"{record['asked_minutes']:g} minutes, {record['data']}. Mixed traffic of four threads by all interfaces, "
        "learning switched on; every tenth minute decisions are undone and the first model is taken back. The first "
        "sixth is warm-up, and left out. Anonymous memory is what is not of files. The hour that is shown was not "
        "alone on its machine: other jobs ran at lower priority, most from minute 23 to 34, and waits rose meanwhile."
    )
    about = "memory, threads, handles and waits by minute"
    return section("An hour", table(["", ""], rows), picture("serving-soak", about), notes, conditions(record))


SOAKED = (("RSS", "rss"), ("PSS", "pss"), ("anonymous memory", "anonymous"), ("p95 of tagging a document", "p95"))
PAGE = Page(
    module="serving",
    title="The server",
    about="The server under load beside `rank` and Annif, what it survives, and an hour of mixed traffic.",
    runs=("serving_load", "serving_faults", "serving_soak"),
    sections=(load_section, faults_section, soak_section),
)

if __name__ == "__main__":
    PAGE.write()
