"""`everylabel evaluate`: how good a model is on labelled data, overall and by how often a label was seen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from everylabel.cli.groups import ungrouped
from everylabel.cli.guard import guarded
from everylabel.cli.options import (
    Data,
    Decided,
    Json,
    Layout,
    Model,
    OnBadRow,
    Plots,
    PropensityOf,
    Quiet,
    Split,
    Transforms,
    chosen_transforms,
)
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
    per_label: Annotated[
        Path | None,
        typer.Option(
            "--per-label",
            metavar="FILE",
            dir_okay=False,
            help="Write a table there (.csv, .tsv): each label's hits and misses by the top K (--f1-at).",
        ),
    ] = None,
    card: Annotated[
        bool, typer.Option("--card", help="Write the results by band into the model's card (README.md), too.")
    ] = False,
    annif: Annotated[
        bool, typer.Option("--annif", help="Also the metrics of `annif eval`, by its names and definitions.")
    ] = False,
    annif_limit: Annotated[
        int, typer.Option("--annif-limit", metavar="N", min=1, max=100, help="Labels a document, of --annif.")
    ] = 10,
    threshold: Annotated[
        float,
        typer.Option("--threshold", metavar="X", min=0, max=1, help="Least score of what --per-label, --annif count."),
    ] = 0.0,
    transform: Transforms = None,
    on_bad_row: OnBadRow = "error",
    quiet: Quiet = False,
) -> None:
    """Print the metrics of a model on labelled data: percentages in tables, fractions in JSON.

    Labels are matched by id. Labels of the data that the model does not know count as missed. The expected calibration
    error is how far scores are from probabilities: a score of 0.3 should be right in 30 % of the cases.

    --annif measures as Annif does, to compare with what you have: `annif eval` with --limit and --threshold.

    Published PSP depends on the data set (--propensity), F1 on how many labels are taken for decisions (--f1-at).

    Example: everylabel evaluate MODEL DATA --split dev --per-label labels.csv --annif
    """
    from everylabel.cli.tables import print_annif, print_bands, print_calibration, print_diagnostics, print_overall
    from everylabel.data import load_dataset
    from everylabel.metrics.propensity import constants
    from everylabel.store import load
    from everylabel.workflow.card import check_card, write_results
    from everylabel.workflow.evaluate import Protocol, diagnostics_of
    from everylabel.workflow.evaluate import evaluate as evaluate_model
    from everylabel.workflow.per_label import check_table, write_table
    from everylabel.workflow.per_label import per_label as scores_of_labels
    from everylabel.workflow.pictures import ready_to_draw
    from everylabel.workflow.tag import in_order
    from everylabel.workflow.transform import transformed_dataset

    constants(propensity)  # a wrong name is said before any work
    transforms = chosen_transforms(transform)
    if plots is not None:
        ready_to_draw(plots)
    if per_label is not None:
        check_table(per_label)
    if card:
        check_card(model)
    with progress(quiet) as run:
        method = load(model)
        dataset = load_dataset(data, split, on_bad_row=on_bad_row, run=run, **layout.reading(transforms))
        dataset = transformed_dataset(dataset, transforms)
        protocol = Protocol(propensity, decided)
        result = evaluate_model(in_order(method, new_labels), dataset, protocol=protocol, run=run)
        diagnostics = diagnostics_of(method, dataset)
    truth, scores = result.truth, result.scores
    if plots is not None:
        draw({method.name: result}, plots, quiet)
    if per_label is not None:
        write_table(scores_of_labels(result, method.labels_, k=decided, threshold=threshold), per_label)
    if card:
        write_results(model, method, scores, f"{dataset.name}, {split}")
    as_annif = result.annif(limit=annif_limit, threshold=threshold) if annif else {}
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
        more |= {"annif": as_annif} if annif else {}
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
    if annif:
        print()
        print_annif(as_annif)
    if truth.remark:
        note(truth.remark)
