"""Pictures of the rows with pairs: python -m benchmarks.figures

Macro-F1 by how often a label was seen, and what each band adds to P@5; of the first seed of each row that was run.
"""

from __future__ import annotations

from benchmarks.quality import cell_name
from benchmarks.record import RESULTS, read_result
from everylabel.evaluate.plots import band_plot, frequency_plot, save_plots
from everylabel.evaluate.report import Scores

ROWS = ("svm", "classifier", "de-ret", "depl", "depl+cls", "matchxml")


def main() -> None:
    found = {row: read_result(cell_name(f"eurlex57k-{row}", 0, "test")) for row in ROWS}
    systems = {row: Scores.from_json(record["scores"]) for row, record in found.items() if record is not None}
    figures = {"frequency": frequency_plot(systems), "bands": band_plot(systems)}
    for path in save_plots(figures, RESULTS / "figures"):
        print(f"wrote {path.relative_to(RESULTS.parent)}")


if __name__ == "__main__":
    main()
