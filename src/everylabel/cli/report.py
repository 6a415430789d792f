"""`everylabel report`: one HTML page about a model: results, differences, calibration, examples, cost."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from everylabel.cli.drawing import ready_to_draw
from everylabel.cli.guard import guarded
from everylabel.cli.options import Data, Json, Model, OnBadRow, Quiet, Split
from everylabel.cli.output import note, print_json
from everylabel.cli.progress import progress

if TYPE_CHECKING:
    from everylabel.cli.measuring import Measured
    from everylabel.data.dataset import Dataset
    from everylabel.methods.base import Method
    from everylabel.report.examples import Example
    from everylabel.report.page import Report

SEED = 0
CURVE_METHOD = "xr-linear"  # fast, and without a choice that depends on how many documents there are
DRAWN = 5  # parts in a picture of curves, besides the model: more cannot be told apart


@guarded
def report(
    model: Model,
    data: Data,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", dir_okay=False, help="The page to write.")
    ] = Path("report.html"),
    split: Split = "test",
    curve: Annotated[
        bool,
        typer.Option("--curve/--no-curve", help="A learning curve: fits xr-linear on parts of the training documents."),
    ] = True,
    documents: Annotated[
        int | None, typer.Option("--documents", metavar="N", min=1, help="At most so many, drawn at random.")
    ] = None,
    on_bad_row: OnBadRow = "error",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Write a page about a model: results by band, against its parts and a floor, calibration, curves, examples, cost.

    The page is one file that needs nothing else: pictures are inside, there is no script. The same model and data give
    the same page, but for the date and the measured times.

    Example: everylabel report MODEL DATA -o report.html
    """
    ready_to_draw()
    from everylabel.atomic import replaced
    from everylabel.errors import DataError
    from everylabel.report.page import render
    from everylabel.store import load

    wanted = ["report", str(model), str(data), "-o", str(output), "--split", split]
    wanted += ["--no-curve"] * (not curve) + (["--documents", str(documents)] if documents is not None else [])
    with progress(quiet):
        method = load(model)
        dataset = _labelled(data, split, on_bad_row, documents)
        try:
            points, remark = _learning_curve(data, dataset, on_bad_row) if curve else ([], "Left out by --no-curve.")
        except DataError as error:  # of the training documents, which the rest of the page does not need
            points, remark = [], f"There is none: {error}"
        made = _report(method, dataset, split, points, remark)
        made = _signed(made, model, data, shlex.join(["everylabel", *wanted]), method)
        text = render(made)
    with replaced(output) as fresh:
        fresh.write_text(text, encoding="utf-8", errors="backslashreplace")
    if json:
        print_json(_as_json(made, method.name, split, output))
    if not quiet:
        note(f"wrote {output}: {made.own.scores.n_docs:,} documents, {', '.join(made.systems)}")


def _labelled(data: Path, split: str, on_bad_row: Any, at_most: int | None) -> Dataset:
    """The documents to report on; without one true label there is nothing to say."""
    from everylabel.data import load_dataset
    from everylabel.data.splits import sample_by_id
    from everylabel.errors import DataError

    dataset = load_dataset(data, split, on_bad_row=on_bad_row)
    if at_most is not None and at_most < len(dataset):
        dataset = dataset.subset(sample_by_id(dataset.documents.ids, None, at_most, SEED))
    if dataset.pairs is None or dataset.pairs.nnz == 0:
        raise DataError(
            f"{data}: a report compares suggestions with true labels, and none of the {len(dataset):,} documents of "
            f"{split!r} has a label; choose another part with --split, or label some documents"
        )
    return dataset


def _report(method: Method, dataset: Dataset, split: str, points: list[tuple[int, float]], curve_remark: str) -> Report:
    from everylabel.cli.measuring import floor_of, measure
    from everylabel.cli.scoring import DEPTH, match_labels
    from everylabel.metrics.reliability import by_seen
    from everylabel.progress import steps
    from everylabel.report.page import Report, System

    truth = match_labels(method.labels_, method.counts_, dataset)
    own = measure(method, method, dataset, truth)
    parts: dict[str, Method] = dict(getattr(method, "experts_", {}))
    measured = {name: measure(part, method, dataset, truth) for name, part in parts.items()}
    measured = dict(sorted(measured.items(), key=lambda item: -item[1].scores["nDCG@5"]))
    if "popularity" not in (method.name, *parts):
        measured["popularity"] = measure(floor_of(method), method, dataset, truth)
    systems = {method.name: System(own.scores, own.docs_per_second)}
    for name, other in steps("testing differences", measured.items(), len(measured)):
        systems[name] = System(other.scores, other.docs_per_second, own.changes_from(other, SEED))
    reliability = by_seen(own.ranking, truth.pairs, truth.train_counts)
    plan, history = getattr(method, "plan_", None), getattr(method, "history", None)
    return Report(
        title=f"{method.name} on {dataset.name}, {split}",
        about={},
        systems=systems,
        reliability=reliability,
        pictures=_pictures({method.name: own, **measured}, reliability, points),
        examples=_examples(method, dataset, own),
        depth=DEPTH,
        footer={},
        remarks=[truth.remark] if truth.remark else [],
        intervals=own.intervals(SEED),
        calibration_remark=_calibration_remark(method),
        learning_curve=points,
        learning_curve_remark=curve_remark,
        costs=dict(getattr(method, "costs_", {})),
        plan=plan.lines() if plan is not None else [],
        history=list(history()) if callable(history) else [],
    )


