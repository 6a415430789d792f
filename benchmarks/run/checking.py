"""What it costs to check a model from elsewhere, and to open one that is known: python -m benchmarks.run.checking

Made-up models of half a GB each: word lists of neighbours, label vectors (exact, and the graph of an approximate index,
which is smaller), a vocabulary of texts that are not ASCII. Each is copied, so that it is unknown, and loaded: with the
check, known, and known with all checksums. Files are in the system's cache, as after a download.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

import everylabel
from benchmarks.record import write_result
from benchmarks.run.watch import size_mb
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.index.ann import AnnIndex
from everylabel.index.exact import ExactIndex
from everylabel.methods.base import Method
from everylabel.store import known

COMMAND = "python -m benchmarks.run.checking"
TEXTS = ["a boat on the sea", "a train on rails", "the harbour at night", "a boat and a train"]
ROUNDS = 5


def small(name: str, labels: LabelSet | None = None, **settings: Any) -> Method:
    labels = labels or LabelSet.of(Label(f"l{i}", f"label {i}") for i in range(4))
    pairs = pairs_from_lists([[0, 1], [0, 2], [1], [3]], len(labels))
    return everylabel.method(name, **settings).fit(Dataset(Documents.of(TEXTS), labels, pairs))


def lists(megabytes: int) -> Method:
    """Nearest neighbours with long lists of rows for few words."""
    method = small("knn")
    state, n_docs = method.state(), 2_000_000
    n_words = len(state["tfidf/all/hashes"])
    n_entries = megabytes * 1_000_000 // 8 // n_words * n_words
    rng = np.random.default_rng(0)
    state["documents/starts"] = np.arange(n_words + 1, dtype=np.int64) * (n_entries // n_words)
    state["documents/rows"] = rng.integers(0, n_docs, n_entries, dtype=np.int32)
    state["documents/weights"] = rng.random(n_entries, np.float32)
    state["documents/scales"], state["documents/owners"] = np.ones(1, np.float32), np.arange(n_docs, dtype=np.int32)
    state["pairs"] = csr_matrix(
        (np.ones(n_docs, np.float32), (np.arange(n_docs), np.zeros(n_docs, np.int32))), shape=(n_docs, 4)
    )
    return everylabel.method("knn").restore(method.labels_, state)


def vectors(megabytes: int, index: Any) -> Method:
    """Label texts by their meaning."""
    method = small("semantic", encoder={"lexical": 64})
    dim = method.model_.tower_.index.dim
    n, rng = megabytes * 1_000_000 // 4 // dim, np.random.default_rng(0)
    made = index(dim)
    own = rng.standard_normal((n, dim), np.float32)
    made.add(np.arange(n), own / np.linalg.norm(own, axis=1, keepdims=True))
    labels = LabelSet.of(Label(str(i), "x") for i in range(n))
    state = method.state() | {"tower/index": made, "tower/owners": np.arange(n, dtype=np.int32)}
    state |= {"counts": np.zeros(n, np.int64), "n_fitted": n}
    return everylabel.method("semantic", encoder={"lexical": 64}).restore(labels, state)


def texts(megabytes: int) -> Method:
    """A vocabulary with long descriptions."""
    text = "Äpfel, Bären und Feldfrüchte: ein Verzeichnis. " * 20
    n = megabytes * 1_000_000 // len(text.encode())
    return small("popularity", LabelSet.of(Label(f"l{i}", f"Früchte {i}", text) for i in range(n)))


def seconds(work: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def measured(method: Method, folder: Path) -> dict[str, float]:
    method.save(folder / "own")
    own = median(seconds(lambda: everylabel.load(folder / "own")) for _ in range(ROUNDS))
    shutil.copytree(folder / "own", folder / "copy")
    time.sleep(0.1)  # a file that was changed just now is not remembered
    first = seconds(lambda: everylabel.load(folder / "copy"))
    again = median(seconds(lambda: everylabel.load(folder / "copy")) for _ in range(ROUNDS))
    checksums = seconds(lambda: everylabel.load(folder / "copy", verify=True))
    size = size_mb(folder / "own")
    found = {"mb": size, "known_seconds": own, "first_seconds": first, "again_seconds": again}
    found |= {"checksums_seconds": checksums, "seconds_per_gb": (first - again) / size * 1000}
    return {key: round(value, 4) for key, value in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=500)
    size = parser.parse_args().megabytes
    makers: dict[str, Callable[[], Method]] = {
        "word lists of neighbours": lambda: lists(size),
        "label vectors": lambda: vectors(size, ExactIndex),
        "graph of label vectors": lambda: vectors(max(size // 5, 1), AnnIndex),
        "texts of a vocabulary": lambda: texts(size),
    }
    measured(small("knn"), Path(tempfile.mkdtemp()))  # what is imported and compiled once
    found: dict[str, dict[str, float]] = {}
    for name, make in makers.items():
        with tempfile.TemporaryDirectory() as folder:
            found[name] = measured(make(), Path(folder))
        print(name, found[name], flush=True)
    write_result("checking", {"models": found, "marks": known._MOST}, COMMAND)


if __name__ == "__main__":
    main()
