"""Pictures of evaluations and of trainings, written to a folder as PNG and SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from everylabel.atomic import check_writable
from everylabel.errors import DataError
from everylabel.metrics.reliability import K

if TYPE_CHECKING:
    from everylabel.workflow.evaluate import Evaluation


def ready_to_draw(folder: Path) -> None:
    """A missing library, or a folder that nothing can be written to, is said before the work, not after it."""
    from everylabel.report.plots import require_matplotlib

    require_matplotlib()
    check_writable(folder / "bands.png")


def draw_evaluations(results: Mapping[str, Evaluation], folder: Path) -> list[str]:
    """Frequency curve, bars by band and reliability: of one method by groups of labels, of several side by side.

    The names of the pictures.
    """
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
    return list(figures)


def draw_curves(trainings: Sequence[Path], folder: Path) -> list[Path]:
    """The loss curves of trainings (folders of `everylabel fit --curves`, or files in them) in one picture's files."""
    from everylabel.report.plots import save_plots, training_plot

    return save_plots({"training": training_plot(read_curves(trainings))}, folder)


def read_curves(trainings: Sequence[Path]) -> dict[str, list[dict[str, Any]]]:
    """By the training's name in its folder; by its whole path, as it was given, where there are several folders."""
    from everylabel.train.checkpoint import read_curve

    found: dict[Path, list[dict[str, Any]]] = {}
    folders = {path if path.is_dir() else path.parent for path in trainings}
    for path in trainings:
        lines = {file: list(read_curve(file)) for file in (sorted(path.rglob("*.jsonl")) if path.is_dir() else [path])}
        kept = {file: steps for file, steps in lines.items() if any(step.get("loss") is not None for step in steps)}
        if not kept:
            raise DataError(
                f"{path}: no loss curve here (lines of JSON with step and loss); write them with: "
                f"everylabel fit DATA --curves {path}"
            )
        found |= kept
    named = {file: file.with_suffix("") for file in found}
    if len(folders) == 1:
        named = {file: name.relative_to(*folders) for file, name in named.items()}
    return {str(named[file]): steps for file, steps in found.items()}
