"""The Tagger on real data: quality beside each of its experts, calibration, speed, and what each stage costs.

python -m benchmarks.run.tagger --data DIR [--rows eurlex57k cve-libraries ...]

Each model is measured in both of its orders: by probability, and `interleaved` (order="interleave"), where rare and
unseen labels come earlier than that.

A row is a data set, fitted on train and blended on dev, measured on test; `-nopairs` shows the tagger no pairs, where
it must be no worse than the best method without them; in `-dropped-N` 500 labels, the Nth draw, have no pairs in train
and dev (those that `run.dropped_labels` draws), so that thousands of test documents have an unseen one. In `-refit`, as
by default, the experts are fitted again on train and dev; the other rows have `refit=False`, as published systems learn
from train alone. Bands and propensities go by train in all rows. Each row runs in a process of its own, so that its
peak memory is its own; a row whose result is there is skipped, and one that was interrupted goes on with the experts
that it has, `-refit` with those of the row without.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.record import WORK, read_result, write_result
from benchmarks.run.command import data_folder, data_parser, start, use_own_cache
from benchmarks.run.fitting import fit_by_the_clock
from benchmarks.run.shown import keep_ranking, load_train, with_dropped_labels
from benchmarks.run.watch import peak_gb, size_mb

if TYPE_CHECKING:
    from everylabel import Tagger
    from everylabel.data import Dataset, Documents
    from everylabel.methods.base import Method
    from everylabel.types import Csr, LongArray, Ranking

ROWS: dict[str, dict[str, Any]] = {
    "cve-libraries": {"data": "cve-libraries"},
    "eurlex57k": {"data": "eurlex57k"},
    "esco-skills": {"data": "esco-skills", "pairs": False},
    "eurlex57k-nopairs": {"data": "eurlex57k", "pairs": False},
    "wordnet-reverse": {"data": "wordnet-reverse"},
    "tibkat-de": {"data": "tibkat-de"},
    "wiktionary-translations": {"data": "wiktionary-translations"},
    "eurlex57k-dropped-0": {"data": "eurlex57k", "drop": 0},
    "eurlex57k-dropped-1": {"data": "eurlex57k", "drop": 1},
    "eurlex57k-refit": {"data": "eurlex57k", "refit": True},
    "cve-libraries-refit": {"data": "cve-libraries", "refit": True},
}
SHOWN = ("P@1", "P@5", "nDCG@5", "PSP@5", "R@10", "R@100", "ZSR@10", "ZSR@100", "RP@5", "MRR", "tail/F1@5")
COMPARED = ("P@1", "nDCG@5", "PSP@5", "ZSR@10", "ZSR@100")
TIMED, ALONE = 1_000, 200  # documents ranked for the speed: together, and one at a time


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
        if read_result(f"tagger-{row}") is None:
            start("run.tagger", "--data", folder, "--one", row)


def run(row: str, data: Path) -> None:
    import everylabel

    use_own_cache()
    spec, folder = ROWS[row], data / ROWS[row]["data"]
    test = everylabel.load_dataset(folder, "test")
    train, dev = shown(folder, spec)
    tagger = everylabel.Tagger(refit=spec.get("refit", False))
    known = train if spec.get("pairs", True) else train.without_pairs()
    times = fit_by_the_clock(tagger, known, dev, WORK / "checkpoints" / f"tagger-{row.removesuffix('-refit')}")
    path = WORK / "models" / f"tagger-{row}"
    tagger.save(path)
    loaded: Any = everylabel.load(path)
    found = ranked(loaded, test)
    keep_ranking(f"tagger-{row}", found)
    truth = test.required_pairs, train.counts, len(train)
    parts = {name: ranked(expert, test) for name, expert in loaded.experts_.items()} if loaded.blend_ else {}
    result = {
        "data": spec["data"],
        "train_documents": len(train),
        "seconds": round(sum(loaded.costs_.values()), 1),  # also of experts that an interrupted run had fitted
        **times,
        "costs": loaded.costs_,
        "plan": loaded.plan_.lines(),
        "peak_gb": peak_gb(),
        "model_mb": round(size_mb(path), 1),
        "scores": measured(found, *truth),
        "experts": {name: measured(part, *truth) for name, part in parts.items()},
        "differences": differences(found, parts, *truth),
        "interleaved": interleaved(loaded, test, parts, train),
        "calibration": calibration(found, *truth[:2]),
        "unseen_pairs": unseen_pairs(train, dev, test),
        "blend": placed(loaded),
        "speed": speed(loaded, test),
    }
    write_result(f"tagger-{row}", result, f"python -m benchmarks.run.tagger --rows {row}")


def shown(folder: Path, spec: dict[str, Any]) -> tuple[Dataset, Dataset | None]:
    """Documents to learn from, and labelled ones to blend on."""
    import everylabel
    from everylabel.data.splits import of_labels

    train = load_train(folder)
    if not spec.get("pairs", True):
        return train, None
    dev = everylabel.load_dataset(folder, "dev")
    if "drop" in spec:
        train, dropped = with_dropped_labels(train, spec["drop"])
        dev = dev.with_pairs(of_labels(dev.required_pairs, dropped, keep=False))
    return train, dev


def ranked(method: Method, test: Dataset) -> Ranking:
    from everylabel.types import Ranking

    k = min(100, len(method.labels_))
    return Ranking.joined([method.rank(part, k) for part in test.documents.slices(500)])


def measured(found: Ranking, truth: Csr, counts: LongArray, n_train: int) -> dict[str, float]:
    from everylabel.metrics.ranking import evaluate

    scores = evaluate(found, truth, counts, n_train)
    return {key: round(scores[key], 5) for key in SHOWN} | {"zero_shot_documents": scores.n_zero_shot_docs}


def interleaved(tagger: Any, test: Dataset, parts: dict[str, Ranking], train: Dataset) -> dict[str, Any]:
    """The same model in its other order: scores, and differences to its experts."""
    if tagger.blend_ is None:
        return {}
    truth, found = (test.required_pairs, train.counts, len(train)), ranked(tagger.in_order("interleave"), test)
    return {"scores": measured(found, *truth), "differences": differences(found, parts, *truth)}


def differences(
    found: Ranking, parts: dict[str, Ranking], truth: Csr, counts: LongArray, n_train: int
) -> dict[str, Any]:
    """The tagger minus each expert: paired bootstrap over documents; for the tail a t-test over its labels' F1, and the
    interval that goes with it."""
    from everylabel.data.bands import in_band
    from everylabel.metrics.ranking import by_document, find_hits, label_counts
    from everylabel.metrics.significance import macro_t_test, paired_bootstrap

    tail = in_band(counts, "tail")

    def of(ranking: Ranking) -> tuple[Any, Any]:
        hits = find_hits(ranking, truth)
        return by_document(hits, counts, n_train), label_counts(hits).f1[tail]

    own, own_f1 = of(found)
    result = {}
    for name, part in parts.items():
        other, other_f1 = of(part)
        pairs = {key: paired_bootstrap(own[key], other[key])._asdict() for key in COMPARED if own[key].possible.any()}
        test = macro_t_test(own_f1, other_f1)
        tail_f1 = own_f1 - other_f1
        mean, error = float(tail_f1.mean()), float(tail_f1.std(ddof=1) / np.sqrt(len(tail_f1)))
        interval = {"low": mean - 1.96 * error, "high": mean + 1.96 * error}
        pairs["tail/F1@5"] = {"difference": mean, **interval, "p_value": float(test.p_value)}
        result[name] = pairs
    return result


def calibration(found: Ranking, truth: Csr, counts: LongArray) -> dict[str, Any]:
    from everylabel.metrics.reliability import by_seen

    groups = by_seen(found, truth, counts)
    return {
        name: {"ECE": one.to_json()["ECE"], "suggestions": one.pairs, "by_chance": one.by_chance}
        for name, one in groups.items()
    }


def unseen_pairs(train: Dataset, dev: Dataset | None, test: Dataset) -> dict[str, float]:
    """Of labels without training documents, a document: as training alone says, with dev, and as it is on test."""
    from everylabel.tagger.probability import rate_of_unseen

    about = train.counts, len(train)
    learned = rate_of_unseen(*about, None if dev is None else dev.pairs)
    really = float((train.counts[test.required_pairs.indices] == 0).sum()) / len(test)
    return {"guessed": round(rate_of_unseen(*about, None), 5), "learned": round(learned, 5), "test": round(really, 5)}


def placed(tagger: Tagger) -> dict[str, Any]:
    if tagger.blend_ is None:
        return {}
    best = sorted(tagger.blend_.gains.items(), key=lambda gain: -gain[1])[:15]
    curves = {name: [round(value, 3) for value in curve] for name, curve in tagger.blend_.levels.curves.items()}
    return {"rare_weight": tagger.blend_.rare_weight, "curves": curves, "gains": dict(best)}


def speed(tagger: Any, test: Dataset) -> dict[str, Any]:
    """Documents/s of the tagger and of each expert, and how long one document takes by itself."""
    some = test.documents.subset(range(min(TIMED, len(test))))
    tagger.rank(some.subset(range(1)), 10)

    def rate(method: Method, k: int, time_of: str) -> float:
        documents = never_read(some, time_of)
        started = time.perf_counter()
        method.rank(documents, min(k, len(method.labels_)))
        return round(len(some) / (time.perf_counter() - started), 1)

    alone, single = [], never_read(some, "alone")
    for i in range(min(ALONE, len(some))):
        document = single.subset([i])
        started = time.perf_counter()
        tagger.rank(document, 10)
        alone.append(time.perf_counter() - started)
    return {
        "documents_per_second": rate(tagger, 10, "tagger"),
        "experts": {name: rate(expert, 100, name) for name, expert in tagger.experts_.items()},
        "one_document_ms": {"median": round(1e3 * float(np.median(alone)), 1), "p95": ms(alone, 95)},
        "words": round(float(np.mean([text.count(" ") + 1 for text in some.full_texts])), 1),
    }


def never_read(documents: Documents, mark: str) -> Documents:
    """The same documents with a word more: nothing that was kept of them helps."""
    return replace(documents, texts=[f"{text} {mark}" for text in documents.texts])


def ms(seconds: list[float], percentile: float) -> float:
    return round(1e3 * float(np.percentile(seconds, percentile)), 1)


if __name__ == "__main__":
    main()
