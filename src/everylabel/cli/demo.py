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

NEW_TEXTS = (  # title and text, written in the manner of the sample's catalogue
    (
        "The Night the Maid of Skarr Was Lost",
        "On a January night a coaster carrying slate struck the reef below Hollin Head in a rising gale. This booklet "
        "follows the lifeboat crew who rowed out twice to the wreck, drawing on the coxswain's log, the inquest papers "
        "and the memories of their grandchildren, and ends with a walk along the shore to the graves of those who were "
        "not saved.",
    ),
    (
        "Honey from a Small Garden",
        "A handbook for the beginner with room for two hives and no more. Month by month it explains when to feed, how "
        "to calm a colony with smoke, what to plant so that the bees find nectar from March to October, and how to "
        "take the honey without a sting. A last chapter gives recipes for honey cake and mead.",
    ),
    (
        "The Branch Line to the Harbour",
        "Opened to carry fish to the city and closed within a lifetime, the railway from Corrawick to the junction is "
        "remembered here by the drivers, firemen and station staff who worked it. Photographs show the tank engines "
        "that climbed the bank, the iron viaduct over the river, and the last train of all leaving the platform.",
    ),
)
ONE_MORE = "The lighthouse keepers of Hollin Head and the ships they watched over"
NEXT = (
    "{everylabel} sample {folder}/data --overwrite && {everylabel} inspect {folder}/data",
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
    print(f"  why     labelled documents to learn from are there for {n_seen} of the {n_labels} labels;")
    print(f"          the other {n_labels - n_seen} have none: they are the unseen band")
    print("  time    seconds; the first run on a machine also compiles its kernels, about half a minute", flush=True)


def _print_tags(method: Method) -> None:
    from everylabel.data.dataset import Documents

    print("\nTags of three new texts")
    titles, texts = zip(*NEW_TEXTS, strict=True)
    ids, scores = method.rank(Documents.of(texts, titles), k=4)
    for title, row_ids, row_scores in zip(titles, ids.tolist(), scores.tolist(), strict=True):
        print()
        ranked = [(label, score) for label, score in zip(row_ids, row_scores, strict=True) if label >= 0]
        print(title)
        print_table(("label", "score"), [(method.labels_[i].name, f"{score:.2f}") for i, score in ranked])


def _print_next() -> None:
    """The commands as they can be pasted here: `make demo` needs no activated environment, and nor do they."""
    found = shutil.which("everylabel")
    this = Path(sys.argv[0])
    program = "everylabel" if found and Path(found).resolve() == this.resolve() else os.path.relpath(this)
    folder = f"{tempfile.gettempdir()}/everylabel-demo"
    print("\nNext, try:")
    for command in NEXT:
        print("  " + command.format(everylabel=program, folder=folder, text=ONE_MORE))
