"""Tables of the cells of `benchmarks.run.quality`, for the pages that show them."""

from __future__ import annotations

from functools import cache
from typing import Any

from benchmarks.record import read_result, read_results
from benchmarks.rows import all_rows
from benchmarks.tables.markdown import TEXTS_OF_ROWS, conditions, difference, percent, section, table
from everylabel.registry import method_class

RANKED = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@1", "PSP@3", "PSP@5", "R@100", "ZSR@100")
WITH_PAIRS = (*RANKED, "macro-F1@5", "tail-F1@5", "tail-F1-tested@5")
UNSEEN = (
    *(f"{metric}@{k}" for metric in ("nDCG", "PSP") for k in (1, 3, 5)),
    *("P@1", "ZSR@10", "ZSR@50", "ZSR@100"),
)
NO_PAIRS = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@5", "R@10", "R@100", "ZSR@10", "ZSR@50", "ZSR@100", "RP@5", "MRR")
INTERVALS = ("nDCG@5", "ZSR@100")
NOTES = (
    "In %; several seeds: mean ± standard deviation. 95%: bootstrap interval over documents, first seed. Fit and "
    "docs/s are from texts, of the first seed; peak memory is that of the whole process, the texts included. "
    "classifier, de-ret, depl and depl+cls ran on one core beside other work, and so did the seeds 1 and 2 of "
    "matchxml, whose seed 0 had two cores beside other work: alone they take less. The fit of an ensemble is the "
    "sum of its three. Of rows on 10,000 documents times say little: they ran side by side, with frozen vectors "
    "from the cache. `rare`: the row with `rare_weight=0.2`, made of kept rankings. Label texts: `all` are names, "
    "alternative names and descriptions, as far as a vocabulary has them; `none`: the method reads none."
)
COMPARED = ("P@1", "nDCG@5", "PSP@5", "R@100", "ZSR@100", "macro-F1@5", "tail-F1@5")
EACH = "A row is made by `python -m benchmarks.run.quality --rows ROW`; the last one: "
FROM_CELLS = "From the cells of `python -m benchmarks.run.quality --rows ROW`."

Cell = dict[str, Any]


@cache
def cells() -> list[Cell]:
    """All results of `benchmarks.run.quality`, in the order of their names."""
    return read_results("quality/*")


def quality_section(name: str, title: str, metrics: tuple[str, ...], remarks: str) -> str:
    """The rows of one table, of all data sets that have it."""
    records: dict[str, list[Cell]] = {}
    for cell in cells():
        if cell.get("table", "pairs") == name:
            records.setdefault(f"{cell['row']} ({cell['split']})", []).append(cell)
    if not records:
        return ""
    rows = [quality_row(row, seeds, metrics) for row, seeds in records.items()]
    intervals = [f"{key}, 95%" for key in INTERVALS]
    columns = ["row", *metrics, *intervals, "fit s", "s/1,000 steps", "docs/s", "model MB", "peak GB"]
    columns += ["label texts", "seeds"]
    empty = [i for i in range(len(columns)) if all(row[i] == "-" for row in rows)]  # metrics that the data has not
    columns, *rows = [[entry for i, entry in enumerate(row) if i not in empty] for row in [columns, *rows]]
    last = next(reversed(records.values()))[0]
    return section(title, table(columns, rows), f"{NOTES}\n{remarks}", EACH + conditions(last))


def quality_row(name: str, seeds: list[Cell], metrics: tuple[str, ...]) -> list[str]:
    first = seeds[0]
    scores = [percent(*(cell["scores"]["values"].get(key) for cell in seeds)) for key in metrics]
    intervals = [interval(first, key) for key in INTERVALS]
    speed = [f"{first['seconds']['fit']:.0f}", thousand_steps(first), f"{first['documents_per_second']:,.0f}"]
    sizes = [f"{first['model_mb']:.0f}", f"{max(cell['peak_gb'] for cell in seeds):.1f}"]
    return [
        name,
        *scores,
        *intervals,
        *speed,
        *sizes,
        label_texts(first),
        ", ".join(str(cell["seed"]) for cell in seeds),
    ]


def label_texts(cell: Cell) -> str:
    """Which ones the method read; of those that read none nothing."""
    if not method_class(cell["method"]).traits.reads_label_texts:
        return "none"
    return str(all_rows().get(cell["row"], {}).get("texts", "all"))


def differences_section(tables: frozenset[str]) -> str:
    """Of the rows of these tables."""
    record, rows = read_result("differences"), all_rows()
    shown = [one for one in (record or {}).get("differences", []) if rows.get(one["row"], {}).get("table") in tables]
    if record is None or not shown:
        return ""
    entries = []
    for one in shown:
        values = [difference(one.get(key)) for key in COMPARED]
        entries.append([one["row"], one["against"], *values, " and ".join(map(str, one["seeds"]))])
    notes = (
        "Row minus the row it is held against, in points, mean over the seeds of each. F1: macro t-test over labels, "
        "of the tail those with 1 to 9 training pairs; all others: 95% interval of the paired bootstrap over test "
        "documents. What earlier runs did not count is left out."
    )
    return section(
        "Differences", table(["row", "against", *COMPARED, "seeds"], entries), notes, TEXTS_OF_ROWS, conditions(record)
    )


def interval(cell: Cell, key: str) -> str:
    found = cell.get("intervals", {}).get(key)
    return "-" if found is None else f"{100 * found[0]:.1f} to {100 * found[1]:.1f}"


def thousand_steps(cell: Cell) -> str:
    """Seconds, over all stages; of methods that train step by step."""
    stages = list(cell.get("stages", {}).values())
    steps = sum(stage["steps"] for stage in stages)
    return f"{1000 * sum(stage['seconds'] for stage in stages) / steps:.0f}" if steps else "-"
