"""`everylabel optimize`: which number of labels and which threshold are best on labelled data."""

from __future__ import annotations

import typer

from everylabel.cli.groups import ungrouped
from everylabel.cli.guard import guarded
from everylabel.cli.options import Data, Json, Layout, Model, OnBadRow, Quiet, Split, Transforms, chosen_transforms
from everylabel.cli.output import note, print_json, print_line, print_table
from everylabel.cli.progress import progress


@guarded
@ungrouped
def optimize(
    model: Model,
    data: Data,
    *,
    split: Split = "dev",
    json: Json = False,
    layout: Layout,
    transform: Transforms = None,
    on_bad_row: OnBadRow = "error",
    quiet: Quiet = False,
) -> None:
    """Print precision, recall and F1 of suggesting 1 to 15 labels with thresholds from 0 to 0.95, and the best of each.

    Averages are those of Annif: of documents, of labels, of labels weighted by their documents, of all pairs. Take
    other documents than those of the last check (--split test): the best of 300 is better there than it will be.

    Example: everylabel optimize MODEL DATA --split dev, then everylabel tag MODEL -k 6 --threshold 0.25
    """
    from everylabel.data import load_dataset
    from everylabel.store import load
    from everylabel.workflow.optimize import optimize as optimize_cut
    from everylabel.workflow.transform import transformed_dataset

    transforms = chosen_transforms(transform)
    with progress(quiet) as run:
        method = load(model)
        dataset = load_dataset(data, split, on_bad_row=on_bad_row, run=run, **layout.reading(transforms))
        found = optimize_cut(method, transformed_dataset(dataset, transforms), run=run)
    if json:
        rows = [
            {"limit": row.limit, "threshold": row.threshold}
            | {name: value._asdict() for name, value in row.by_average.items()}
            for row in found.rows
        ]
        best = {
            name: {"limit": row.limit, "threshold": row.threshold, **row.by_average[name]._asdict()}
            for name, row in found.best.items()
        }
        print_json({"method": method.name, "split": split, "n_docs": found.n_documents, "best": best, "rows": rows})
        return
    averages = list(found.best)
    columns = ("limit", "threshold", "precision", "recall", *(f"F1 ({name})" for name in averages))
    table = [
        (
            str(row.limit),
            f"{row.threshold:.2f}",
            *(f"{value:.4f}" for value in row.by_average["doc avg"][:2]),
            *(f"{row.by_average[name].f1:.4f}" for name in averages),
        )
        for row in found.rows
    ]
    print_table(columns, table, left=())
    print()
    for name, row in found.best.items():
        score = row.by_average[name].f1
        print_line(f"best F1 ({name}): {score:.4f} with limit {row.limit} and threshold {row.threshold:.2f}")
    print_line(f"{method.name} on {split}: {found.n_documents:,} documents")
    if found.truth.remark:
        note(found.truth.remark.replace("count as missed (band: unseen)", "are left out"))
    if method.calibration_ is None and not quiet:
        note(f"{model} is not calibrated: a threshold for its scores holds for this model alone")
    if not found.n_documents:
        raise typer.Exit(1)
