"""Labels that come after the fit: python -m benchmarks.run.labels_at_run_time --data DIR [--documents 20000]

wordnet-reverse: methods are fitted on the labels that have training pairs, then the more than 100,000 others are added.
Time and memory of adding and of ranking, and the quality before and after: all labels, seen ones, unseen ones. And how
long 10,000 labels take.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.record import read_result, write_result
from benchmarks.run.command import answer, data_folder, data_parser, use_own_cache
from benchmarks.run.shown import some
from benchmarks.run.watch import Stages, Watch

if TYPE_CHECKING:
    from everylabel.data import Dataset
    from everylabel.methods.base import Method

METHODS = ("tfidf", "semantic", "of-de", "depl", "xr-linear")
TEST_DOCUMENTS = 2_000
MANY = 10_000


def quality(method: Method, test: Dataset, counts: Any, n_train: int) -> dict[str, float]:
    """On the whole vocabulary, whatever part of it the method knows."""
    import numpy as np

    from everylabel.metrics.ranking import evaluate
    from everylabel.types import Ranking

    found = method.rank(test.documents, k=100)
    places = np.array([test.labels.index[label.id] for label in method.labels_.labels], np.int32)
    ids = np.where(found.ids >= 0, places[found.ids], -1)
    scores = evaluate(Ranking(ids, found.scores), test.required_pairs, counts, n_train, recall_ks=(10, 100)).values
    return {key: round(scores[key], 4) for key in ("nDCG@5", "R@100", "ZSR@10", "ZSR@100")}


def measure(name: str, data: Path, documents: int) -> dict[str, Any]:
    """One method, in a process of its own."""
    import numpy as np

    import everylabel
    from everylabel.data import Dataset

    use_own_cache()
    train = some(everylabel.load_dataset(data / "wordnet-reverse", "train"), documents)
    test = some(everylabel.load_dataset(data / "wordnet-reverse", "test"), TEST_DOCUMENTS)
    seen = np.flatnonzero(train.counts)
    known = Dataset(train.documents, train.labels.subset(seen), train.required_pairs[:, seen], name=train.name)
    later = train.labels.subset(np.flatnonzero(train.counts == 0)).labels
    watch, stages = Watch(), Stages()
    with watch("fit"):
        method = everylabel.method(name).fit(known)
    with watch("rank before"):
        before = quality(method, test, train.counts, len(train))
    peak_fit = round(stages.note_peak(), 2)
    with watch(f"add {MANY}"):
        method.add_labels(later[:MANY])
    with watch("add the others"):
        method.add_labels(later[MANY:])
    peak_add = round(stages.note_peak(), 2)
    with watch("rank after"):
        after = quality(method, test, train.counts, len(train))
    peak_rank = round(stages.note_peak(), 2)
    peaks = {"fit": peak_fit, "add": peak_add, "rank": peak_rank}
    sizes = {"train_documents": len(train), "labels_before": len(seen), "labels_after": len(method.labels_)}
    return {"method": name, **sizes, "seconds": watch.seconds, "peak_gb": peaks, "before": before, "after": after}


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--documents", type=int, default=20_000, help="how many training documents")
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--one", help="measure this method in this process, and print it")
    arguments = parser.parse_args()
    data = data_folder(arguments.data)
    if arguments.one:
        print(json.dumps(measure(arguments.one, data, arguments.documents)))
        return
    found: dict[str, Any] = (read_result("labels-at-run-time") or {}).get("found", {})
    for name in arguments.methods:
        if name not in found:
            one = ("--one", name, "--data", data, "--documents", arguments.documents)
            found[name] = answer("run.labels_at_run_time", *one)
            print(found[name], flush=True)
            write_result("labels-at-run-time", {"found": found}, "python -m benchmarks.run.labels_at_run_time")


if __name__ == "__main__":
    main()
