"""A model that is replaced while others open it: they find the old one or the new one, always."""

from __future__ import annotations

import os
import signal
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
from everylabel.store import read, steady

LARGE = 20_000  # numbers: a file of their own

LOADING = """
import sys
from tests.store.conftest import Arbitrary, state_of
import everylabel.store.read
everylabel.store.read.method_class = lambda name: Arbitrary
from pathlib import Path
for i in range(int(sys.argv[2])):
    found = state_of(Path(sys.argv[1]), verify=i % 3 == 0)
    assert (found["large"] == found["version"]).all() and found["small"].tolist() == [found["version"]] * 3, found
print("fine")
"""


def version(n: int) -> dict[str, object]:
    return {"version": n, "large": np.full(LARGE, n), "small": np.full(3, n), "same": np.arange(LARGE)}


def start(path: Path, script: str = LOADING, *arguments: str) -> subprocess.Popen[str]:
    source = str(Path(everylabel.__file__).parent.parent)
    root = str(Path(__file__).parent.parent.parent)
    paths = os.pathsep.join([source, root])
    return subprocess.Popen(
        [sys.executable, "-c", script, str(path), *arguments],
        text=True,
        stdin=-1,
        stdout=-1,
        stderr=-1,
        env=os.environ | {"PYTHONPATH": paths},
    )


def load_while_saving(saved: Save, readers: int, loads: int, saves: int, *, same: bool) -> None:
    """Saves of this process against loads of others, until both have done theirs."""
    path, n = saved(version(0)), 0
    others = [start(path, LOADING, str(loads)) for _ in range(readers)]
    while n < saves or any(other.poll() is None for other in others):
        n += 1
        saved(version(0 if same else n))
    for other in others:
        output, errors = other.communicate()
        assert (output, other.returncode) == ("fine\n", 0), errors
    assert [one.name for one in path.parent.iterdir()] == ["model"]


@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("can", [True, False])
def test_a_process_loads_while_another_saves(
    saved: Save, can: bool, same: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the system's help, too: readers wait for the moment in which there is no model. Also one and the same
    model again and again, whose manifest does not tell that it was replaced."""
    if not can:
        monkeypatch.setattr(atomic, "_renameat2", lambda: None)
    load_while_saving(saved, readers=1, loads=100, saves=20, same=same)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("can", [True, False])
def test_processes_load_while_another_saves_a_thousand_times(
    saved: Save, can: bool, same: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not can:
        monkeypatch.setattr(atomic, "_renameat2", lambda: None)
    load_while_saving(saved, readers=2, loads=1000, saves=1000, same=same)


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


def test_no_parts_of_two_models_are_read(saved: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaced between the look at the files' checksums and their mapping."""
    path, verify, n = saved(version(0)), read._verify, 0

    def replaced_then(*arguments: object, **more: bool) -> None:
        nonlocal n
        verify(*arguments, **more)  # type: ignore[arg-type]
        if n < 3:
            saved(version(n := n + 1))

    monkeypatch.setattr(read, "_verify", replaced_then)
    found = state_of(path)
    assert found["version"] == 3
    assert (found["large"] == 3).all()
    assert found["small"].tolist() == [3] * 3


def test_a_model_that_changes_all_the_time_is_given_up(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def changed(*_: object, **__: object) -> None:
        fitted().save(model)

    monkeypatch.setattr(read, "_verify", changed)
    monkeypatch.setattr(steady, "TRIES", 3)
    with pytest.raises(ModelError, match="again and again"):
        everylabel.load(model)


def test_a_model_that_cannot_be_put_back_is_named(model: Path, gone: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError

    moved = model.with_name(f".{leftovers._host()}-{gone}-0123abcd.old.model")
    model.rename(moved)
    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(ModelError, match=f"a save that was killed has left the model as {moved}"):
        everylabel.load(model)


def test_a_model_that_a_killed_save_moved_away_is_found(model: Path, gone: int) -> None:
    moved = model.with_name(f".{leftovers._host()}-{gone}-0123abcd.old.model")
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


IN_PLACE = """
import sys
from pathlib import Path
from tests.store.conftest import Arbitrary, state_of
import everylabel.store.read
everylabel.store.read.method_class = lambda name: Arbitrary
found = state_of(Path(sys.argv[1]))
print(flush=True)
sys.stdin.readline()
print(found["large"].sum())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no such signal")
@pytest.mark.parametrize("by_us", [True, False])
def test_a_reader_is_ended_by_files_that_others_replace_in_place_and_never_by_ours(saved: Save, by_us: bool) -> None:
    """As docs/architecture.md says."""
    path = saved(version(1))
    reader = start(path, IN_PLACE)
    assert reader.stdout is not None
    assert reader.stdout.readline() == "\n"
    if by_us:
        saved(large=np.zeros(3))
    else:
        for file in (path / "arrays").iterdir():
            os.truncate(file, 0)
    output, _ = reader.communicate("\n")
    assert (output, reader.returncode) == ((f"{LARGE}\n", 0) if by_us else ("", -signal.SIGBUS))
