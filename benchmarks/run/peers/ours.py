"""The linear ranker of everylabel on ready features, measured like the peers beside this file.

python ours.py WORK SETTINGS.json STEP, with STEP train or predict: each is a process of its own, so that its peak
memory is its own. Training is everything from the features to the model on disk, label tree included.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, load_npz, save_npz

from everylabel.linear.ranker import LinearRanker
from everylabel.linear.solver import Features, SolverConfig
from everylabel.tree.build import build_tree, pifa


def train(work: Path, settings: dict[str, Any]) -> dict[str, Any]:
    X, Y = load_npz(work / "train.X.npz"), load_npz(work / "train.Y.npz")
    begun = time.perf_counter()
    seen = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1])).astype(np.int32)
    rng = np.random.default_rng(0)
    tree = build_tree(pifa(X, Y[:, seen]), seen, leaf_size=settings["leaf_size"], arity=settings["arity"], rng=rng)
    ranker = LinearRanker(solver=SolverConfig(**settings["solver"]), matcher_negatives=False)
    ranker.fit(Features.of(X), Y, tree)
    seconds = time.perf_counter() - begun
    np.savez(work / "ours.model.npz", **ranker.state())
    size = (work / "ours.model.npz").stat().st_size
    return {"train_seconds": seconds, "model_mb": size / 1e6}


def predict(work: Path, settings: dict[str, Any]) -> dict[str, Any]:
    with np.load(work / "ours.model.npz") as state:
        ranker = LinearRanker(solver=SolverConfig(**settings["solver"])).restore(dict(state))
    features = Features.of(load_npz(work / "test.X.npz"))
    ranker.rank(features.rows(0, 2), settings["k"])  # loads the compiled kernels
    seconds = []
    for _ in range(3):
        begun = time.perf_counter()
        ranking = ranker.rank(features, settings["k"])
        seconds.append(time.perf_counter() - begun)
    found = ranking.ids >= 0
    rows = np.repeat(np.arange(ranking.n_docs), found.sum(axis=1))
    shape = (ranking.n_docs, load_npz(work / "test.Y.npz").shape[1])
    save_npz(work / "ours.scores.npz", csr_matrix((ranking.scores[found], (rows, ranking.ids[found])), shape=shape))
    return {"documents_per_second": features.n_docs / statistics.median(seconds)}


if __name__ == "__main__":
    step = {"train": train, "predict": predict}[sys.argv[3]]
    result = step(Path(sys.argv[1]), json.loads(sys.argv[2]))
    peak = Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]  # getrusage counts the parent's too
    print(json.dumps(result | {"peak_gb": int(peak) * 1024 / 1e9}))
