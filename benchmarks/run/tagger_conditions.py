"""The Tagger's defaults where nobody has tuned them: little data, no dev, titles only, labels without texts, and so on.

python -m benchmarks.run.tagger_conditions --data DIR [--only "500 documents, no dev" ...]

Made from the data sets that are there, and corpora of another kind (`run.debian`; left out where they are not
there), a few minutes each: the Tagger beside the experts that it chose, on test documents. What it planned and what it
took is shown, too. Experts learn from train alone, but in conditions that say otherwise. A condition whose result is
there is skipped.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.record import read_result, write_result
from benchmarks.run.command import chosen_conditions
from benchmarks.run.debian import corpus_folder
from benchmarks.run.fitting import fit
from benchmarks.run.shown import load_train, some
from benchmarks.run.tagger import differences, interleaved, measured, ranked
from benchmarks.run.watch import Aloud

if TYPE_CHECKING:
    from everylabel.data import Dataset

# data; how many training and dev documents; what is left of a document, of a label and of the pairs; the time
CONDITIONS: dict[str, dict[str, Any]] = {
    "50 documents, no dev": {"data": "eurlex57k", "documents": 50},
    "500 documents, no dev": {"data": "eurlex57k", "documents": 500},
    "5,000 documents, no dev": {"data": "eurlex57k", "documents": 5_000},
    "5,000 titles, no dev": {"data": "eurlex57k", "documents": 5_000, "titles": True},
    "5,000 documents, a tenth of the pairs, no dev": {"data": "eurlex57k", "documents": 5_000, "pairs": 0.1},
    "5,000 documents, labels without texts, no dev": {"data": "eurlex57k", "documents": 5_000, "names": False},
    "all of cve-libraries, no dev": {"data": "cve-libraries"},
    "5,000 definitions, 149,000 labels, no dev": {"data": "wordnet-reverse", "documents": 5_000},
    "all of eurlex57k in 5 minutes": {"data": "eurlex57k", "dev": 10_000, "budget": "5m"},
    "all of eurlex57k in 5 minutes, fitted again with dev": {
        "data": "eurlex57k",
        "dev": 10_000,
        "budget": "5m",
        "refit": True,
    },
    "debtags, English": {"data": "debtags-en", "dev": 10_000},
    "debtags, English, fitted again with dev": {"data": "debtags-en", "dev": 10_000, "refit": True},
    "debtags, Italian, labels in English": {"data": "debtags-it", "dev": 10_000},
    "debtags, Russian, labels in English, no dev": {"data": "debtags-ru"},
    "debtags, English, 1,000 documents, no dev": {"data": "debtags-en", "documents": 1_000},
    "debian-depends, 15,000 documents": {"data": "debian-depends", "documents": 15_000, "dev": 3_000},
}
TESTED = 2_000  # test documents


def main() -> None:
    folder, asked = chosen_conditions(__doc__, CONDITIONS)
    chosen = {name: CONDITIONS[name] for name in asked}
    found: dict[str, Any] = (read_result("tagger-conditions") or {}).get("conditions", {})
    for name, spec in chosen.items():
        place = corpus_folder(folder, spec["data"])
        if place is None:
            print(f"{name}: left out, there is no {spec['data']}: python -m benchmarks.run.debian makes it", flush=True)
        elif name not in found:
            print(name, flush=True)
            found[name] = run(spec, place)
            write_result("tagger-conditions", {"conditions": found}, "python -m benchmarks.run.tagger_conditions")


def run(spec: dict[str, Any], folder: Path) -> dict[str, Any]:
    import everylabel

    train, dev, test = shown(spec, folder)
    tagger = everylabel.Tagger(budget=spec.get("budget", ""), refit=spec.get("refit", False))
    fit(tagger, train, Aloud(), dev=dev)
    truth = test.required_pairs, train.counts, len(train)
    found = ranked(tagger, test)
    parts = {name: ranked(expert, test) for name, expert in tagger.experts_.items()}
    result = {
        "data": spec["data"],
        "documents": len(train),
        "labels": [int((train.counts > 0).sum()), len(train.labels)],  # with training documents, and all
        "seconds": [round(tagger.plan_.seconds, 1), round(sum(tagger.costs_.values()), 1), tagger.plan_.budget],
        "scores": measured(found, *truth),
        "experts": {name: measured(part, *truth) for name, part in parts.items()},
        "differences": differences(found, parts, *truth),
        "interleaved": interleaved(tagger, test, parts, train),
    }
    for name, scores in {"tagger": result["scores"], **result["experts"]}.items():
        print(f"  {name:10}", {key: round(100 * scores[key], 1) for key in ("P@1", "nDCG@5", "PSP@5", "ZSR@100")})
    return result


def shown(spec: dict[str, Any], folder: Path) -> tuple[Dataset, Dataset | None, Dataset]:
    """Train, dev and test of a condition."""
    import everylabel
    from everylabel.data.splits import keep_pair_share

    train, test = load_train(folder), some(everylabel.load_dataset(folder, "test"), TESTED)
    train = some(train, spec.get("documents", len(train)))
    dev = some(everylabel.load_dataset(folder, "dev"), spec["dev"]) if "dev" in spec else None
    if "pairs" in spec:
        train = keep_pair_share(train, spec["pairs"])
    if spec.get("titles"):
        train, test = titles(train), titles(test)
    if not spec.get("names", True):
        train, test = nameless(train), nameless(test)
    return train, dev, test


def titles(dataset: Dataset) -> Dataset:
    documents = dataset.documents
    return replace(
        dataset, documents=replace(documents, texts=list(documents.titles), titles=[""] * len(documents.titles))
    )


def nameless(dataset: Dataset) -> Dataset:
    """Labels that are their numbers, as where only a matrix was kept."""
    from everylabel.data import Label, LabelSet

    return replace(dataset, labels=LabelSet.of(Label(id=label.id, name=label.id) for label in dataset.labels))


if __name__ == "__main__":
    main()
