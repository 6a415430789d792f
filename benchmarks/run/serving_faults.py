"""What a server survives: python -m benchmarks.run.serving_faults [--kills 200] [--swaps 500] [--times 5]

On the embedded sample, by `everylabel serve` in a process of its own, on loopback. Killed (SIGKILL) at random moments
while it tags, takes decisions and writes models (serving_kills.py); its model exchanged under load (serving_swaps.py);
disk, folders, new models, database and clock broken while it serves, each as many --times (serving_breaks.py,
serving_damages.py). All that is counted as lost, failed or left behind must be 0. Full disks need root (a tmpfs), the
clock Debian's libfaketime. Written as it goes; a run that is interrupted goes on.

200 kills take about 20 minutes, 500 swaps 10, the others 3 minutes for each of --times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.record import WORK, read_result, write_result
from benchmarks.run.command import plain_parser, use_own_cache
from benchmarks.run.serving_breaks import TRIALS, NotDoneError, Scene
from benchmarks.run.serving_corpus import Corpus, sample_corpus
from benchmarks.run.serving_damages import damaged_models
from benchmarks.run.serving_kills import kills
from benchmarks.run.serving_swaps import swaps

NAME = "serving-faults"
COMMAND = "python -m benchmarks.run.serving_faults"
BREAKS: dict[str, Callable[[Scene], None]] = {**TRIALS, "new models are damaged": damaged_models}
Found = dict[str, Any]


def broken(name: str, corpus: Corpus, model: Path, work: Path, known: Found) -> None:
    """Once more, into `known`."""
    scene = Scene(corpus, model, work)
    try:
        BREAKS[name](scene)
    except NotDoneError as error:
        known["not_done"] = str(error)
        return
    counts: Counter[str] = Counter(known.get("counts", {}))
    result = scene.seen.without(*scene.only_here).result()
    wrong = Counter(result["wrong"])
    counts += Counter({key: result[key] for key in ("tagged", "acknowledged", "refused")}) + wrong
    known |= {"times": known.get("times", 0) + 1, "counts": dict(counts), "said": result["said"]}


def run(n_kills: int, n_swaps: int, times: int, work: Path, found: Found, save: Callable[[], None]) -> Found:
    """All trials that `found` has not yet, into it."""
    corpus = sample_corpus()
    model = corpus.model()
    killed = found.setdefault("killed at random moments", {})
    kills(n_kills, corpus, model, work, killed, save)
    if found.get("the model is exchanged under load", {}).get("times", 0) < n_swaps:
        found["the model is exchanged under load"] = swaps(n_swaps, corpus, work)
        print(f"exchanged: {found['the model is exchanged under load']}", flush=True)
        save()
    for name in BREAKS:
        known = found.setdefault(name, {})
        while known.get("times", 0) < times and "not_done" not in known:
            broken(name, corpus, model, work, known)
            print(f"{name}: {known}", flush=True)
            save()
    return found


def lost(found: Found) -> dict[str, int]:
    """All that must not be, by trial."""
    return {
        f"{name}: {key}": n
        for name, known in found.items()
        for key, n in known.get("counts", {}).items()
        if key.startswith(("lost", "left"))
    }


def main() -> None:
    parser = plain_parser(__doc__)
    for name, default in (("kills", 200), ("swaps", 500), ("times", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--try", action="store_true", dest="is_try", help="nothing is written")
    options = parser.parse_args()
    use_own_cache()
    found: Found = {} if options.is_try else (read_result(NAME) or {}).get("trials", {})

    def save() -> None:
        if not options.is_try:
            asked = f"--kills {options.kills} --swaps {options.swaps} --times {options.times}"
            write_result(NAME, {"trials": found, "lost": lost(found)}, f"{COMMAND} {asked}")

    run(options.kills, options.swaps, options.times, WORK / "serving" / "faults", found, save)
    print(f"lost: {lost(found) or 'nothing'}")


if __name__ == "__main__":
    main()
