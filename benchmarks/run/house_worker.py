"""One step of `benchmarks.run.house`, by whichever checkout's `everylabel` is first on PYTHONPATH.

python -P house_worker.py STEP '{"model": ...}' prints JSON in its last line. It must run with older code, too: of
everylabel only the public names, which are the same in both, and of the benchmarks nothing.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import everylabel
import everylabel.sample

BATCH, TIMED, ALONE = 256, 1_000, 200  # documents: in a batch, in all batches, and one at a time
Answer = dict[str, Any]


def spread(dataset: Any, n: int) -> Any:
    """So many documents, from the whole length of a split, and always the same."""
    step = max(1, len(dataset) // n)
    return dataset.subset(range(0, len(dataset), step)[:n])


def folder_of(data: str) -> Path:
    return Path(everylabel.sample.__file__).parent if data == "sample" else Path(data)


def rankings(spec: Answer) -> Answer:
    """Each method fitted on some training documents; to/METHOD.npz: its top 100 of others, and the seconds it took."""
    folder = folder_of(spec["data"])
    train = spread(everylabel.load_dataset(folder, "train"), spec["documents"])
    others = spread(everylabel.load_dataset(folder, spec["split"]), spec["ranked"])
    for name, settings in spec["methods"].items():
        begun = time.perf_counter()
        method = everylabel.method(name, **settings).fit(train)
        fitted = time.perf_counter()
        ranking = method.rank(others.documents, 100)
        seconds = [fitted - begun, time.perf_counter() - fitted]
        print(f"  {name}: {seconds[0]:.1f} s to fit, {seconds[1]:.1f} s to rank", file=sys.stderr, flush=True)
        path = Path(spec["to"]) / f"{name}.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, ids=ranking.ids, scores=ranking.scores, seconds=seconds)
    return {"methods": list(spec["methods"])}


def tagger_of(spec: Answer) -> Any:
    """Of train alone: older code never learns from dev."""
    tagger: Any = everylabel.method("tagger", **spec["settings"])
    return replace(tagger, refit=False) if hasattr(tagger, "refit") else tagger


def fit(spec: Answer) -> Answer:
    """A tagger of all training documents, blended on dev."""
    train, dev = (everylabel.load_dataset(folder_of(spec["data"]), split) for split in ("train", "dev"))
    tagger = tagger_of(spec)
    begun = time.perf_counter()
    tagger.fit(train, dev)
    seconds = time.perf_counter() - begun
    tagger.save(spec["model"])
    return {"fit_seconds": round(seconds, 1)}


def experts(spec: Answer) -> Answer:
    """A tagger of some training documents, blended on dev: to/NAME.npz, the top 100 of test documents by the tagger and
    by each of its experts; and how long it took."""
    folder = folder_of(spec["data"])
    train = spread(everylabel.load_dataset(folder, "train"), spec["documents"])
    dev, test = (everylabel.load_dataset(folder, split) for split in ("dev", "test"))
    tagger = tagger_of(spec)
    begun = time.perf_counter()
    tagger.fit(train, dev)
    seconds = time.perf_counter() - begun
    to = Path(spec["to"])
    to.mkdir(parents=True, exist_ok=True)
    for name, method in {**tagger.experts_, "tagger": tagger}.items():
        found = [method.rank(part, 100) for part in test.documents.slices(500)]
        ids, scores = (np.concatenate([part[i] for part in found]) for i in (0, 1))
        np.savez_compressed(to / f"{name}.npz", ids=ids, scores=scores)
    return {"fit_seconds": round(seconds, 1), "plan": tagger.plan_.lines(), "experts": list(tagger.experts_)}


def speed(spec: Answer) -> Answer:
    """Documents/s in batches, and milliseconds of one document: each is read once, and none before."""
    begun = time.perf_counter()
    model = everylabel.load(spec["model"])
    loaded = time.perf_counter() - begun
    documents = everylabel.load_dataset(folder_of(spec["data"]), "test").documents
    n = len(documents)
    together, alone = range(min(TIMED, n)), range(min(TIMED, n), min(TIMED + ALONE, n))
    model.rank(documents.subset(range(n - 2, n)), 10)  # loads the compiled kernels
    batches = [documents.subset(together[first : first + BATCH]) for first in range(0, len(together), BATCH)]
    begun = time.perf_counter()
    for batch in batches:
        model.rank(batch, 10)
    rate = len(together) / (time.perf_counter() - begun)
    singles = []
    for at in alone or together[-ALONE:]:
        document = documents.subset([at])
        begun = time.perf_counter()
        model.rank(document, 10)
        singles.append(1e3 * (time.perf_counter() - begun))
    median, p95 = (round(float(np.percentile(singles, part)), 2) for part in (50, 95))
    return {
        "load_seconds": round(loaded, 3),
        "documents_per_second": round(rate, 1),
        "one_document_median_ms": median,
        "one_document_p95_ms": p95,
    }


def parts(spec: Answer) -> Answer:
    """Milliseconds of a document for each expert by itself, with all that it reads, and for the whole tagger."""
    model: Any = everylabel.load(spec["model"])
    documents = everylabel.load_dataset(folder_of(spec["data"]), "test").documents
    batches = [documents.subset(range(first, first + BATCH)) for first in range(0, 4 * BATCH, BATCH)]
    found = {}
    for name, method in {**model.experts_, "all, blended": model}.items():
        method.rank(batches[-1], 10)  # words and pages that are met for the first time are not what is asked for
        begun = time.perf_counter()
        for batch in batches[:-1]:
            method.rank(batch, 200)
        found[name] = round(1e3 * (time.perf_counter() - begun) / (3 * BATCH), 3)
    return {"ms": found}


def memory(spec: Answer) -> Answer:
    """Of this process alone, once it has ranked a text."""
    everylabel.load(spec["model"]).rank([spec["text"]], 10)
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    kilobytes = sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Clean:", "Private_Dirty:")))
    return {"private_mb": round(kilobytes * 1024 / 1e6, 1)}


STEPS = {"rankings": rankings, "fit": fit, "experts": experts, "speed": speed, "parts": parts, "memory": memory}

if __name__ == "__main__":
    answer = STEPS[sys.argv[1]](json.loads(sys.argv[2]))
    print(json.dumps({"everylabel": str(Path(everylabel.__file__).parent), **answer}), flush=True)
    sys.stdin.read()  # a process that another one is to share memory with stays until its input ends
