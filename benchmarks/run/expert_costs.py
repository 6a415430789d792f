"""What experts cost with few and many labels: seconds of CPU, memory, time of a document, beside what a plan says.

python -m benchmarks.run.expert_costs --data DIR [--only tibkat-de:zestxml wordnet-reverse:svm:10000]

A row is a data set, an expert with the settings that a plan gives it, and how many of the training documents it has
(none: all; the first so many of a random order). Fitted once, in a process of its own: seconds are those of the
process, on all of its cores, and memory is what its peak is above what it had with the data read. Scores are those of
the first 1,000 documents of dev. The result has the rows of all runs, so that one can be measured again alone.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from benchmarks.record import read_result, write_result
from benchmarks.run.command import data_folder, data_parser, start, use_own_cache

RESULT = "expert-costs"
EXPERTS = ("tfidf", "knn", "xr-linear", "svm", "semantic", "zestxml", "of-de", "xml0", "depl", "hybrid")
DATA = ("eurlex57k", "tibkat-de", "wordnet-reverse", "wiktionary-translations")
ROWS = [f"{data}:{expert}" for data in DATA for expert in EXPERTS]
SCORES = ("P@1", "nDCG@5", "PSP@5", "R@100", "ZSR@100")
ASKED = 1_000


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--only", nargs="*", default=ROWS, help="DATA:EXPERT or DATA:EXPERT:DOCUMENTS")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        measure(arguments.one, data_folder(arguments.data))
        return
    for row in arguments.only:
        start("run.expert_costs", "--data", data_folder(arguments.data), "--one", row)


def measure(row: str, folder: Path) -> None:
    use_own_cache()
    from everylabel.data import load_dataset
    from everylabel.data.splits import hold_out_documents
    from everylabel.methods.facts import Facts
    from everylabel.metrics.ranking import evaluate
    from everylabel.registry import method_class
    from everylabel.tagger.experts import new_expert

    data, name, *count = row.split(":")
    train, dev = (load_dataset(folder / data, split) for split in ("train", "dev"))
    if count:
        _, train = hold_out_documents(train, count=int(count[0]), seed=0)
    dev = dev.subset(range(min(ASKED, len(dev))))
    facts, cls = Facts.of(train), method_class(name)
    expert = new_expert(name, cls.settings_for(facts), 0)
    before, started = memory_now(), time.process_time()
    expert.fit(train)
    fitted, peak = time.process_time() - started, peak_memory()
    expert.rank(dev.documents.subset(range(2)), k=100)  # what is loaded once
    started = time.process_time()
    ranking = expert.rank(dev.documents, k=100)
    ranked = time.process_time() - started
    scores = evaluate(ranking, dev.required_pairs, train.counts, len(train), recall_ks=(100,)).values
    work = cls.cost(facts)
    found = {
        "facts": {name: value for name, value in asdict(facts).items() if name not in ("speeds", "memory")},
        "cpu_seconds": round(fitted, 1),
        "planned_cpu_seconds": round(facts.cores * work.seconds(facts), 1),
        "ms_a_document": round(1e3 * ranked / len(dev), 2),
        "gb_before": round(before, 2),
        "gb_more_at_the_peak": round(peak - before, 2),
        "gb_of_the_model": round(size_of(expert.state()) / 2**30, 2),
        "planned_gb": round(cls.fit_memory(facts) / 2**30, 2),
        "scores": {name: round(100 * scores[name], 1) for name in SCORES if name in scores},
    }
    rows = (read_result(RESULT) or {"rows": {}})["rows"] | {row: found}
    write_result(RESULT, {"rows": dict(sorted(rows.items()))}, "python -m benchmarks.run.expert_costs")
    print(row, {key: value for key, value in found.items() if key != "facts"}, flush=True)


def size_of(state: Mapping[str, Any]) -> int:
    """Bytes of the arrays and matrices that a model is made of."""
    parts = [part for value in state.values() for part in (vars(value).values() if issparse(value) else [value])]
    return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))


def peak_memory() -> float:
    """Of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def memory_now() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 2**20
    raise OSError("this measurement needs Linux")


if __name__ == "__main__":
    main()
