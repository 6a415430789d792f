"""`everylabel demo`: the whole way in a minute, on the embedded sample: fit, results by band, tags of new texts."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from everylabel.cli.guard import guarded
from everylabel.cli.options import DEFAULT_METHOD, Quiet
from everylabel.cli.output import print_table
from everylabel.cli.progress import progress
from everylabel.cli.settings import configured

if TYPE_CHECKING:
    from everylabel.data.dataset import Dataset
    from everylabel.methods.base import Method

TEXT = "How lighthouses were built on open rock"
NEW_TEXTS: tuple[tuple[str, str], ...] = ()  # written once the sample is there
NEXT = (
    "{everylabel} sample {folder}/data && {everylabel} inspect {folder}/data",
    "{everylabel} fit {folder}/data -o {folder}/model && {everylabel} evaluate {folder}/model {folder}/data",
    'echo "{text}" | {everylabel} tag {folder}/model --k 5',
)


@guarded
def demo(quiet: Quiet = False) -> None:
    """Fit on the embedded sample corpus, show the results by band and the tags of new texts.

    Example: everylabel demo
    """
    from everylabel.cli.scoring import score
    from everylabel.cli.tables import print_bands, print_overall

    train, test = _sample()
    _print_plan(train, test)
    started = time.perf_counter()
    with progress(quiet):
        method = configured(DEFAULT_METHOD, None, None).fit(train)
        seconds = time.perf_counter() - started
        result = score(method, test)
    print(f"\nResults on the {result.scores.n_docs} test documents, in % (fitted in {seconds:.1f} s)")
    print_overall(result.scores)
    print("\nBy a label's number of training documents: head 100 and more, middle 10 to 99, tail 1 to 9, unseen 0")
    print_bands(result.scores)
    print(f"\nunseen is 0 by construction: {method.name} cannot suggest a label that no training document has.")
    _print_tags(method)
    _print_next()


def _sample() -> tuple[Dataset, Dataset]:
    from everylabel.data import load_dataset, sample

    with tempfile.TemporaryDirectory() as folder:
        sample(Path(folder) / "sample")
        return load_dataset(Path(folder) / "sample", "train"), load_dataset(Path(folder) / "sample", "test")


def _print_plan(train: Dataset, test: Dataset) -> None:
    from everylabel.registry import METHODS

    n_labels, n_seen = len(train.labels), int((train.counts > 0).sum())
    print(f"Plan: fit {DEFAULT_METHOD} on the embedded sample, a catalogue written for this project")
    print(f"  data    {len(train)} training and {len(test)} test documents, {n_labels} labels")
    print(f"  method  {METHODS[DEFAULT_METHOD].summary}")
    print(
        f"  why     the documents are labelled, so the labels can be learned from them: {n_seen} of {len(train.labels)}"
    )
    print(f"          the other {len(train.labels) - n_seen} have no training document, and are counted as unseen")


def _print_tags(method: Method) -> None:
    from everylabel.data.dataset import Documents

    print("\nTags of three new texts")
    titles, texts = zip(*NEW_TEXTS, strict=True)
    ids, scores = method.rank(Documents.of(texts, titles), k=4)
    for title, row_ids, row_scores in zip(titles, ids.tolist(), scores.tolist(), strict=True):
        print()
        labels = [
            (method.labels_[i].name, f"{score:.2f}") for i, score in zip(row_ids, row_scores, strict=True) if i >= 0
        ]
        print_table(title, ("label", "score"), labels)


def _print_next() -> None:
    """The commands as they can be pasted here: `make demo` needs no activated environment, and nor do they."""
    program = "everylabel" if shutil.which("everylabel") else os.path.relpath(sys.argv[0])
    print("\nNext, try:")
    for command in NEXT:
        print("  " + command.format(everylabel=program, folder=f"{tempfile.gettempdir()}/everylabel-demo", text=TEXT))