def _calibration_remark(method: Method) -> str:
    if method.calibration_ is not None:
        return "The scores were turned into probabilities on held-out documents."
    if hasattr(method, "experts_"):
        return ""
    return "The scores of this model were not calibrated: they rank, and need not be probabilities."


def _pictures(
    shown: dict[str, Measured], reliability: dict[str, Any], points: list[tuple[int, float]]
) -> dict[str, str]:
    from everylabel.metrics.reliability import K
    from everylabel.report import plots

    scores = {name: measured.scores for name, measured in shown.items()}
    name, own = next(iter(scores.items()))
    few = dict(list(scores.items())[: DRAWN + 1])
    figures = {"bands": plots.band_plot(few), "frequency": plots.frequency_plot(few)}
    if own.n_zero_shot_docs:
        figures["trade-off"] = plots.trade_off_plot(
            {key: (one["nDCG@5"], one["ZSR@100"]) for key, one in scores.items()}
        )
    groups = {key: reliability[key] for key in ("seen", "tail", "unseen")}
    if any(found.bins for found in groups.values()):
        figures["calibration"] = plots.reliability_plot(groups, K)
    if points:
        figures["learning-curve"] = plots.learning_curve_plot(points, "xr-linear", {f"{name}, as it is": own["nDCG@5"]})
    return {key: plots.inline_svg(figure, key) for key, figure in figures.items()}


def _examples(method: Method, dataset: Dataset, own: Measured) -> list[Example]:
    from everylabel.report.examples import K, choose, describe

    counts = own.truth.train_counts
    chosen = choose(own.hits, counts, dataset.documents.ids, seed=SEED)
    tags = None
    if hasattr(method, "tag") and chosen:
        found = method.tag(dataset.documents.subset([choice.row for choice in chosen]), k=K)
        tags = [{tag.id: tag for tag in row} for row in found]
    known = method.labels_
    labels = [*known.labels, *(label for label in dataset.labels.labels if label.id not in known.index)]
    about = (dataset.documents, own.ranking, own.hits, labels, counts)
    return describe(chosen, *about, n_known=len(known), tags=tags)


def _learning_curve(data: Path, dataset: Dataset, on_bad_row: Any) -> tuple[list[tuple[int, float]], str]:
    """nDCG@5 of a linear method on an eighth, a quarter, half and all of the training documents, nested."""
    from everylabel.cli.scoring import score
    from everylabel.cli.settings import configured
    from everylabel.data import available_splits, load_dataset
    from everylabel.data.splits import hold_out_documents

    train = load_dataset(data, "train", on_bad_row=on_bad_row) if "train" in available_splits(data) else None
    if train is None or train.pairs is None or train.pairs.nnz == 0:
        return [], f"{data} has no labelled training documents (a split named train) to draw a learning curve from."
    points = []
    for _ in range(4):
        value = score(configured(CURVE_METHOD, None, None).fit(train), dataset).scores["nDCG@5"]
        points.append((len(train), value))
        _, train = hold_out_documents(train, share=0.5, seed=SEED)
        if len(train) == points[-1][0] or train.required_pairs.nnz == 0:
            break
    text = f"{CURVE_METHOD} fitted on parts of the training documents; the level line is the model of this report."
    return points[::-1], text


def _signed(made: Report, model: Path, data: Path, command: str, method: Method) -> Report:
    """With what the page says about itself: the model, the data, the date; versions, machine, seed and command."""
    import platform
    from dataclasses import replace
    from datetime import datetime

    import numpy as np

    from everylabel import __version__
    from everylabel.parallel import n_threads

    scores = made.own.scores
    skipped = f" ({scores.n_skipped:,} without a label are left out)" if scores.n_skipped else ""
    summary = f": {method.summary}" if method.summary else ""
    n_seen = int((method.counts_ > 0).sum())
    about = {
        "method": f"{method.name}{summary}",
        "model": str(model),
        "labels": f"{len(method.labels_):,}, {n_seen:,} of them seen in training",
        "training documents": f"{method.n_train_:,}",
        "data": str(data),
        "documents": f"{scores.n_docs:,}{skipped}",
        "report of": datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
    }
    parts = list(getattr(method, "experts_", {}))
    if parts:
        about["parts"] = ", ".join(parts)
    footer = {
        "versions": f"everylabel {__version__}, Python {platform.python_version()}, numpy {np.__version__}",
        "machine": f"{platform.system()} {platform.machine()}, {n_threads()} cores used",
        "seed": f"{SEED} for this report, {method.random_state} for the model",
        "command": command,
    }
    return replace(made, about=about, footer=footer)


def _as_json(made: Report, name: str, split: str, output: Path) -> dict[str, Any]:
    systems = {
        key: {"docs_per_second": round(system.docs_per_second, 1)} | system.scores.to_json()
        for key, system in made.systems.items()
    }
    differences = {
        key: {metric: change._asdict() for metric, change in system.changes.items()}
        for key, system in made.others.items()
    }
    return {
        "method": name,
        "split": split,
        "report": str(output),
        "systems": systems,
        "differences": differences,
        "calibration": {key: found.to_json() for key, found in made.reliability.items()},
        "learning_curve": [{"documents": size, "nDCG@5": value} for size, value in made.learning_curve],
    }
