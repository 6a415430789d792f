"""A model that is replaced while others open it: they find the old one or the new one, always."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from tests.store.conftest import Save, fitted, same_as_fitted, state_of

import everylabel
from everylabel import atomic, leftovers
from everylabel.errors import ModelError
from everylabel.store import read

TIMES = 300
LARGE = 20_000  # numbers: a file of their own

LOADING = f"""
import sys
from tests.store.conftest import Arbitrary, state_of
import everylabel.store.read
everylabel.store.read.method_class = lambda name: Arbitrary
from pathlib import Path
for i in range({TIMES}):
    found = state_of(Path(sys.argv[1]), verify=i % 3 == 0)
    assert (found["large"] == found["version"]).all() and found["small"].tolist() == [found["version"]] * 3, found
print("fine")
"""


def version(n: int) -> dict[str, object]:
    return {"version": n, "large": np.full(LARGE, n), "small": np.full(3, n), "same": np.arange(LARGE)}


def start(path: Path) -> subprocess.Popen[str]:
    source = str(Path(everylabel.__file__).parent.parent)
    root = str(Path(__file__).parent.parent.parent)
    paths = os.pathsep.join([source, root])
    return subprocess.Popen(
        [sys.executable, "-c", LOADING, str(path)],
        text=True,
        stdout=-1,
        stderr=-1,
        env=os.environ | {"PYTHONPATH": paths},
    )


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere there is a moment without a model")
def test_a_process_loads_while_another_saves(saved: Save) -> None:
    path = saved(version(0))
    reader, n = start(path), 0
    while reader.poll() is None:
        n += 1
        saved(version(n))
    output, errors = reader.communicate()
    assert (output, reader.returncode) == ("fine\n", 0), errors
    assert n > 20
    assert [one.name for one in path.parent.iterdir()] == ["model"]


@pytest.mark.parametrize("can", [True, False])
def test_threads_load_while_others_save(saved: Save, can: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the system's help, too: readers wait for the moment in which there is no model."""
    if not can:
        monkeypatch.setattr(atomic, "_renameat2", lambda: None)
    path = saved(version(0))
    wrong: list[object] = []
    ended = threading.Event()

    def reads() -> None:
        try:
            for _ in range(100):
                found = state_of(path)
                assert (found["large"] == found["version"]).all()
        except BaseException as error:
            wrong.append(error)
        ended.set()

    readers = [threading.Thread(target=reads) for _ in range(2)]
    for reader in readers:
        reader.start()
    n = 0
    while any(reader.is_alive() for reader in readers):
        saved(version(n := n + 1))
    for reader in readers:
        reader.join()
    assert not wrong
    assert n > 5


def test_a_model_that_changes_all_the_time_is_given_up(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifests = iter(range(10**6))

    def damaged(*_: object) -> None:
        raise ModelError("a file is missing")

    monkeypatch.setattr(read, "_manifest", lambda _: {"n": next(manifests)})
    monkeypatch.setattr(read, "_open", damaged)
    with pytest.raises(ModelError, match="again and again"):
        everylabel.load(model)


def test_a_model_that_a_killed_save_moved_away_is_found(model: Path) -> None:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    moved = model.with_name(f".{leftovers._host()}-{done.pid}-0123abcd.old.model")
    model.rename(moved)
    assert same_as_fitted(model)
    model.rename(moved)
    fitted().save(model)
    assert [one.name for one in model.parent.iterdir()] == ["model"]


def test_a_loaded_model_outlives_its_folder(saved: Save) -> None:
    path = saved(version(1))
    found = state_of(path)
    saved(version(2))
    assert (found["large"] == 1).all()
