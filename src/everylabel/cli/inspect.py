"""`everylabel inspect`: what is in the data, and what looks wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from everylabel.cli.groups import ungrouped
from everylabel.cli.guard import guarded
from everylabel.cli.options import Data, Json, Layout, Quiet
from everylabel.cli.output import print_json, print_line, print_table
from everylabel.cli.progress import progress

if TYPE_CHECKING:
    from everylabel.data.inspect import Inspection

SHOWN_QUANTILES = ("min", "median", "mean", "95%", "max")


@guarded
@ungrouped
def inspect(data: Data, *, json: Json = False, layout: Layout, quiet: Quiet = False) -> None:
    """Print counts, the distribution of labels, lengths of texts, unseen labels, and suspicious rows.

    Example: everylabel inspect DATA --json
    """
    from everylabel.data.inspect import inspect as inspect_data

    with progress(quiet) as run:
        found = inspect_data(data, run=run, **layout.keywords)
    if json:
        print_json(found.to_json())
    else:
        _print(found)


def _print(found: Inspection) -> None:
    named = "in the vocabulary" if found.has_vocabulary else "in the documents (there is no vocabulary)"
    print_line(f"{found.path}: {found.format} data, {found.n_labels:,} labels {named}")
    if found.splits:
        _print_splits(found)
    else:
        print("there are no documents")
    if found.suspicious:
        print("\nSuspicious")
    for finding in found.suspicious.values():
        print_line(f"  {finding.count:,} {finding.meaning}")
        for example in finding.examples:
            print_line(f"    {example}")


def _print_splits(found: Inspection) -> None:
    print()
    rows = [
        [name, *(f"{n:,}" for n in (s.n_docs, s.n_labelled, s.n_pairs, s.n_labels_used, s.n_unseen_labels))]
        for name, s in found.splits.items()
    ]
    print_table(("part", "documents", "labelled", "pairs", "labels used", "of these unseen"), rows)
    print(f"\nLabels by their number of documents in {found.training}")
    print_table(tuple(found.bands), [[f"{number:,}" for number in found.bands.values()]], left=())
    print()
    _print_quantiles(found)


def _print_quantiles(found: Inspection) -> None:
    rows = [(f"words a document, {name}", s.words_per_doc) for name, s in found.splits.items()]
    rows += [(f"labels a document, {name}", s.labels_per_doc) for name, s in found.splits.items()]
    rows += [(f"documents a label, {found.training}", found.pairs_per_label)]
    cells = [[what, *(f"{q[key]:,.1f}".removesuffix(".0") for key in SHOWN_QUANTILES)] for what, q in rows if q]
    print_table(("", *SHOWN_QUANTILES), cells)
