"""`everylabel learn`: new labelled documents for a fitted tagger, in seconds instead of a new fit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from everylabel.cli.guard import guarded
from everylabel.cli.options import Json, Model, OnBadRow, Quiet, Split
from everylabel.cli.output import print_json
from everylabel.cli.progress import progress
from everylabel.cli.settings import as_tagger

if TYPE_CHECKING:
    from everylabel.data import Dataset, LabelSet


@guarded
def learn(
    model: Model,
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|FOLDER",
            help='Labelled documents: JSON lines of {"text", "title"?, "labels": [ids]}, or data of any format.',
        ),
    ],
    split: Split = "train",
    json: Json = False,
    on_bad_row: OnBadRow = "error",
    quiet: Quiet = False,
) -> None:
    """Teach a tagger new documents, and say how well it knew them before, and whether a full fit is due.

    Labels are ids of the model's vocabulary; an unknown one is an error, and the model stays as it is. The neighbours
    and the blend learn at once; the other experts with the next fit.

    Example: everylabel learn MODEL new.jsonl
    """
    from everylabel.metrics.scores import percent
    from everylabel.store import load

    tagger = as_tagger(
        load(model), model, "cannot learn from new documents; fit it again with all of them, or fit a tagger, which can"
    )
    with progress(quiet):
        found = tagger.learn(labelled_documents(source, split, tagger.labels_, on_bad_row))
        tagger.save(model)
    if json:
        print_json(found._asdict())
        return
    print(f"learned {found.documents:,} documents with {found.pairs:,} labels; wrote {model}")
    print(f"labels that had no document before: {found.new_labels:,}")
    print(f"nDCG@5 of these documents before they were learned: {percent(found.ndcg5)} %")
    print(f"a full fit is due: {found.refit_due}" if found.refit_due else "a full fit is not due yet")


def labelled_documents(path: Path, split: str, labels: LabelSet, on_bad_row: Literal["error", "skip"]) -> Dataset:
    """The documents in a model's vocabulary, whatever lies beside them; labels that it has not come after its own."""
    import numpy as np

    from everylabel.data import BadRows, Dataset, Label
    from everylabel.data.formats import plain
    from everylabel.data.formats.load import Gathered, Truth, open_source, own_split
    from everylabel.data.formats.rows import suffix_of

    bad = BadRows(on_bad_row)
    if path.is_file() and suffix_of(path) in ("", ".json"):
        rows = plain.read_file(path, bad)
    else:
        module, opened = open_source(path, bad=bad)
        rows = module.read_documents(opened, own_split(module, path, split))
    gathered, truth = Gathered(), Truth(labels.index.to_dict(), fixed=False)
    for row in rows:
        gathered.add(row)
        truth.add(row.labels or [])
    bad.report()
    unknown = list(truth.index)[len(labels) :]
    whole = labels.extended(Label(one, one) for one in unknown)
    return Dataset(gathered.documents(), whole, truth.pairs(np.arange(len(whole)), len(whole)), name=path.name)
