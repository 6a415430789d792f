"""Omikuji on the same features (runs in an environment of its own, with omikuji==0.5.2).

python omikuji_parabel.py WORK SETTINGS.json STEP, as ours.py.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import omikuji  # type: ignore[import-not-found]
from scipy.sparse import csr_matrix, load_npz, save_npz


def write_bag_of_words(path: Path, X: Any, Y: Any) -> None:
    """Documents of which no word is known are left out: it reads no line without features."""
    kept = np.flatnonzero(np.diff(X.indptr))
    with path.open("w", encoding="ascii") as stream:
        stream.write(f"{len(kept)} {X.shape[1]} {Y.shape[1]}\n")
        for i in kept.tolist():
            labels = ",".join(map(str, Y.indices[Y.indptr[i] : Y.indptr[i + 1]]))
            row = slice(X.indptr[i], X.indptr[i + 1])
            words = " ".join(f"{f}:{v:.6g}" for f, v in zip(X.indices[row], X.data[row], strict=True))
            stream.write(f"{labels} {words}\n")


def train(work: Path, settings: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG001 (all peers are called alike)
    file = work / "omikuji.train.txt"
    write_bag_of_words(file, load_npz(work / "train.X.npz"), load_npz(work / "train.Y.npz"))
    begun = time.perf_counter()
    model = omikuji.Model.train_on_data(str(file), n_threads=2)  # its defaults: Parabel with three trees
    seconds = time.perf_counter() - begun
    model.save(str(work / "omikuji.model"))
    size = sum(path.stat().st_size for path in (work / "omikuji.model").rglob("*") if path.is_file())
    return {"train_seconds": seconds, "model_mb": size / 1e6}


def predict(work: Path, settings: dict[str, Any]) -> dict[str, Any]:
    model = omikuji.Model.load(str(work / "omikuji.model"))
    X, Y = load_npz(work / "test.X.npz"), load_npz(work / "test.Y.npz")
    documents = [
        list(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True))
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]
    begun = time.perf_counter()
    found = [model.predict(document, beam_size=settings["beam"], top_k=settings["k"]) for document in documents]
    seconds = time.perf_counter() - begun
    rows = np.repeat(np.arange(len(found)), [len(labels) for labels in found])
    columns = [label for labels in found for label, _ in labels]
    scores = [score for labels in found for _, score in labels]
    save_npz(work / "omikuji.scores.npz", csr_matrix((scores, (rows, columns)), shape=Y.shape, dtype=np.float32))
    return {"documents_per_second": len(documents) / seconds}


if __name__ == "__main__":
    step = {"train": train, "predict": predict}[sys.argv[3]]
    result = step(Path(sys.argv[1]), json.loads(sys.argv[2]))
    peak = Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]  # getrusage counts the parent's too
    print(json.dumps(result | {"peak_gb": int(peak) * 1024 / 1e9}))
