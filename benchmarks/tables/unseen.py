"""The tables of `benchmarks.dropped_labels` and `benchmarks.labels_at_run_time`, and of the collapse."""

from __future__ import annotations

from typing import Any

from benchmarks.dropped_labels import METRICS
from benchmarks.markdown import conditions, percent, table
from benchmarks.quality_tables import cells, ends
from benchmarks.record import read_result

BASES = ("zestxml", "xr-linear", "of-lan")


def dropped_section() -> str:
    records = [record for base in BASES if (record := read_result(f"dropped-labels-{base}")) is not None]
    if not records:
        return ""
    rows, differences, searches = [], [], []
    for record in records:
        drops = record["drops"]
        for name in drops[0]["values"]:
            values = [percent([drop["values"][name][key] for drop in drops]) for key in METRICS]
            rows.append(["-" if record["base"] == "zestxml" else record["base"], name, *values])
        for name, found in record.get("differences", {}).items():
            cells = [f"{100 * found[key]['difference']:+.2f} ({ends(found[key])})" for key in METRICS]
            differences.append([record["base"], f"xml0 - {name}", *cells])
        for drop in drops:
            if "greedy" in drop:
                searches.append(search_row(record["base"], drop))
    notes = (
        "500 labels at random lose their training pairs, three times over; mean ± standard deviation. Only labels "
        "without pairs are candidates and truth, and only test documents that have one count. Differences: 95% "
        "interval of the paired bootstrap over the documents of all drops. On `of-lan`: 10,000 training documents and "
        "200 steps, so that more labels have no pairs and all numbers are lower. The paper: XML0 is above both of its "
        "parts. Here it is, far above fusion and a little above `semantic`, on both bases and by every metric but P@1 "
        "on `xr-linear`, where nothing is shown. `zestxml` is above all of them. ConSE is below fusion by nDCG on both."
    )
    found = ["base", "weight of fusion", "searches", "same subset %", "mean loss", "largest loss"]
    parts = [
        "## Labels dropped from training",
        table(["base", "method", *METRICS], rows),
        table(["base", "difference", *METRICS], differences),
        "The growing search beside the exhaustive one: how often it finds the same subset, and what it loses of the "
        "cosine.",
        table(found, searches),
        notes,
        conditions(records[-1]),
    ]
    return "\n\n".join(parts) + "\n"


def search_row(base: str, drop: dict[str, Any]) -> list[str]:
    loss = drop["greedy"]
    numbers = [f"{loss['searches']:,}", f"{100 * loss['same']:.1f}", f"{loss['mean_loss']:.5f}"]
    return [base, f"{drop['weight']:.2f}", *numbers, f"{loss['largest_loss']:.4f}"]


def run_time_section() -> str:
    record = read_result("labels-at-run-time")
    if record is None:
        return ""
    rows = []
    for found in record["found"].values():
        seconds, peak = found["seconds"], found["peak_gb"]
        times = [f"{seconds[key]:.1f}" for key in ("fit", "add 10000", "add the others", "rank before", "rank after")]
        memory = [f"{peak[key]:.1f}" for key in ("fit", "add", "rank")]
        values = [
            f"{100 * found[when][key]:.1f}"
            for key in ("nDCG@5", "R@100", "ZSR@10", "ZSR@100")
            for when in ("before", "after")
        ]
        sizes = [f"{found[key]:,}" for key in ("labels_before", "labels_after")]
        rows.append([found["method"], *sizes, *times, *memory, *values])
    times = ["fit s", "add 10,000 s", "add the others s", "rank before s", "rank after s"]
    memory = [f"{name} GB" for name in ("fit", "add", "rank")]
    values = [f"{key}{when}" for key in ("nDCG@5", "R@100", "ZSR@10", "ZSR@100") for when in ("", ", after")]
    notes = (
        "wordnet-reverse, 20,000 training and 2,000 test documents: fitted on the labels with pairs, then the others "
        "are added to the fitted model. `xr-linear` cannot rank a label without pairs: its words are matched instead."
    )
    columns = ["method", "labels", "labels, after", *times, *memory, *values]
    return f"## Labels added at run time\n\n{table(columns, rows)}\n\n{notes}\n\n{conditions(record)}\n"


def collapse_section() -> str:
    """The first and the last evaluation of the factorial's rows."""
    rows = []
    for record in cells():
        history = record.get("history")
        if history:
            first, last = history[0], history[-1]
            values = [
                "-" if state[key] is None else f"{scale * state[key]:.{digits}f}"
                for key, scale, digits in (
                    ("ndcg@5", 100, 1),
                    ("zsr@100", 100, 1),
                    ("unseen_cosine", 1, 3),
                    ("unseen_participation", 1, 1),
                )
                for state in (first, last)
            ]
            rows.append([record["row"], str(last["step"]), *values])
    if not rows:
        return ""
    names = ("nDCG@5", "ZSR@100", "cosine", "directions")
    columns = ["row", "steps", *(f"{name}, {when}" for name in names for when in ("before", "after"))]
    notes = (
        "Documents and labels held out for the purpose. Cosine: mean over pairs of unseen labels' vectors; directions: "
        "their participation ratio. A collapse is a cosine towards 1 and few directions."
    )
    return f"## The collapse of unseen labels, and its absence\n\n{table(columns, rows)}\n\n{notes}\n"
