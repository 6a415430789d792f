"""Commands that change one model at once do it one after the other, and no change is lost."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.store.conftest import fitted

import everylabel
from everylabel.data.dataset import Label
from everylabel.errors import ModelError
from everylabel.run import Run
from everylabel.store import lock, locked

ADDING = """
import sys
import everylabel
from everylabel.data.dataset import Label
from everylabel.store import load, locked
path, name = sys.argv[1:]
for i in range(3):
    with locked(path):
        method = load(path)
        method.add_labels([Label(f"{name}-{i}", f"added by {name}")])
        method.save(path)
"""

HOLDING = """
import sys, time
from everylabel.store import locked
with locked(sys.argv[1]):
    print(flush=True)
    time.sleep(60)
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="this system has no locks of files")


class Heard:
    """A reporter that nothing but lines is said to."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.said = threading.Event()
        self.start = self.advance = self.finish = self.never

    def say(self, message: str) -> None:
        self.lines.append(message)
        self.said.set()

    def never(self, *_: object) -> None:
        raise AssertionError


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(Path(everylabel.__file__).parent.parent)}


def test_processes_that_add_labels_at_once_all_succeed(model: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", ADDING, str(model), name], stderr=-1, env=environment())
        for name in ("one", "two")
    ]
    for writer in writers:
        _, errors = writer.communicate()
        assert writer.returncode == 0, errors.decode()
    found = everylabel.load(model).labels_
    assert sorted(found.ids[4:]) == sorted(f"{name}-{i}" for name in ("one", "two") for i in range(3))
    assert [one.name for one in model.parent.iterdir()] == ["model"]


def test_who_comes_second_says_so_and_waits(model: Path) -> None:
    heard, order = Heard(), list[str]()

    def second() -> None:
        with locked(model, Run(reporter=heard)):
            order.append("second")

    other = threading.Thread(target=second)
    with locked(model):
        other.start()
        assert heard.said.wait(10)
        time.sleep(0.05)
        order.append("first")
    other.join(10)
    assert order == ["first", "second"]
    assert heard.lines == [f"{model}: another command is changing this model; waiting until it is done"]


def test_nobody_waits_without_another(model: Path) -> None:
    heard = Heard()
    for _ in range(3):
        with locked(model, Run(reporter=heard)):
            assert (model.parent / ".model.lock").is_file()
            fitted().save(model)
        assert [one.name for one in model.parent.iterdir()] == ["model"]
    assert not heard.lines


def test_an_error_lets_go(model: Path) -> None:
    with pytest.raises(KeyboardInterrupt), locked(model):
        raise KeyboardInterrupt
    with locked(model):
        pass


def test_a_killed_holder_lets_go(model: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDING, str(model)], stdout=-1, env=environment())
    assert holder.stdout is not None
    holder.stdout.readline()
    holder.kill()
    holder.wait()
    holder.stdout.close()
    assert (model.parent / ".model.lock").is_file()  # it could not remove it
    with locked(model):
        pass


def test_a_link_and_what_it_points_to_have_one_lock(model: Path) -> None:
    link = model.parent / "link"
    link.symlink_to(model)
    with locked(link):
        assert (model.parent / ".model.lock").is_file()


def test_a_place_where_nothing_can_be_written_is_an_error(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(ModelError, match=r"cannot be changed \(Permission denied beside it\)"), locked(model):
        pass


def test_a_model_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is not a model folder"), locked(tmp_path / "none" / "model"):
        pass


def test_a_lock_that_is_held_may_be_asked_for_again(model: Path) -> None:
    with locked(model), locked(model.parent / "." / "model"):
        fitted().save(model)
        assert (model.parent / ".model.lock").is_file()


def test_a_save_waits_for_who_changes_the_model(model: Path) -> None:
    """Else what a long fit has learned would be lost: the other had read the model before, and writes it after."""
    order = list[str]()

    def save() -> None:
        fitted().save(model)
        order.append("saved")

    other = threading.Thread(target=save)
    with locked(model):
        method = everylabel.load(model)
        other.start()
        time.sleep(0.1)
        method.add_labels([Label("new", "A new one")]).save(model)
        order.append("changed")
    other.join(10)
    assert order == ["changed", "saved"]
    assert len(everylabel.load(model).labels_) == 4


def test_a_lock_that_another_user_left_can_be_had(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = os.open

    def guarded(path: Path, flags: int, *more: int) -> int:
        if flags & os.O_RDWR:
            raise PermissionError(13, "Permission denied")
        return usual(path, flags, *more)

    (model.parent / ".model.lock").touch()
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", guarded)
        with locked(model):
            pass
    assert [one.name for one in model.parent.iterdir()] == ["model"]


def test_a_file_system_without_locks_goes_on_without(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refused)
    with locked(model):
        fitted().save(model)


def test_a_system_without_locks_goes_on_without(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "fcntl", None)
    with locked(model), locked(model):
        assert [one.name for one in model.parent.iterdir()] == ["model"]


def test_labels_added_under_the_lock_are_there(model: Path) -> None:
    with locked(model):
        everylabel.load(model).add_labels([Label("new", "A new one")]).save(model)
    assert everylabel.load(model).labels_.index["new"] == 4
