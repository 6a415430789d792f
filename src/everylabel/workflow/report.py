"""A page about a model: what is measured for it, drawn, chosen and said about where it came from."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from everylabel import __version__
from everylabel.atomic import check_writable, replaced
from everylabel.data import Dataset, available_splits, load_dataset
from everylabel.data.splits import hold_out_documents, sample_by_id
from everylabel.errors import DataError
from everylabel.methods.base import Method
from everylabel.methods.words.popularity import Popularity
from everylabel.metrics.reliability import K, Reliability
from everylabel.metrics.significance import sign_test
from everylabel.parallel import n_threads
from everylabel.report.differences import System
from everylabel.report.examples import Example, choose, describe
from everylabel.report.examples import K as EXAMPLE_K
from everylabel.report.page import Report, render
from everylabel.report.page_parts import is_page
from everylabel.run import QUIET, Run
from everylabel.workflow.compare import changes, intervals
from everylabel.workflow.evaluate import METRIC_DEPTH, Evaluation, evaluate, evaluate_part, match_labels
from everylabel.workflow.settings import configured, is_tagger
from everylabel.workflow.training import TRAIN, has_pairs

if TYPE_CHECKING:
    from everylabel.data.formats.layout import Layout
    from everylabel.data.formats.rows import OnBadRow

SEED = 0
CURVE_METHOD = "xr-linear"  # fast, and without a choice that depends on how many documents there are
DRAWN = 5  # parts in a picture of curves, besides the model: more cannot be told apart


@dataclass(frozen=True)
class LearningCurve:
    """(training documents, nDCG@5) each, and what it is, or why there is none."""

    points: list[tuple[int, float]]
    remark: str


@dataclass(frozen=True, kw_only=True)
class Origin:
    """What a page says about where it came from."""

    model: str = ""
    data: str = ""
    command: str = ""


def report(
    model: Method,
    dataset: Dataset,
    *,
    split: str = "test",
    curve: LearningCurve | None = None,
    origin: Origin | None = None,
    run: Run = QUIET,
) -> Report:
    """Results by band, against the model's parts and a floor, calibration, curves, examples and cost.

    Cost: the documents are ranked by the model, by each of its parts and by the floor; 2,000 resamples of each
    difference.
    """
    model = model.model_
    curve = curve or LearningCurve([], "There is none.")
    truth = match_labels(model.labels_, model.counts_, dataset)
    own = evaluate(model, dataset, run=run)
    parts: dict[str, Method] = dict(getattr(model, "experts_", {}))
    others = {name: evaluate_part(part, model, dataset, truth, run=run) for name, part in parts.items()}
    others = dict(sorted(others.items(), key=lambda item: -item[1].scores["nDCG@5"]))
    if "popularity" not in (model.name, *parts):
        others["popularity"] = evaluate_part(floor_of(model), model, dataset, truth, run=run)
    systems = {model.name: System(own.scores, own.docs_per_second)}
    for name, other in run.steps("testing differences", others.items(), len(others)):
        tested = changes(own, other, SEED), sign_test(own.hits, other.hits)
        systems[name] = System(other.scores, other.docs_per_second, *tested)
    plan, history = getattr(model, "plan_", None), getattr(model, "history", None)
    made = Report(
        title=f"{model.name} on {dataset.name}, {split}",
        about={},
        systems=systems,
        reliability=own.reliability,
        pictures=_pictures({model.name: own, **others}, own.reliability, curve.points),
        examples=_examples(model, dataset, own),
        depth=METRIC_DEPTH,
        footer={},
        remarks=[truth.remark] if truth.remark else [],
        intervals=intervals(own, SEED),
        calibration_remark=_calibration_remark(model),
        learning_curve=curve.points,
        learning_curve_remark=curve.remark,
        costs=dict(getattr(model, "costs_", {})),
        plan=plan.lines() if plan is not None else [],
        history=list(history()) if callable(history) else [],
    )
    return _signed(made, model, origin or Origin())


def ready_to_report(output: Path) -> None:
    """What would end a report at its last step is said before the first."""
    from everylabel.report.plots import require_matplotlib

    require_matplotlib()
    check_writable(output)


def check_output(output: Path) -> None:
    """An error where a page would take the place of something else: before any work."""
    if not output.is_file():  # nothing, or a pipe, which would wait for somebody
        return
    with output.open("rb") as file:
        begin = file.read(1024)
    if begin and not is_page(begin):
        raise DataError(
            f"{output}: this file is there, and is no report of everylabel, so it is not overwritten; choose another "
            "name, or remove it"
        )


def write_report(made: Report, output: Path) -> None:
    """One file that needs nothing else; whole or not at all. Only in the place of another report."""
    check_output(output)
    text = render(made)
    with replaced(output) as fresh:
        fresh.write_text(text, encoding="utf-8", errors="backslashreplace")


def labelled_documents(
    data: Path,
    split: str,
    *,
    at_most: int | None = None,
    on_bad_row: OnBadRow = "error",
    run: Run = QUIET,
    **layout: Unpack[Layout],
) -> Dataset:
    """The documents to report on; without one true label there is nothing to say."""
    dataset = load_dataset(data, split, on_bad_row=on_bad_row, run=run, **layout)
    if at_most is not None and at_most < len(dataset):
        dataset = dataset.subset(sample_by_id(dataset.documents.ids, None, at_most, SEED))
    if not has_pairs(dataset):
        raise DataError(
            f"{data}: a report compares suggestions with true labels, and none of the {len(dataset):,} documents of "
            f"{split!r} has a label; choose another part with --split, or label some documents"
        )
    return dataset


def learning_curve(
    data: Path, dataset: Dataset, *, on_bad_row: OnBadRow = "error", run: Run = QUIET, **layout: Unpack[Layout]
) -> LearningCurve:
    """nDCG@5 of a linear method on an eighth, a quarter, half and all of the training documents, nested."""
    try:
        has_train = TRAIN in available_splits(data, **layout)
        train = None
        if has_train:
            train = load_dataset(data, TRAIN, on_bad_row=on_bad_row, labels=dataset.labels, run=run, **layout)
        if train is None or not has_pairs(train):
            nothing = f"{data} has no labelled training documents (a split named train) to draw a learning curve from."
            return LearningCurve([], nothing)
        points: list[tuple[int, float]] = []
        for _ in range(4):
            method = configured(CURVE_METHOD).fit(train, run=run)
            points.append((len(train), evaluate(method, dataset, run=run).scores["nDCG@5"]))
            _, train = hold_out_documents(train, share=0.5, seed=SEED)
            if len(train) == points[-1][0] or train.required_pairs.nnz == 0:
                break
    except DataError as error:  # of the training documents, which the rest of the page does not need
        return LearningCurve([], f"There is none: {error}")
    text = f"{CURVE_METHOD} fitted on parts of the training documents; the level line is the model of this report."
    return LearningCurve(points[::-1], text)


def floor_of(model: Method) -> Popularity:
    """The most frequent labels for every text: the counts that each model keeps are all it takes."""
    hidden = np.flatnonzero(model.hidden_)
    kept = {"counts": model.counts_, "n_train": model.n_train_, "hidden": hidden, "n_fitted": model.n_fitted_}
    return Popularity().restore(model.labels_, kept)


def _calibration_remark(model: Method) -> str:
    if is_tagger(model) and model.knows_other_corpora_only:
        return "There were no labelled documents: the scores are probabilities as other corpora have them."
    if model.calibration_ is not None:
        return "The scores were turned into probabilities on held-out documents."
    if is_tagger(model):
        return ""
    return "The scores of this model were not calibrated: they rank, and need not be probabilities."


def _pictures(
    shown: Mapping[str, Evaluation], reliability: Mapping[str, Reliability], points: list[tuple[int, float]]
) -> dict[str, str]:
    from everylabel.report import plots

    scores = {name: found.scores for name, found in shown.items()}
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
        level = {f"{name}, as it is": own["nDCG@5"]}
        figures["learning-curve"] = plots.learning_curve_plot(points, CURVE_METHOD, level)
    return {key: plots.inline_svg(figure, key) for key, figure in figures.items()}


def _examples(model: Method, dataset: Dataset, own: Evaluation) -> list[Example]:
    counts = own.truth.train_counts
    chosen = choose(own.hits, counts, dataset.documents.ids, seed=SEED)
    tags = new = None
    said: Any = model
    if hasattr(said, "tag") and chosen:
        documents = dataset.documents.subset([choice.row for choice in chosen])
        tags = [{tag.id: tag for tag in row} for row in said.tag(documents, k=EXAMPLE_K)]
        new = said.new_labels(documents) if is_tagger(model) else None
    known = model.labels_
    labels = [*known.labels, *(label for label in dataset.labels.labels if label.id not in known.index)]
    about = (dataset.documents, own.ranking, own.hits, labels, counts)
    return describe(chosen, *about, n_known=len(known), tags=tags, new=new)


def _signed(made: Report, model: Method, origin: Origin) -> Report:
    """With what the page says about itself: the model, the data, the date; versions, machine, seed and command."""
    scores = made.own.scores
    skipped = f" ({scores.n_skipped:,} without a label are left out)" if scores.n_skipped else ""
    summary = f": {model.summary}" if model.summary else ""
    n_seen = int((model.counts_ > 0).sum())
    about = {
        "method": f"{model.name}{summary}",
        "model": origin.model,
        "labels": f"{len(model.labels_):,}, {n_seen:,} of them seen in training",
        "training documents": f"{model.n_train_:,}",
        "data": origin.data,
        "documents": f"{scores.n_docs:,}{skipped}",
        "report of": datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        "parts": ", ".join(getattr(model, "experts_", {})),
    }
    footer = {
        "versions": f"everylabel {__version__}, Python {platform.python_version()}, numpy {np.__version__}",
        "machine": f"{platform.system()} {platform.machine()}, {n_threads()} cores used",
        "seed": f"{SEED} for this report, {model.random_state} for the model",
        "command": origin.command,
    }
    return replace(made, about=_told(about), footer=_told(footer))


def _told(facts: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in facts.items() if text}


def report_json(made: Report) -> dict[str, Any]:
    """The numbers of the page."""
    systems = {
        key: {"docs_per_second": round(system.docs_per_second, 1)} | system.scores.to_json()
        for key, system in made.systems.items()
    }
    return {
        "systems": systems,
        "differences": {key: system.differences_json() for key, system in made.others.items()},
        "calibration": {key: found.to_json() for key, found in made.reliability.items()},
        "learning_curve": [{"documents": size, "nDCG@5": value} for size, value in made.learning_curve],
    }
