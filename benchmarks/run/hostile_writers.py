"""Hostile trials of writers: python -m benchmarks.run.hostile_writers [--kills 1000] [--saves 2000] [--adds 100]

Saves of a model that are killed (SIGKILL) at a random moment, or run out of disk at a random byte; loads in processes
while another saves; labels added by two processes at once. With renameat2, and without it. In the model's folder there
are files of others. All that is counted as lost must be 0. Needs a system that forks.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import everylabel
from benchmarks.record import write_result
from everylabel import atomic
from everylabel.data import sample
from everylabel.data.dataset import Label
from everylabel.errors import EverylabelError
from everylabel.workflow.labels import add_labels

FOREIGN = {"README.md": "a card", ".git/HEAD": "main", ".git/objects/01/23": "an object", "arrays/notes": "mine"}
LONGEST = 0.03  # seconds until a writer is killed: several saves


class Place:
    """A model's folder with files of others, and the two models that may be in it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "model"
        data = everylabel.load_dataset(sample(folder / "data"))
        self.old = everylabel.method("knn").fit(data)
        self.new = everylabel.method("knn").fit(data).add_labels([Label("new", "A new one")])
        self.old.save(self.path)
        for name, text in FOREIGN.items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text(text)

    def outcome(self) -> str:
        """What is there now; and once it is saved again, nothing else is left beside it."""
        try:
            found = everylabel.load(self.path, verify=True)
        except (EverylabelError, OSError) as error:
            return f"lost: {error}"
        for name, text in FOREIGN.items():
            if not (self.path / name).is_file() or (self.path / name).read_text() != text:
                return f"lost: {name}"
        self.old.save(self.path)
        left = sorted(path.name for path in self.path.parent.iterdir())
        if left != ["data", "model"]:
            return f"left behind: {left}"
        return "the old model" if len(found.labels_) == len(self.old.labels_) else "the new model"


def forked(work: Callable[[], None]) -> int:
    """The number of a process that does it and ends with 0, or with 1 where it failed."""
    child = os.fork()
    if child:
        return child
    try:
        work()
    except BaseException as error:
        print(f"  {type(error).__name__}: {error}", flush=True)
        os._exit(1)
    os._exit(0)


def code_of(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def saving(place: Place) -> None:
    while True:
        for method in (place.new, place.old):
            method.save(place.path)


def killed(place: Place, rng: random.Random) -> str:
    child = forked(lambda: saving(place))
    time.sleep(rng.uniform(0, LONGEST))
    os.kill(child, signal.SIGKILL)
    if code_of(child) != -signal.SIGKILL:
        return "lost: the writer failed"
    return place.outcome()


def without_room(place: Place, rng: random.Random) -> str:
    """No file may get longer than this, as on a disk that is full then."""
    limit = rng.randrange(2 * max(file.stat().st_size for file in place.path.rglob("*")))

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        try:
            place.new.save(place.path)
        except EverylabelError:
            os._exit(2)

    refused = {0: False, 2: True}.get(code_of(forked(work)))
    if refused is None:
        return "lost: not said in one line"
    found = place.outcome()
    return found if found.startswith(("lost", "left")) else f"{found}, {'an error' if refused else 'saved'}"


def loads_while_saving(place: Place, saves: int) -> Counter[str]:
    """Two processes load as fast as they can until as many saves are done; one and the same model as well as others."""
    loads, ends = os.pipe()

    def loading() -> None:
        while True:
            found = everylabel.load(place.path, verify=True)
            assert found.rank(["a boat at sea"], 3).ids.shape == (1, 3)
            os.write(ends, b".")

    readers = [forked(loading) for _ in range(2)]
    for n in range(saves):
        (place.new if n % 4 == 0 else place.old).save(place.path)
    for reader in readers:
        os.kill(reader, signal.SIGKILL)
    failed = sum(code_of(reader) != -signal.SIGKILL for reader in readers)
    os.close(ends)
    with os.fdopen(loads, "rb") as stream:
        return Counter({"loaded": len(stream.read()), "saved": saves, "lost: a reader failed": failed})


def labels_at_once(place: Place, n: int) -> Counter[str]:
    """Two processes, each adds labels one at a time, by the function that the command calls."""

    def adding(name: str) -> None:
        for i in range(n):
            add_labels(place.path, [Label(f"{name}-{i}", f"label {i} of {name}")])

    failed = sum(code_of(child) != 0 for child in [forked(partial(adding, name)) for name in ("a", "b")])
    there = everylabel.load(place.path).labels_.index
    missing = sum(f"{name}-{i}" not in there for name in ("a", "b") for i in range(n))
    return Counter({"added": 2 * n, "lost: a label": missing, "lost: a writer failed": failed})


def trials_in(folder: Path, kills: int, saves: int, adds: int) -> dict[str, Counter[str]]:
    place, rng = Place(folder), random.Random(0)
    return {
        "a save is killed": Counter(killed(place, rng) for _ in range(kills)),
        "a save has no more room": Counter(without_room(place, rng) for _ in range(kills // 4)),
        "loads while another saves": loads_while_saving(place, saves),
        "two add labels at once": labels_at_once(place, adds),
    }


def all_trials(kills: int, saves: int, adds: int) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    usual = atomic._renameat2
    for how, function in (("renameat2", usual), ("two renames", lambda: None)):
        atomic._renameat2 = function
        with tempfile.TemporaryDirectory() as folder:
            for what, outcomes in trials_in(Path(folder), kills, saves, adds).items():
                found[f"{what}, {how}"] = {key: value for key, value in sorted(outcomes.items()) if value}
                print(f"{what}, {how}: {found[f'{what}, {how}']}", flush=True)
    atomic._renameat2 = usual
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("kills", 1000), ("saves", 2000), ("adds", 100)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    command = "python -m benchmarks.run.hostile_writers"
    begun = time.perf_counter()
    trials = all_trials(options.kills, options.saves, options.adds)
    values = {"trials": trials, "seconds": round(time.perf_counter() - begun, 1)}
    write_result(
        "hostile-writers", values, f"{command} --kills {options.kills} --saves {options.saves} --adds {options.adds}"
    )


if __name__ == "__main__":
    main()
