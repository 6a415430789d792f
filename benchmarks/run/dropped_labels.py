"""Labels dropped from training and looked for in test: XML0, its parts, ConSE and ZestXML, among unseen labels only.

python -m benchmarks.run.dropped_labels --data DIR [--bases xr-linear of-lan] [--documents 45000]

As in "Leveraging Pre-Trained Extreme Multi-Label Classifiers for Zero-Shot Learning": 500 labels at random lose all
their training pairs, three times over; only labels without pairs are candidates and truth. One fit of `xml0` serves
its parts: weight 1 is `label-fusion`, with one full subset `conse`, weight 0 is `semantic` with the same encoder.
A drop whose result is there is skipped.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import everylabel
from benchmarks.record import WORK, write_result
from benchmarks.run.command import data_folder, data_parser, use_own_cache
from benchmarks.run.fitting import with_changes
from benchmarks.run.shown import some, with_dropped_labels
from everylabel.data.splits import of_labels
from everylabel.metrics.ranking import Ratio, find_hits, ndcg, precision, restrict
from everylabel.metrics.significance import paired_bootstrap

if TYPE_CHECKING:
    from everylabel.data import Dataset
    from everylabel.types import Ranking

DROPS = 3
SETTINGS: dict[str, dict[str, Any]] = {"of-lan": {"learn": {"steps": 200}, "encoder": {"lexical": 256}}}  # six fits
METRICS = ("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5")
PARTS: dict[str, dict[str, Any]] = {
    "xml0": {},
    "xml0, growing subsets": {"search": "greedy"},
    "label-fusion": {"weight_": 1.0},
    "conse": {"weight_": 1.0, "search": "full"},
    "semantic": {"weight_": 0.0},
}


def ratios(ranking: Ranking, truth: Any) -> dict[str, Ratio]:
    hits = find_hits(ranking, truth)
    return {f"P@{k}": precision(hits, k) for k in (1, 3, 5)} | {f"nDCG@{k}": ndcg(hits, k) for k in (3, 5)}


def of_base(base: str, train: Dataset, test: Dataset, truth: Any) -> tuple[dict[str, dict[str, Ratio]], dict[str, Any]]:
    """XML0 and its parts on one base; and what the growing search loses."""
    fitted: Any = everylabel.method("xml0", base=base, base_settings=SETTINGS.get(base, {}), candidates="unseen")
    fitted.fit(train)
    found = {}
    for name, changes in PARTS.items():
        found[name] = ratios(with_changes(fitted, changes).rank(test.documents, 5), truth)
    loss = fitted.loss_of_greedy(test.documents.subset(range(min(200, len(test)))))
    return found, {"weight": fitted.weight_, "greedy": loss._asdict()}


def of_zest(train: Dataset, test: Dataset, truth: Any) -> dict[str, dict[str, Ratio]]:
    ranking = everylabel.method("zestxml").fit(train).rank(test.documents, len(train.labels))
    return {"zestxml": ratios(restrict(ranking, train.counts == 0, 5), truth)}


def measure(train: Dataset, test: Dataset, base: str, drop: int) -> dict[str, Any]:
    """By document, so that drops can be compared together. `base`: a method's name, or zestxml by itself."""
    start = time.perf_counter()
    shown, _ = with_dropped_labels(train, drop)
    truth = of_labels(test.required_pairs, np.flatnonzero(shown.counts == 0), keep=True)
    rows = np.flatnonzero(np.diff(truth.indptr))
    test, truth = test.subset(rows), truth[rows]
    about: dict[str, Any] = {}
    if base == "zestxml":
        found = of_zest(shown, test, truth)
    else:
        found, about = of_base(base, shown, test, truth)
    gained = {name: {key: np.round(one.gained, 5).tolist() for key, one in own.items()} for name, own in found.items()}
    possible = {key: one.possible.tolist() for key, one in next(iter(found.values())).items()}
    values = {name: {key: round(one.value, 4) for key, one in own.items()} for name, own in found.items()}
    print(base, drop, values, flush=True)
    seconds = round(time.perf_counter() - start, 1)
    return about | {
        "documents": len(rows),
        "seconds": seconds,
        "values": values,
        "gained": gained,
        "possible": possible,
    }


def pooled(drops: list[dict[str, Any]], name: str, key: str) -> Ratio:
    """Of all drops together, one document of a drop after the other."""
    gained = np.concatenate([drop["gained"][name][key] for drop in drops])
    return Ratio(gained, np.concatenate([drop["possible"][key] for drop in drops]))


def differences(drops: list[dict[str, Any]]) -> dict[str, Any]:
    """XML0 minus its parts, over the documents of all drops."""
    return {
        name: {key: paired_bootstrap(pooled(drops, "xml0", key), pooled(drops, name, key))._asdict() for key in METRICS}
        for name in PARTS
        if name != "xml0"
    }


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--bases", nargs="*", default=["zestxml", "xr-linear", "of-lan"])
    parser.add_argument("--documents", type=int, default=45_000, help="how many training documents")
    arguments = parser.parse_args()
    use_own_cache()
    folder: Path = data_folder(arguments.data) / "eurlex57k"
    train = some(everylabel.load_dataset(folder, "train"), arguments.documents)
    test = everylabel.load_dataset(folder, "test")
    for base in arguments.bases:
        kept = WORK / f"dropped-labels-{base}.json"  # with the gain of each document, for differences
        drops: list[dict[str, Any]] = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else []
        for drop in range(len(drops), DROPS):
            drops.append(measure(train, test, base, drop))
            kept.write_text(json.dumps(drops), encoding="utf-8")
        short = [{key: value for key, value in drop.items() if key not in ("gained", "possible")} for drop in drops]
        known: dict[str, Any] = {"base": base, "train_documents": len(train), "drops": short}
        if base != "zestxml":
            known["differences"] = differences(drops)
        command = f"python -m benchmarks.run.dropped_labels --bases {base} --documents {len(train)}"
        write_result(f"dropped-labels-{base}", known, command)


if __name__ == "__main__":
    main()
