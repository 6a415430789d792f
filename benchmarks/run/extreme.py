"""The default Tagger where very much is asked of it: up to 894,625 labels, or a million documents.

python -m benchmarks.run.extreme --data DIR [--rows wiktionary-10000 wiktionary-100000 wiktionary-300000 wiktionary ...]

A row is fitted on train with as much memory as it may take, blended on dev and fitted again on both, as `everylabel
fit` does it, saved, loaded, and asked for documents of test: one at a time and together; ten thousand labels are added
at the end. Rows of fewer labels keep a fixed-seed choice of them, the documents that have one, and those pairs. Each
row runs in a process of its own, and goes on where it was interrupted; its seconds by the clock are then not known.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.record import WORK, read_result, write_result
from benchmarks.run.command import data_folder, data_parser, start, use_own_cache
from benchmarks.run.fitting import fit_by_the_clock
from benchmarks.run.scale import reduced
from benchmarks.run.tagger import measured, ranked, speed
from benchmarks.run.watch import peak_gb, size_mb

if TYPE_CHECKING:
    from everylabel.data import Dataset

ASKED = 2_000  # documents of test
ADDED = 10_000


class Row(NamedTuple):
    data: str
    memory: str  # of the fit, beside the data
    labels: int = 0  # 0: all


ROWS = {
    "wiktionary-10000": Row("wiktionary-translations", "8G", 10_000),
    "wiktionary-100000": Row("wiktionary-translations", "8G", 100_000),
    "wiktionary-300000": Row("wiktionary-translations", "8G", 300_000),
    "wiktionary": Row("wiktionary-translations", "8G"),
    "finna": Row("finna-fi", "12G"),
}


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--rows", nargs="*", default=list(ROWS))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    folder = data_folder(arguments.data)
    if arguments.one:
        run(arguments.one, folder)
        return
    for row in arguments.rows:
        if read_result(f"extreme-{row}") is None:
            start("run.extreme", "--data", folder, "--one", row)


def run(name: str, folder: Path) -> None:
    import everylabel

    use_own_cache()
    row = ROWS[name]
    train, dev, test = (everylabel.load_dataset(folder / row.data, split) for split in ("train", "dev", "test"))
    if row.labels:
        chosen = np.sort(np.random.default_rng(0).permutation(len(train.labels))[: row.labels])
        train, dev, test = (reduced(part, chosen) for part in (train, dev, test))
    test = test.subset(np.sort(np.random.default_rng(0).permutation(len(test))[:ASKED]))
    before = peak_gb()
    tagger = everylabel.Tagger(memory=row.memory)
    times = fit_by_the_clock(tagger, train, dev, WORK / "checkpoints" / f"extreme-{name}")
    peak, path = peak_gb(), WORK / "models" / f"extreme-{name}"
    tagger.save(path)
    loaded: Any = everylabel.load(path)
    truth = test.required_pairs, train.counts, len(train)
    result = {
        "data": row.data,
        "labels": len(train.labels),
        "labels_with_pairs": int((train.counts > 0).sum()),
        "train_documents": len(train),
        "asked": len(test),
        "may_take": row.memory,
        **times,
        "costs": loaded.costs_,
        "plan": loaded.plan_.lines(),
        "history": loaded.history_,
        "data_gb": round(before, 2),
        "peak_gb": round(peak, 2),
        "model_mb": round(size_mb(path), 1),
        "speed": speed(loaded, test),
        "scores": measured(ranked(loaded, test), *truth),
        "experts": {key: measured(ranked(expert, test), *truth) for key, expert in loaded.experts_.items()},
        "add_labels": {"labels": ADDED, "seconds": seconds_to_add(loaded, test)},
    }
    write_result(f"extreme-{name}", result, f"python -m benchmarks.run.extreme --rows {name}")


def seconds_to_add(tagger: Any, test: Dataset) -> float:
    """Names are those of other labels, two of them together."""
    import everylabel

    names = [test.labels[i].name for i in np.random.default_rng(1).integers(0, len(test.labels), 2 * ADDED).tolist()]
    new = [everylabel.Label(f"added-{i}", f"{names[2 * i]} {names[2 * i + 1]}") for i in range(ADDED)]
    begun = time.perf_counter()
    tagger.add_labels(new)
    return round(time.perf_counter() - begun, 2)


if __name__ == "__main__":
    main()
