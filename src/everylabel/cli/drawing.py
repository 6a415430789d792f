"""Pictures of evaluations: what `evaluate --plots` and `compare --plots` share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from everylabel.cli.output import note

if TYPE_CHECKING:
    from everylabel.cli.scoring import Evaluation


def ready_to_draw() -> None:
    """A missing library is said before the work, not after it."""
    from everylabel.report.plots import require_matplotlib

    require_matplotlib()


def draw(results: Mapping[str, Evaluation], folder: Path, *, quiet: bool) -> None:
    """Frequency curve, bars by band and reliability: of one method by groups of labels, of several side by side."""
    from everylabel.metrics.reliability import K
    from everylabel.report.plots import band_plot, frequency_plot, reliability_plot, save_plots

    scores = {name: result.scores for name, result in results.items()}
    figures = {"frequency": frequency_plot(scores), "bands": band_plot(scores)}
    if len(results) == 1:
        (result,) = results.values()
        groups = {name: result.reliability[name] for name in ("all", "tail", "unseen")}
    else:
        groups = {name: result.reliability["all"] for name, result in results.items()}
    if any(found.bins for found in groups.values()):
        figures["reliability"] = reliability_plot(groups, K)
    save_plots(figures, folder)
    if not quiet:
        note(f"wrote {', '.join(figures)} to {folder}, each as .png and .svg")
