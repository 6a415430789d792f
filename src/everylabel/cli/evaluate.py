"""`everylabel evaluate`: how good a model is on labelled data, overall and by how often a label was seen."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from everylabel.cli.groups import ungrouped
from everylabel.cli.guard import guarded
from everylabel.cli.options import Data, Decided, Json, Layout, Model, OnBadRow, Plots, PropensityOf, Quiet, Split
from everylabel.cli.output import draw, note, print_json, print_line
from everylabel.cli.progress import progress


@guarded
@ungrouped
def evaluate(
    model: Model,
    data: Data,
    *,
    split: Split = "test",
    json: Json = False,
    plots: Plots = None,
    layout: Layout,
    new_labels: Annotated[
        Literal["group", "interleave"],
        typer.Option(
            "--new-labels",
            help="Labels by probability (group), or rare and new ones earlier than that (interleave; a tagger's).",
        ),
    ] = "group",
    propensity: PropensityOf = "default",
    decided: Decided = 5,
    on_bad_row: OnBadRow = "error",
    quiet: Quiet = False,
) -> None:
    """Print the metrics of a model on labelled data: percentages in tables, fractions in JSON.

    Labels are matched by id. Labels of the data that the model does not know count as missed. The expected calibration
    error is how far scores are from probabilities: a score of 0.3 should be right in 30 % of the cases.

    Published PSP depends on the data set (--propensity), F1 on how many labels are taken for decisions (--f1-at).

    Example: everylabel evaluate MODEL DATA --split dev --plots pictures
    """
    from everylabel.cli.tables import print_bands, print_calibration, print_diagnostics, print_overall
    from everylabel.data import load_dataset
    from everylabel.metrics.propensity import constants
    from everylabel.store import load
    from everylabel.workflow.evaluate import Protocol, diagnostics_of
    from everylabel.workflow.evaluate import evaluate as evaluate_model
    from everylabel.workflow.pictures import ready_to_draw
    from everylabel.workflow.tag import in_order

    constants(propensity)  # a wrong name is said before any work
    if plots is not None:
        ready_to_draw(plots)
    with progress(quiet) as run:
        method = load(model)
        dataset = load_dataset(data, split, on_bad_row=on_bad_row, run=run, **layout.keywords)
        protocol = Protocol(propensity, decided)
        result = evaluate_model(in_order(method, new_labels), dataset, protocol=protocol, run=run)
        diagnostics = diagnostics_of(method, dataset)
    truth, scores = result.truth, result.scores
    if plots is not None:
        draw({method.name: result}, plots, quiet)
    if json:
        about = {
            "method": method.name,
            "split": split,
            "propensity": constants(propensity),
            "n_labels": len(truth.train_counts),
            "n_unknown_labels": truth.n_unknown,
            "n_unknown_pairs": truth.n_unknown_pairs,
            "docs_per_second": round(result.docs_per_second, 1),
        }
        more = {"diagnostics": diagnostics} if diagnostics else {}
        print_json(about | {"calibration": result.calibration_json()} | more | scores.to_json())
        return
    skipped = f" ({scores.n_skipped:,} without a label are left out)" if scores.n_skipped else ""
    print_line(
        f"{method.name} on {split}: {scores.n_docs:,} documents{skipped}, {len(truth.train_counts):,} labels, in %"
    )
    print_overall(scores, decided)
    print()
    print_bands(scores, decided)
    print()
    print_calibration(result.reliability, result.calibrated)
    print_diagnostics(diagnostics)
    if truth.remark:
        note(truth.remark)
