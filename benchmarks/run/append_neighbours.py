"""What it costs nearest neighbours to learn more documents: python -m benchmarks.run.append_neighbours --data DIR

`knn` as it is planned is fitted on train (finna-fi: a million documents); then it learns 100 documents of dev, ten
times. Seconds of the clock of each; memory above what the process had before, at the peak; milliseconds of one document
before and after, and the seconds to put all together, as every learning did before. Results: append-neighbours. Another
`--corpus` is printed, and no result of it is kept.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

import everylabel
from benchmarks.record import write_result
from benchmarks.run.command import data_folder, data_parser, use_own_cache
from benchmarks.run.expert_costs import memory_now, size_of
from benchmarks.run.watch import Watch, peak_gb
from everylabel.data.dataset import Dataset, Documents
from everylabel.methods.facts import Facts
from everylabel.methods.words.neighbours import NearestNeighbours
from everylabel.text.views import Views

CORPUS, TIMES, LEARNED, ASKED = "finna-fi", 10, 100, 200


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--corpus", default=CORPUS)
    arguments = parser.parse_args()
    use_own_cache()
    values = measured(data_folder(arguments.data) / arguments.corpus)
    if arguments.corpus == CORPUS:
        write_result("append-neighbours", values, "python -m benchmarks.run.append_neighbours")


def measured(folder: Path) -> dict[str, Any]:
    watch = Watch()
    train, dev = everylabel.load_dataset(folder, "train"), everylabel.load_dataset(folder, "dev", limit=2_000)
    new, asked = dev.subset(range(TIMES * LEARNED)), dev.documents.subset(range(len(dev) - ASKED, len(dev)))
    with watch("fit"):
        knn = NearestNeighbours(**NearestNeighbours.settings_for(Facts.of(train))).fit(train).model_
    before, of_fit = milliseconds(knn, asked), size_of(knn.state())
    resting = forget_peak()
    seconds, model = list[float](), knn
    for i in range(TIMES):
        part = new.subset(range(LEARNED * i, LEARNED * (i + 1)))
        started = time.perf_counter()
        model = learned(model, part)
        seconds.append(round(time.perf_counter() - started, 3))
        print(f"{LEARNED} documents after {knn.n_documents + LEARNED * i:,}: {seconds[-1]} s", flush=True)
    above, after = peak_gb() - resting, milliseconds(model, asked)
    resting = forget_peak()
    with watch("merge"):
        model.merged()
    found = {
        "data": folder.name,
        "train_documents": len(train),
        "learned": LEARNED,
        "fit_seconds": watch.seconds["fit"],
        "seconds": seconds,
        "gb_above_at_the_peak": round(above, 3),
        "merge_seconds": watch.seconds["merge"],
        "merge_gb_above_at_the_peak": round(peak_gb() - resting, 3),
        "mb_of_the_fit": round(of_fit / 1e6, 1),
        "mb_more": round((size_of(model.state()) - of_fit) / 1e6, 1),
        "ms_a_document": {"before": before, "after": after},
    }
    print(found, flush=True)
    return found


def learned(model: NearestNeighbours, part: Dataset) -> NearestNeighbours:
    """As a Tagger learns them; the vocabulary stays."""
    counts = model.counts_ + part.counts
    return model.with_documents(Views(part.documents), part.required_pairs, model.labels_, counts)


def milliseconds(model: NearestNeighbours, asked: Documents) -> float:
    """Of a document alone, the median."""
    times = list[float]()
    for i in range(len(asked)):
        one = asked.subset(np.array([i]))
        started = time.perf_counter()
        model.rank(one, k=10)
        times.append(1e3 * (time.perf_counter() - started))
    return round(statistics.median(times), 2)


def forget_peak() -> float:
    """The memory of this process now, in GB, from which its peak counts anew (Linux)."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return memory_now() * 2**30 / 1e9


if __name__ == "__main__":
    main()
