"""The settings of the methods without pairs, one changed at a time, on the dev documents of three data sets.

python -m benchmarks.run.choices --data DIR [--documents 1000]

What is the default and what is not was chosen by these numbers; test documents have no part in it. A setting whose
result is there is skipped. Idf and centring are from 10,000 training documents, without their labels.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.record import read_result, write_result
from benchmarks.run.command import data_folder, data_parser, use_own_cache
from benchmarks.run.fitting import with_changes
from benchmarks.run.shown import load_train, some

DATA = ("eurlex57k", "cve-libraries", "esco-skills")
TRAIN_DOCUMENTS = 10_000
METRICS = ("P@1", "nDCG@5", "R@100", "RP@5", "MRR")

MATCH: dict[str, dict[str, Any]] = {
    "default": {},
    "words as they are, no stop words": {"language": "none"},
    "single words": {"ngrams": 1},
    "up to three words": {"ngrams": 3},
    "title x 0": {"title_weight": 0.0},
    "title x 0.5": {"title_weight": 0.5},
    "title x 1": {"title_weight": 1.0},
}
BM25: dict[str, dict[str, Any]] = {
    "default": {},
    "k1 1.2": {"k1": 1.2},
    "k1 6": {"k1": 6.0},
    "b 0.25": {"length_weight": 0.25},
    "b 1": {"length_weight": 1.0},
    "title x 0": {"match": {"title_weight": 0.0}},
    "title x 2": {"match": {"title_weight": 2.0}},
    "title x 10": {"match": {"title_weight": 10.0}},
}
HYBRID: dict[str, dict[str, Any]] = {
    "default": {},
    "dense x 0.5": {"dense_weight": 0.5},
    "dense x 2": {"dense_weight": 2.0},
    "learned x 0": {"learned_weight": 0.0},
    "learned x 0.25": {"learned_weight": 0.25},
    "learned x 1": {"learned_weight": 1.0},
    "ranks": {"combine": "ranks"},
}
CHOICES = {
    "tfidf": {name: {"match": settings} for name, settings in MATCH.items()},
    "bm25": BM25,
    "hybrid": HYBRID,
}


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--documents", type=int, default=1_000, help="how many dev documents of each data set")
    arguments = parser.parse_args()
    use_own_cache()
    data = data_folder(arguments.data)
    found: dict[str, Any] = (read_result("choices") or {}).get("found", {})
    for name in DATA:
        missing = [
            (method, choice)
            for method, choices in CHOICES.items()
            for choice in choices
            if choice not in found.get(name, {}).get(method, {})
        ]
        if missing:
            measure(data / name, arguments.documents, missing, found)


def measure(folder: Path, n_documents: int, missing: list[tuple[str, str]], found: dict[str, Any]) -> None:
    import everylabel
    from everylabel.metrics.ranking import evaluate

    train = some(load_train(folder), TRAIN_DOCUMENTS).without_pairs()
    dev = some(everylabel.load_dataset(folder, "dev"), n_documents)
    hybrid = None
    for method, choice in missing:
        settings = CHOICES[method][choice]
        if method == "hybrid":  # its choices are about ranking: one fit serves all
            hybrid = hybrid or everylabel.method(method).fit(train)
            fitted = with_changes(hybrid, settings)
        else:
            fitted = everylabel.method(method, **settings).fit(train)
        ranking = fitted.rank(dev.documents, k=100)
        scores = evaluate(ranking, dev.required_pairs, dev.counts, len(dev)).values
        values = {key: round(scores[key], 4) for key in METRICS}
        print(f"{folder.name}, {method}, {choice}: {values}", flush=True)
        found.setdefault(folder.name, {}).setdefault(method, {})[choice] = values
        write_result("choices", {"found": found, "dev_documents": n_documents}, "python -m benchmarks.run.choices")


if __name__ == "__main__":
    main()
