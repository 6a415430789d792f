"""Many labels: fit, save, load and rank wordnet-reverse with 10,000, 50,000 and all 148,897 labels.

python -m benchmarks.run.scale --data DIR

The smaller problems keep a fixed-seed choice of labels, the documents that have one of them, and those pairs. The cost
of one document must grow with the logarithm of the labels, not with the labels. Each size is a process of its own.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import numpy as np

import everylabel
from benchmarks.record import read_result, write_result
from benchmarks.run.command import data_folder, data_parser, start
from benchmarks.run.fitting import saved_and_loaded
from benchmarks.run.watch import Watch, peak_gb
from everylabel.metrics.ranking import evaluate

SIZES = (10_000, 50_000, 148_897)


def reduced(dataset: everylabel.Dataset, labels: np.ndarray) -> everylabel.Dataset:
    """These labels and the documents that have one of them."""
    pairs = dataset.required_pairs[:, labels]
    rows = np.flatnonzero(np.diff(pairs.indptr))
    return everylabel.Dataset(dataset.documents.subset(rows), dataset.labels.subset(labels), pairs[rows], dataset.name)


def run_size(size: int, data: Path) -> None:
    watch = Watch()
    with watch("read"):
        train = everylabel.load_dataset(data / "wordnet-reverse", "train")
        test = everylabel.load_dataset(data / "wordnet-reverse", "test")
    documents = test.documents  # the same questions at every size
    if size < len(train.labels):
        labels = np.sort(np.random.default_rng(0).permutation(len(train.labels))[:size])
        train, test = reduced(train, labels), reduced(test, labels)
    method = everylabel.method("xr-linear")
    with watch("fit"):
        method.fit(train)
    method, model_mb = saved_and_loaded(method, watch)
    method.rank(documents.subset(range(2)), k=10)  # loads the compiled kernels
    seconds = []
    for _ in range(3):
        begun = time.perf_counter()
        method.rank(documents, k=10)
        seconds.append(time.perf_counter() - begun)
    ranking = method.rank(test.documents, k=100)
    scores = evaluate(ranking, test.required_pairs, train.counts, len(train))
    values = {
        "data": "wordnet-reverse",
        "labels": size,
        "labels_with_pairs": int((train.counts > 0).sum()),
        "train_documents": len(train),
        "seconds": watch.seconds,
        "microseconds_per_document": round(1e6 * statistics.median(seconds) / len(documents), 1),
        "model_mb": round(model_mb, 1),
        "peak_gb": round(peak_gb(), 2),
        "scores": {key: scores[key] for key in ("P@1", "nDCG@5", "R@10", "R@100")},
    }
    write_result(f"scale-{size}", values, "python -m benchmarks.run.scale")


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--size", type=int, help="run only this size, in this process")
    parser.add_argument("--again", action="store_true", help="measure again what is there already")
    arguments = parser.parse_args()
    data = data_folder(arguments.data)
    if arguments.size is not None:
        run_size(arguments.size, data)
        return
    for size in SIZES:
        if arguments.again or read_result(f"scale-{size}") is None:
            print(f"{size} labels", flush=True)
            start("run.scale", "--size", size, "--data", data)


if __name__ == "__main__":
    main()
