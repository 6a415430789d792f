"""`everylabel demo`: the whole way on the embedded sample: plan, fit, results by band, tags of new texts and why."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from everylabel.cli.guard import guarded
from everylabel.cli.options import Quiet
from everylabel.cli.output import print_table
from everylabel.cli.progress import progress

if TYPE_CHECKING:
    from everylabel.data.dataset import Dataset
    from everylabel.tagger.tagger import Tagger
    from everylabel.workflow.evaluate import Evaluation

SHOWN = ("P@1", "P@5", "nDCG@5", "PSP@5", "R@10", "macro-F1@5")
MAIN = "nDCG@5"
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
    "{everylabel} sample {folder}/data --overwrite && {everylabel} plan {folder}/data",
    "{everylabel} fit {folder}/data -o {folder}/model && {everylabel} evaluate {folder}/model {folder}/data",
    'echo "{text}" | {everylabel} tag {folder}/model --k 5 --explain',
)


@guarded
def demo(quiet: Quiet = False) -> None:
    """Fit a tagger on the embedded sample corpus, show its plan, the results by band, and the tags of new texts.

    Example: everylabel demo
    """
    from everylabel.tagger.tagger import Tagger
    from everylabel.workflow.demo import beside_best_expert, sample_splits

    train, dev, test = sample_splits()
    _print_data(train, dev, test)
    started = time.perf_counter()
    with progress(quiet) as run:
        tagger = Tagger().fit(train, dev, run=run)  # says its plan
        seconds = time.perf_counter() - started
        systems = beside_best_expert(tagger, test, run=run)
    _print_experts(tagger, seconds)
    _print_results(systems)
    _print_tags(tagger)
    _print_next()


def _print_data(train: Dataset, dev: Dataset, test: Dataset) -> None:
    n_labels, n_seen = len(train.labels), int((train.counts > 0).sum())
    print("A tagger for the embedded sample, a catalogue written for this project")
    print(f"  data    {len(train)} training, {len(dev)} dev and {len(test)} test documents, {n_labels} labels")
    print(f"  labels  {n_seen} have training documents; the other {n_labels - n_seen} are the unseen band")
    print("  time    half a minute; the first run on a machine also compiles kernels and distils token embeddings,")
    print("          one or two minutes", flush=True)


def _print_experts(tagger: Tagger, seconds: float) -> None:
    print(f"\nWhat it is made of (fitted in {seconds:.1f} s)")
    rows = [(choice.name, choice.why, f"{tagger.costs_[choice.name]:.1f}") for choice in tagger.plan_.experts]
    rows.append(("blend", "learned whom to trust for which label", f"{tagger.costs_['blend']:.1f}"))
    print_table(("expert", "what it does", "s"), rows, left=(0, 1))


def _print_results(systems: dict[str, Evaluation]) -> None:
    from everylabel.metrics.scores import band_rows, percent
    from everylabel.workflow.compare import differences

    own, other = systems.values()
    name, best = systems
    print(f"\nResults on the {own.scores.n_docs} test documents, in %: the {name}, and {best}, the best of its experts")
    print_table(("", *SHOWN), [[key, *(percent(one.scores[m]) for m in SHOWN)] for key, one in systems.items()])
    found = differences(own, other, [MAIN]).metrics[MAIN]
    interval = f"(95 % {100 * found.low:+.1f} to {100 * found.high:+.1f})"
    print(f"difference in {MAIN}: {100 * found.difference:+.1f} {interval}, p = {found.p_value:.3f}")
    print("\nBy a label's number of training documents: head 100 and more, middle 10 to 99, tail 1 to 9, unseen 0")
    columns = ("band", "labels", "pairs", *(f"{m}, {key}" for m in ("F1@5", "R@10") for key in systems))
    rows = [
        [band, f"{a['labels']:,.0f}", f"{a['pairs']:,.0f}", *(percent(v[m]) for m in ("F1@5", "R@10") for v in (a, b))]
        for (band, a), (_, b) in zip(band_rows(own.scores), band_rows(other.scores), strict=True)
    ]
    print_table(columns, rows)
    print("The sample is small and easy, and says nothing about other data.")


def _print_tags(tagger: Tagger) -> None:
    from everylabel.cli.tag import print_evidence
    from everylabel.data.dataset import Documents
    from everylabel.workflow.tag import Cut, tag

    print("\nTags of three new texts: as many as give the best expected F1")
    titles, texts = zip(*NEW_TEXTS, strict=True)
    documents = Documents.of(texts, titles)
    for title, labels in zip(titles, tag(tagger, documents, Cut(5, best=True), explain=True), strict=True):
        print(f"\n{title}")
        print_table(("label", "band", "probability"), [_row(label) for label in labels], left=(0, 1))
        print_evidence(labels)


def _row(label: dict[str, Any]) -> tuple[str, str, str]:
    return label["name"], label["band"], f"{label['probability']:.2f}"


def _print_next() -> None:
    """The commands as they can be pasted here: `make demo` needs no activated environment, and nor do they."""
    found = shutil.which("everylabel")
    this = Path(sys.argv[0])
    program = "everylabel" if found and Path(found).resolve() == this.resolve() else os.path.relpath(this)
    folder = f"{tempfile.gettempdir()}/everylabel-demo"
    print(f"\nTo see it in a browser: {program} serve --demo, then open the address that it prints")
    print("\nNext, try:")
    for command in NEXT:
        print("  " + command.format(everylabel=program, folder=folder, text=ONE_MORE))
