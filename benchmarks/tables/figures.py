"""Pictures of results: python -m benchmarks.tables.figures

Macro-F1 by how often a label was seen, and what each band adds to P@5; unseen labels while training, their vectors
before and after, and overall against zero-shot quality. Of the first seed of each row that was run.
"""

from __future__ import annotations

from typing import Any

from benchmarks.record import RESULTS, read_result
from benchmarks.rows import cell_name
from everylabel.metrics.scores import Scores
from everylabel.report.plots import (
    band_plot,
    frequency_plot,
    history_plot,
    projection_plot,
    save_plots,
    trade_off_plot,
)

WITH_PAIRS = ("svm", "classifier", "de-ret", "depl", "depl+cls", "matchxml")
WATCHED = ("dpr-unseen-0-long", "of-de-unseen-1-long", "dexml-unseen-0", "of-de-unseen-0", "of-lan-unseen-1")
PROJECTED = ("dpr-unseen-0-long", "of-de-unseen-1-long")
TRADED = {
    **{name: f"eurlex57k-{name}" for name in ("svm", "matchxml", "depl", "depl+cls", "ova-clf", "lan", "dpr", "dexml")},
    **{name: f"eurlex57k-{name}" for name in ("of-de", "of-lan")},
    **{f"{name} (no pairs)": f"eurlex57k-nopairs-{name}" for name in ("tfidf", "hybrid", "maclr", "rts")},
}


def found(rows: dict[str, str]) -> dict[str, Any]:
    """The results that are there, by the name they have in a picture."""
    records = {name: read_result(cell_name(row, 0)) for name, row in rows.items()}
    return {name: record for name, record in records.items() if record is not None}


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
    for path in save_plots(figures, RESULTS / "figures"):
        print(f"wrote {path.relative_to(RESULTS.parent)}")


if __name__ == "__main__":
    main()
