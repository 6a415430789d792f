"""Pictures of results: python -m benchmarks.tables.figures

Macro-F1 by how often a label was seen, and what each band adds to P@5; unseen labels while training, their vectors
before and after, and overall against zero-shot quality. Of the first seed of each row that was run. And MACLR's figure
2, what a method makes of pairs of a share of the labels, a mean over the seeds.
"""

from __future__ import annotations

from statistics import mean
from typing import TYPE_CHECKING, Any

from benchmarks.record import RESULTS, read_result
from benchmarks.rows import all_rows, cell_name
from everylabel.metrics.scores import Scores
from everylabel.report.plots import (
    STYLES,
    band_plot,
    frequency_plot,
    history_plot,
    projection_plot,
    save_plots,
    trade_off_plot,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WITH_PAIRS = ("svm", "classifier", "de-ret", "depl", "depl+cls", "matchxml")
WATCHED = ("dpr-unseen-0-long", "of-de-unseen-1-long", "dexml-unseen-0", "of-de-unseen-0", "of-lan-unseen-1")
PROJECTED = ("dpr-unseen-0-long", "of-de-unseen-1-long")
TRADED = {
    **{name: f"eurlex57k-{name}" for name in ("svm", "matchxml", "depl", "depl+cls", "ova-clf", "lan", "dpr", "dexml")},
    **{name: f"eurlex57k-{name}" for name in ("of-de", "of-lan")},
    **{f"{name} (no pairs)": f"eurlex57k-nopairs-{name}" for name in ("tfidf", "hybrid", "maclr", "rts")},
}
COVERED = ("maclr", "zestxml", "xr-linear")
SHARES = (0, 1, 5, 10, 25, 50, 100)  # % of the labels that have pairs


def found(rows: dict[str, str]) -> dict[str, Any]:
    """The results that are there, by the name they have in a picture."""
    records = {name: read_result(cell_name(row, 0)) for name, row in rows.items()}
    return {name: record for name, record in records.items() if record is not None}


def coverage_plot() -> Figure | None:
    """Of the methods that have a value; TF-IDF, which needs no pairs, is a level line."""
    from matplotlib.figure import Figure

    curves = {method: points for method in COVERED if (points := coverage(method))}
    if not curves:
        return None
    figure = Figure(figsize=(7, 6), layout="constrained")
    panels = figure.subplots(2, 1, sharex=True)
    level = found({"tfidf": "eurlex57k-labels0-tfidf"})
    for panel, key in zip(panels, ("P@5", "R@100"), strict=True):
        for style, (method, points) in zip(STYLES, curves.items(), strict=False):
            shares, values = list(points), [100 * one[key] for one in points.values()]
            panel.plot(shares, values, label=method, color=style.colour, linestyle=style.line, marker=style.marker)
        for record in level.values():
            panel.axhline(100 * record["scores"]["values"][key], label="tfidf", color="#777777", linewidth=1)
        panel.set(ylabel=f"{key} in %", xscale="symlog", ylim=(0, None))
        panel.grid(color="#dddddd", linewidth=0.6)
    panels[-1].set_xticks(SHARES, map(str, SHARES))
    panels[-1].minorticks_off()
    panels[-1].set(xlabel="labels that have pairs, in %")
    panels[0].legend()
    return figure


def coverage(method: str) -> dict[int, dict[str, float]]:
    """By the share of labels: P@5 and R@100, means over the seeds that are there."""
    points = {}
    for share in SHARES:
        row = f"eurlex57k-labels{share}-{method}"
        seeds = all_rows().get(row, {}).get("seeds", [])
        values = [record["scores"]["values"] for seed in seeds if (record := read_result(cell_name(row, seed)))]
        if values:
            points[share] = {key: mean(one[key] for one in values) for key in ("P@5", "R@100")}
    return points


def main() -> None:
    cells = found({name: f"eurlex57k-{name}" for name in WITH_PAIRS})
    systems = {name: Scores.from_json(record["scores"]) for name, record in cells.items()}
    figures = {"frequency": frequency_plot(systems), "bands": band_plot(systems)}
    histories = {
        name: record["history"] for name, record in found({n: f"eurlex57k-of10k-{n}" for n in WATCHED}).items()
    }
    if histories:
        figures["history"] = history_plot(histories)
        figures["projection"] = projection_plot({name: histories[name] for name in PROJECTED if name in histories})
    values = {name: record["scores"]["values"] for name, record in found(TRADED).items()}
    figures["trade-off"] = trade_off_plot({name: (one["nDCG@5"], one["ZSR@100"]) for name, one in values.items()})
    if (covered := coverage_plot()) is not None:
        figures["coverage"] = covered
    for path in save_plots(figures, RESULTS / "figures"):
        print(f"wrote {path.relative_to(RESULTS.parent)}")


if __name__ == "__main__":
    main()
