"""Ranking quality: one row of the table for each TOML in benchmarks/rows, fitted on train, reported on test.

python -m benchmarks.quality --data DIR [--rows eurlex57k-xr-linear ...] [--split dev]

A row may show its method less than all: `documents` (so many of the training documents), `pairs = "none"`,
`label_share` or `pair_share` (few-shot). Metrics by band and unseen labels go by all training pairs in any case.
`test_documents` ranks only so many of the split's documents. Rankings are kept in benchmarks/work, for comparisons.
A row's cell (row, seed) whose result is there is skipped, so an interrupted run goes on where it stopped. Each cell
runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.record import WORK, Stages, Watch, data_folder, read_result, write_result

if TYPE_CHECKING:
    from everylabel.data import Dataset
    from everylabel.evaluate.metrics import Ratio
    from everylabel.methods.base import Method
    from everylabel.types import LongArray, Ranking

ROWS = Path(__file__).parent / "rows"
RECALL_KS = (10, 50, 100)
WITH_INTERVALS = ("P@1", "nDCG@5", "PSP@5", "R@100", "ZSR@10", "ZSR@100", "RP@5", "MRR")


def read_row(name: str) -> dict[str, Any]:
    return tomllib.loads((ROWS / f"{name}.toml").read_text(encoding="utf-8"))


def cell_name(row: str, seed: int, split: str) -> str:
    return f"quality/{row}-seed{seed}" + ("" if split == "test" else f"-{split}")


def forget_vectors() -> None:
    """Of frozen transformers, from earlier cells: encoding is part of what is measured. Not the user's own cache."""
    os.environ["EVERYLABEL_CACHE"] = str(WORK / "cache")
    shutil.rmtree(WORK / "cache" / "vectors", ignore_errors=True)


def load_train(folder: Path) -> Dataset:
    """The training documents; the vocabulary alone of a data set without any."""
    from everylabel.data import Dataset, Documents, available_splits, load_dataset, load_labels

    if "train" in available_splits(folder):
        return load_dataset(folder, "train")
    return Dataset(Documents.of([]), load_labels(folder), name=folder.name)


def supervised(train: Dataset, spec: dict[str, Any], seed: int) -> Dataset:
    """What a row's method gets to see: `documents` (a number), and of the pairs `none`, or a share.

    The documents are the same for every seed; the few-shot shares are drawn anew with each.
    """
    from everylabel.data.splits import keep_label_share, keep_pair_share

    train = some(train, spec.get("documents", len(train)))
    if "label_share" in spec:
        return keep_label_share(train, spec["label_share"], seed)[0]
    if "pair_share" in spec:
        return keep_pair_share(train, spec["pair_share"], seed)
    return train.without_pairs() if spec.get("pairs") == "none" else train


def keep_ranking(name: str, ranking: Ranking) -> None:
    import numpy as np

    path = WORK / "rankings" / f"{Path(name).name}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, ids=ranking.ids, scores=ranking.scores)


def some(data: Dataset, n: int) -> Dataset:
    """So many documents, drawn at random, always the same."""
    import numpy as np

    return data if n >= len(data) else data.subset(np.sort(np.random.default_rng(0).permutation(len(data))[:n]))


def fit(method: Method, dataset: Dataset, name: str) -> dict[str, dict[str, float]]:
    """Fits; the steps and seconds of each training in it. One that was interrupted goes on where it stopped."""
    if not hasattr(method, "encoder"):  # no torch in the memory of those that need none
        method.fit(dataset)
        return {}
    from everylabel.train.checkpoint import checkpointing

    folder = WORK / "checkpoints" / Path(name).name
    with checkpointing(folder, repr(method)) as checkpoints:
        method.fit(dataset)
        lasts = {curve.stem: json.loads(curve.read_text().splitlines()[-1]) for curve in checkpoints.curves}
    shutil.rmtree(folder, ignore_errors=True)
    return {stage: {"steps": last["step"], "seconds": last["seconds"]} for stage, last in lasts.items()}


def intervals(ratios: dict[str, Ratio]) -> dict[str, list[float]]:
    """95%, over documents; of metrics that count for one at least."""
    from everylabel.evaluate.significance import interval

    counted = [key for key in WITH_INTERVALS if ratios[key].possible.any()]
    return {key: [round(end, 5) for end in interval(ratios[key])] for key in counted}


