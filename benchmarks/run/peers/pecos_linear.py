"""PECOS XR-Linear on the same features (runs in an environment of its own, with libpecos==1.2.8 and numpy<2).

python pecos_linear.py WORK SETTINGS.json STEP, as ours.py.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from pecos.xmc import Indexer, LabelEmbeddingFactory  # type: ignore[import-not-found]
from pecos.xmc.xlinear.model import XLinearModel  # type: ignore[import-not-found]
from scipy.sparse import csc_matrix, csr_matrix, load_npz, save_npz


def train(work: Path, settings: dict[str, Any]) -> dict[str, Any]:
    X = csr_matrix(load_npz(work / "train.X.npz"), dtype=np.float32)
    Y = csc_matrix(load_npz(work / "train.Y.npz"), dtype=np.float32)
    begun = time.perf_counter()
    vectors = LabelEmbeddingFactory.create(Y, X, method="pifa")
    chain = Indexer.gen(vectors, max_leaf_size=settings["leaf_size"], nr_splits=settings["arity"], seed=0, threads=2)
    costs = {"Cp": settings["cost_positive"], "Cn": settings["cost_negative"]}
    model = XLinearModel.train(X, Y, C=chain, threshold=settings["prune"], threads=2, **costs)
    seconds = time.perf_counter() - begun
    model.save(str(work / f"{settings['name']}.model"))
    size = sum(file.stat().st_size for file in (work / f"{settings['name']}.model").rglob("*") if file.is_file())
    return {"train_seconds": seconds, "model_mb": size / 1e6}


def predict(work: Path, settings: dict[str, Any]) -> dict[str, Any]:
    model = XLinearModel.load(str(work / f"{settings['name']}.model"), is_predict_only=True)
    X = csr_matrix(load_npz(work / "test.X.npz"), dtype=np.float32)
    model.predict(X[:2], beam_size=settings["beam"], only_topk=settings["k"], threads=2)
    begun = time.perf_counter()
    scores = model.predict(X, beam_size=settings["beam"], only_topk=settings["k"], threads=2)
    seconds = time.perf_counter() - begun
    save_npz(work / f"{settings['name']}.scores.npz", csr_matrix(scores))
    return {"documents_per_second": X.shape[0] / seconds}


def predict_plain(work: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """With the model as `load` gives it, without is_predict_only, which PECOS keeps for prediction alone."""
    model = XLinearModel.load(str(work / f"{settings['name']}.model"))
    X = csr_matrix(load_npz(work / "test.X.npz"), dtype=np.float32)[:1000]
    begun = time.perf_counter()
    model.predict(X, beam_size=settings["beam"], only_topk=settings["k"], threads=2)
    return {"plain_documents_per_second": X.shape[0] / (time.perf_counter() - begun)}


if __name__ == "__main__":
    step = {"train": train, "predict": predict, "predict_plain": predict_plain}[sys.argv[3]]
    result = step(Path(sys.argv[1]), json.loads(sys.argv[2]))
    peak = Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]  # getrusage counts the parent's too
    print(json.dumps(result | {"peak_gb": int(peak) * 1024 / 1e9}))
