"""Planned against taken: what a Tagger's plan says that each expert takes on this machine, and what it took.

python -m benchmarks.run.plan_times --data DIR [--rows sample cve-libraries eurlex57k-3000]

A row is a data set, planned and fitted on train with its dev split, if there is one, in a process of its own; the row
of eurlex57k has the first 3,000 of its documents, drawn by their ids. The result has the rows of all runs, so that one
can be measured again alone. Encoders that are made once (static embeddings) are made before the clock starts.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.record import read_result, write_result
from benchmarks.run.command import data_folder, data_parser, start, use_own_cache

if TYPE_CHECKING:
    from everylabel.data import Dataset

RESULT = "plan-times"
ROWS: dict[str, dict[str, Any]] = {
    "sample": {},
    "cve-libraries": {"data": "cve-libraries"},
    "eurlex57k-3000": {"data": "eurlex57k", "documents": 3_000},
}


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--rows", nargs="*", default=list(ROWS), choices=list(ROWS))
    parser.add_argument("--one", choices=list(ROWS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        measure(arguments.one, arguments.data)
        return
    for row in arguments.rows:
        given = ["--data", arguments.data] if arguments.data else []  # the sample needs none
        start("run.plan_times", *given, "--one", row)


def measure(row: str, data: str | None) -> None:
    use_own_cache()
    from everylabel.machine import speeds
    from everylabel.methods.facts import Facts
    from everylabel.tagger.tagger import Tagger

    train, dev = loaded(row, data)
    warm_up(train)
    tagger = Tagger()
    plan = tagger.plan(train, dev)
    print("\n".join(plan.lines()), flush=True)
    started = time.perf_counter()
    tagger.fit(train, dev)
    taken = time.perf_counter() - started
    facts = {name: value for name, value in asdict(Facts.of(train, dev)).items() if name != "speeds"}
    planned = {choice.name: choice.seconds for choice in (*plan.experts, *plan.spare)}
    planned |= {f"{choice.name}, again": choice.again for choice in (*plan.experts, *plan.spare)}
    taken_by = {name: seconds for name, seconds in tagger.costs_.items() if name in planned}
    experts = {name: {"planned": planned[name], "taken": seconds} for name, seconds in taken_by.items()}
    found = {"facts": facts, "budget": round(plan.budget, 1), "rehearsal": plan.rehearsal, "experts": experts}
    found |= {"blend": tagger.costs_.get("blend", 0.0), "planned": round(plan.seconds, 1), "taken": round(taken, 1)}
    before = read_result(RESULT) or {"rows": {}}
    rows = before["rows"] | {row: found}
    ordered = {name: rows[name] for name in ROWS if name in rows}
    write_result(RESULT, {"speeds": asdict(speeds()), "rows": ordered}, "python -m benchmarks.run.plan_times")
    for name, own in experts.items():
        print(f"{row:16} {name:10} planned {own['planned']:7.1f} s, taken {own['taken']:7.1f} s", flush=True)


def loaded(row: str, data: str | None) -> tuple[Dataset, Dataset | None]:
    from everylabel.data import available_splits, load_dataset, sample
    from everylabel.data.splits import hold_out_documents

    spec = ROWS[row]
    if "data" not in spec:
        with tempfile.TemporaryDirectory() as folder:
            return load_dataset(sample(Path(folder) / "sample"), "train"), None
    folder_of_data = data_folder(data) / spec["data"]
    train = load_dataset(folder_of_data, "train")
    if "documents" in spec:
        _, train = hold_out_documents(train, count=spec["documents"], seed=0)
    dev = load_dataset(folder_of_data, "dev") if "dev" in available_splits(folder_of_data) else None
    return train, dev


def warm_up(train: Dataset) -> None:
    """Static embeddings are distilled, and kernels compiled, once a machine and not once a fit."""
    from everylabel.tagger.tagger import Tagger

    few = train.subset(range(min(60, len(train))))
    Tagger(experts=("tfidf", "knn", "svm", "semantic")).fit(few)


if __name__ == "__main__":
    main()