def calibration(method: Method, ranking: Ranking, test: Dataset, folder: Path, counts: LongArray) -> dict[str, Any]:
    """The expected calibration error of the top 10, as the scores come and after calibration on dev."""
    from everylabel.data import load_dataset
    from everylabel.evaluate.calibration import by_seen

    method.calibrate(load_dataset(folder, "dev"))
    assert method.calibration_ is not None
    rankings = {"raw": ranking, "calibrated": method.calibration_.apply(ranking)}
    return {
        kind: {group: found.to_json()["ECE"] for group, found in by_seen(one, test.required_pairs, counts).items()}
        for kind, one in rankings.items()
    }


def run_cell(row: str, seed: int, data: Path, split: str) -> None:
    """Fit, save, load, rank and evaluate one row with one seed."""
    import everylabel
    from everylabel.evaluate.metrics import by_document, evaluate, find_hits
    from everylabel.progress import reporting

    forget_vectors()
    spec, watch, costs = read_row(row), Watch(), Stages()
    folder = data / spec["data"]
    with watch("read"):
        train, test = load_train(folder), everylabel.load_dataset(folder, split)
    test = some(test, spec.get("test_documents", len(test)))
    method = everylabel.method(spec["method"], random_state=seed, **spec.get("settings", {}))
    shown = supervised(train, spec, seed)
    with watch("fit"), reporting(costs):
        stages = fit(method, shown, cell_name(row, seed, split))
    with tempfile.TemporaryDirectory() as temporary:
        with watch("save"):
            method.save(Path(temporary) / "model")
        size = sum(file.stat().st_size for file in (Path(temporary) / "model").iterdir())
        with watch("load"):
            method = everylabel.load(Path(temporary) / "model")
    method.rank(test.documents.subset(range(2)), k=100)  # loads the compiled kernels
    with watch("rank"):
        ranking = method.rank(test.documents, k=100)
    keep_ranking(cell_name(row, seed, split), ranking)
    costs.note_peak()
    scores = evaluate(ranking, test.required_pairs, train.counts, len(train), recall_ks=RECALL_KS)
    ratios = by_document(find_hits(ranking, test.required_pairs), train.counts, len(train), recall_ks=RECALL_KS)
    values: dict[str, Any] = {
        "row": row,
        "table": spec.get("table", "pairs"),
        "train_documents": len(shown),
        "train_pairs": 0 if shown.pairs is None else shown.pairs.nnz,
        "data": spec["data"],
        "split": split,
        "method": spec["method"],
        "settings": spec.get("settings", {}),
        "seed": seed,
        "seconds": watch.seconds,
        "stages": stages,
        "costs": {name: cost for name, cost in costs.costs.items() if cost["seconds"] >= 1},
        "documents_per_second": round(len(test) / watch.seconds["rank"], 1),
        "model_mb": round(size / 1e6, 1),
        "peak_gb": round(costs.peak, 2),
        "scores": scores.to_json(),
        "intervals": intervals(ratios),
        "diagnostics": method.diagnostics(test) if hasattr(method, "diagnostics") else {},
    }
    if values["table"] == "pairs" and split == "test":
        values["calibration"] = calibration(method, ranking, test, folder, train.counts)
    write_result(cell_name(row, seed, split), values, f"python -m benchmarks.quality --rows {row} --split {split}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with the data sets (or EVERYLABEL_DATA)")
    parser.add_argument("--rows", nargs="*", default=sorted(path.stem for path in ROWS.glob("*.toml")))
    parser.add_argument("--split", default="test")
    parser.add_argument("--seed", type=int, help="run only this seed, in this process")
    arguments = parser.parse_args()
    data = data_folder(arguments.data)
    if arguments.seed is not None:
        run_cell(arguments.rows[0], arguments.seed, data, arguments.split)
        return
    for row in arguments.rows:
        for seed in read_row(row).get("seeds", [0]):
            if read_result(cell_name(row, seed, arguments.split)) is not None:
                print(f"{row}, seed {seed}: there already", flush=True)
                continue
            print(f"{row}, seed {seed}", flush=True)
            cell = ["--rows", row, "--seed", str(seed), "--split", arguments.split, "--data", str(data)]
            subprocess.run([sys.executable, "-m", "benchmarks.quality", *cell], check=True)


if __name__ == "__main__":
    main()
