"""Hostile models and data: python -m benchmarks.run.hostile [--models 100000] [--data 100000]

Models of every kind are changed at random, their checksums made anew (hostile_mutations.py); each is loaded, ranks
three texts, is saved, loaded again and ranks the same. Data files of every format are changed, and read. It ends well
with one line that says why it is refused, or with a result that keeps what results keep; all else is a find: a signal,
an exception that is no refusal, a ranking that is none, more than 20 seconds, more than twice the memory of a clean
trial. Written to results/hostile.json as it goes; a run that is interrupted goes on.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.record import WORK, read_result, write_result
from benchmarks.run.hostile_data import data_sets, read_all
from benchmarks.run.hostile_models import TEXTS, made_models, share_of
from benchmarks.run.hostile_mutations import Model, mutated_data
from benchmarks.run.hostile_worker import (
    REFUSED,
    RIGHT,
    WrongResultError,
    check_ranking,
    seconds_since,
    trials,
    written,
)

COMMAND = "python -m benchmarks.run.hostile"
K = 5
BATCH = 500  # cases between two writings of the results
SHOWN = 5  # finds of a kind that are kept in words
Trials = tuple[Callable[[random.Random], None], Callable[[], None]]


def model_trial(folder: Path, scratch: Path) -> Trials:
    """(a trial of this model with changes, one without)."""
    model = Model(folder)
    for library in ("torch", "transformers", "sentence_transformers"):  # or a changed setting would import them
        import_module(library)

    def used(files: dict[str, bytes]) -> None:
        from everylabel import load
        from everylabel.store import describe

        path = written(scratch / "model", files)
        describe(path)
        method = load(path)
        found = method.rank(TEXTS, K)
        check_ranking(found, len(TEXTS), K, len(method.labels_))
        method.save(scratch / "again")
        again = load(scratch / "again").rank(TEXTS, K)
        if not (np.array_equal(found.ids, again.ids) and np.array_equal(found.scores, again.scores)):
            raise WrongResultError("another ranking once it is saved and loaded")

    whole = {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    return lambda rng: used(model.mutated(rng)), lambda: used(whole)


def data_trial(kind: str, files: dict[str, bytes], scratch: Path) -> Trials:
    def used(content: dict[str, bytes]) -> None:
        read_all(written(scratch / "data", content), kind)

    return lambda rng: used(mutated_data(files, rng)), lambda: used(files)


def tried(name: str, make: Callable[[Path], Trials], n: int, known: dict[str, Any], save: Callable[[], None]) -> None:
    """Up to n cases of a name, into `known`, from where it stopped."""
    begun, before = time.perf_counter(), known.get("seconds", 0.0)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as scratch:
        os.environ["EVERYLABEL_CACHE"] = os.environ.get("EVERYLABEL_CACHE", scratch)
        outcomes: Counter[str] = Counter(known.get("outcomes", {}))
        finds: dict[str, list[int]] = known.get("finds", {})
        for outcome in trials(name, *make(Path(scratch)), known.get("cases", 0), n):
            kind = outcome.what if outcome.what in (REFUSED, RIGHT) else "find"
            outcomes[kind] += 1
            if kind == "find":
                cases = finds.setdefault(outcome.what, [])
                cases[SHOWN:] = []
                cases.append(outcome.case)
                print(f"  {name} {outcome.case}: {outcome.what}", flush=True)
            peak = max(known.get("peak_mb", 0.0), outcome.peak_mb)
            known |= {"cases": outcome.case + 1, "outcomes": dict(outcomes), "finds": finds, "peak_mb": peak}
            if not (outcome.case + 1) % BATCH:
                known["seconds"] = before + seconds_since(begun)
                save()
    known["seconds"] = round(before + seconds_since(begun), 1)


def run(n_models: int, n_data: int, work: Path, only: str = "", result: str = "hostile") -> dict[str, Any]:
    """As many cases of all models together, and of all data; `only`: of one name."""
    found: dict[str, Any] = {"models": {}, "data": {}}
    if result and (kept := read_result(result)):
        found |= {part: kept[part] for part in found}

    def save() -> None:
        if result:
            write_result(result, found, COMMAND)

    todo: list[tuple[str, str, Callable[[Path], Trials], int]] = []
    models, data = made_models(work), data_sets()
    shares = {path: share_of(path.name) for path in models}
    for path in models:
        todo.append(
            ("models", path.name, partial(model_trial, path), -(-n_models * shares[path] // sum(shares.values())))
        )
    todo += [("data", name, partial(data_trial, *one), -(-n_data // len(data))) for name, one in data.items()]
    for part, name, make, n in todo:
        known = found[part].setdefault(name, {})
        if only in ("", name) and known.get("cases", 0) < n:
            print(f"{part} {name}: {n} cases", flush=True)
            tried(name, make, n, known, save)
            save()
    return found


def main() -> None:
    logging.getLogger("rdflib").setLevel(logging.CRITICAL)
    os.environ |= {"TOKENIZERS_PARALLELISM": "false", "EVERYLABEL_THREADS": "1"}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=100_000, help="cases of all models together")
    parser.add_argument("--data", type=int, default=100_000, help="cases of all data together")
    parser.add_argument("--work", type=Path, default=WORK / "hostile")
    parser.add_argument("--only", default="", help="one model or data set, by its name; nothing is written")
    options = parser.parse_args()
    found = run(options.models, options.data, options.work, options.only, "" if options.only else "hostile")
    for part, all_of_it in found.items():
        total: Counter[str] = Counter()
        for known in all_of_it.values():
            total.update(known.get("outcomes", {}))
        print(f"{part}: {dict(total)}")


if __name__ == "__main__":
    main()
