"""New models that are damaged, put in the place of the one that is served: refused, said, and the old one serves on."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.run.serving_breaks import Scene
from benchmarks.run.serving_process import Served
from everylabel import load
from everylabel.data import Label

LATEST = 15.0  # seconds until a model must be refused, or served
Damage = Callable[[Path, random.Random], None]


def largest(folder: Path) -> Path:
    return max((file for file in folder.rglob("*") if file.is_file()), key=lambda file: file.stat().st_size)


def cut(folder: Path, rng: random.Random) -> None:
    """A file that ends somewhere."""
    data = largest(folder).read_bytes()
    largest(folder).write_bytes(data[: rng.randrange(len(data))])


def missing(folder: Path, rng: random.Random) -> None:
    others = ("manifest.json", "README.md")  # what has a damage of its own, and what no model needs
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.name not in others)
    rng.choice(files).unlink()


def scribbled(folder: Path, rng: random.Random) -> None:
    """A hundred bytes of the largest file are others."""
    file = largest(folder)
    data = bytearray(file.read_bytes())
    for _ in range(100):
        data[rng.randrange(len(data))] = rng.randrange(256)
    file.write_bytes(data)


def cut_manifest(folder: Path, rng: random.Random) -> None:
    data = (folder / "manifest.json").read_bytes()
    (folder / "manifest.json").write_bytes(data[: rng.randrange(len(data))])


def no_manifest(folder: Path, rng: random.Random) -> None:
    _ = rng
    (folder / "manifest.json").unlink()


def emptied(folder: Path, rng: random.Random) -> None:
    _ = rng
    shutil.rmtree(folder)
    folder.mkdir()


def gone(folder: Path, rng: random.Random) -> None:
    _ = rng
    shutil.rmtree(folder)


DAMAGES: tuple[Damage, ...] = (cut, missing, scribbled, cut_manifest, no_manifest, emptied, gone)


def damaged_models(scene: Scene) -> None:
    """Each damage once, of a model that is new (it knows a label more), with a whole one in between; by `mv`, as an
    administrator would."""
    rng, place = random.Random(len(scene.corpus.train)), scene.work / "served"
    shutil.copytree(scene.model, place)
    with scene.served(model=place) as (served, traffic):
        scene.watch(traffic, during=False)
        for damage in DAMAGES:
            put(scene, place, damage.__name__, damage, rng)
            said = refused(served, wanted=True)
            scene.watch(traffic, during=True)
            if not said:
                scene.seen.wrong[f"lost: a damaged model is served, or nothing is said ({damage.__name__})"] += 1
            else:
                scene.seen.said[f"{damage.__name__}: {said}"] += 1
            put(scene, place, f"after-{damage.__name__}")
            if refused(served, wanted=False):
                scene.seen.wrong["lost: a whole model is refused afterwards"] += 1
        scene.recover(traffic)


def put(scene: Scene, place: Path, name: str, damage: Damage | None = None, rng: random.Random | None = None) -> None:
    fresh = place.with_name("fresh")
    load(scene.model).add_labels([Label(name, f"a label of {name}")]).save(fresh)
    if damage is not None and rng is not None:
        damage(fresh, rng)
    shutil.rmtree(place, ignore_errors=True)
    if fresh.exists():
        fresh.rename(place)


def refused(served: Served, *, wanted: bool) -> str:
    """Why the newest model is not served; asked until that is as it should be, or for too long."""
    until, found = time.monotonic() + LATEST, ""
    while time.monotonic() < until:
        found = served.ask("/api/models").body["models"][0]["refused"]
        if bool(found) == wanted:
            break
        time.sleep(0.1)
    return str(found)
