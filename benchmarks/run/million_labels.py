"""A million labels: what the vocabulary takes, and what does not have to grow with it.

python -m benchmarks.run.million_labels

Labels are made up, three words each. Measured beside a vocabulary of ten thousand: bytes of a label beside its texts,
the time to open a model, to add one label, and to rank a text that shares no word with any label: all that is left of
ranking then is bookkeeping. For `tfidf` and for a Tagger of tfidf, knn and svm on 2,000 documents.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import everylabel
from benchmarks.record import WORK, write_result
from benchmarks.run.command import plain_parser
from everylabel.data.columns import TextColumn
from everylabel.data.dataset import pairs_from_lists
from everylabel.methods.base import Method

SIZES = (10_000, 1_000_000)
WORDS = 60_000
DOCUMENTS = 2_000
REPEATS = 15


def main() -> None:
    plain_parser(__doc__).parse_args()
    found = {f"{size:,}": measured(size) for size in SIZES}
    few, many = (found[f"{size:,}"] for size in SIZES)
    grows = {
        name: round(many[name]["rank_nothing_ms"] - few[name]["rank_nothing_ms"], 3) for name in ("tfidf", "tagger")
    }
    values = {"sizes": found, "ms_of_ranking_that_grow_with_the_labels": grows}
    write_result("million-labels", values, "python -m benchmarks.run.million_labels")


def measured(n_labels: int) -> dict[str, Any]:
    labels = vocabulary(n_labels)
    columns = [value.whole()[1] if isinstance(value, TextColumn) else value for value in labels.state().values()]
    beside = sum(column.nbytes for column in columns)
    values: dict[str, Any] = {"bytes_a_label_beside_texts": round(beside / n_labels, 1)}
    rng = np.random.default_rng(1)
    lists = [rng.integers(0, min(n_labels, 500), 3).tolist() for _ in range(DOCUMENTS)]
    documents = [" ".join(f"{labels[label].name} {word(int(rng.integers(WORDS)))}" for label in row) for row in lists]
    data = everylabel.Dataset(everylabel.Documents.of(documents), labels, pairs_from_lists(lists, n_labels))
    methods: dict[str, Method] = {
        "tfidf": everylabel.method("tfidf"),
        "tagger": everylabel.Tagger(experts=("tfidf", "knn", "svm"), language="none"),
    }
    for name, method in methods.items():
        path = WORK / "models" / f"million-{name}-{n_labels}"
        method.fit(data).save(path)
        values[name] = of_model(path)
    return values


def of_model(path: Any) -> dict[str, float]:
    everylabel.load(path).rank(["first, so that what is compiled and imported is there"], 5)
    open_ms = ms(lambda: everylabel.load(path))
    method = everylabel.load(path)
    method.rank(["qqq xxx"], 10)
    rank_ms = ms(lambda: method.rank(["qqq xxx"], 10))
    numbers = iter(range(10 * REPEATS))

    def add() -> None:
        number = next(numbers)
        method.add_labels([everylabel.Label(f"new-{number}", f"a label that came later {number}")])

    add()  # the first one after loading makes what later ones share
    return {"open_ms": open_ms, "add_one_label_ms": ms(add), "rank_nothing_ms": rank_ms}


def ms(work: Callable[[], Any]) -> float:
    """The median."""
    seconds = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begun)
    return round(1e3 * statistics.median(seconds), 3)


def vocabulary(n: int) -> everylabel.LabelSet:
    chosen = np.random.default_rng(0).integers(0, WORDS, (n, 3)).tolist()
    return everylabel.LabelSet.of(everylabel.Label(f"l{i}", " ".join(map(word, own))) for i, own in enumerate(chosen))


def word(number: int) -> str:
    """Made of syllables; none of them has a q or an x."""
    syllables = "ba de fi go ku la me ni po ru sa te vi zo".split()  # noqa: SIM905
    parts = []
    for _ in range(4):
        number, at = divmod(number, len(syllables))
        parts.append(syllables[at])
    return "".join(parts)


if __name__ == "__main__":
    main()
