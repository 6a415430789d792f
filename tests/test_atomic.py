"""Files and folders are replaced whole or not at all, and nothing is left behind for good."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from everylabel import atomic, leftovers
from everylabel.atomic import exchange, replaced
from everylabel.leftovers import clear


CAN_EXCHANGE = sys.platform.startswith("linux")


def folder(path: Path, text: str) -> Path:
    path.mkdir()
    (path / "file").write_text(text)
    return path


def replace(target: Path, text: str) -> None:
    with replaced(target) as fresh:
        folder(fresh, text)


def names(path: Path) -> list[str]:
    return sorted(one.name for one in path.iterdir())


@pytest.fixture
def gone() -> int:
    """The number of a process that has ended."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


def rest(target: Path, pid: int, kind: str, host: str | None = None) -> Path:
    return target.with_name(f".{host or leftovers._host()}-{pid}-0123abcd.{kind}.{target.name}")


@pytest.mark.parametrize("can", [True, False])
def test_a_folder_is_replaced_and_nothing_is_left(tmp_path: Path, can: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not can:
        monkeypatch.setattr(atomic, "_renameat2", lambda: None)
    for text in ("one", "two", "three"):
        replace(tmp_path / "it", text)
        assert (tmp_path / "it" / "file").read_text() == text
        assert names(tmp_path) == ["it"]


@pytest.mark.parametrize("can", [True, False])
@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError])
def test_a_failure_leaves_what_was_there(
    tmp_path: Path, can: bool, failure: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not can:
        monkeypatch.setattr(atomic, "_renameat2", lambda: None)
    replace(tmp_path / "it", "old")
    with pytest.raises(failure), replaced(tmp_path / "it") as fresh:  # noqa: PT012
        folder(fresh, "new")
        raise failure
    assert (tmp_path / "it" / "file").read_text() == "old"
    assert names(tmp_path) == ["it"]


@pytest.mark.skipif(not CAN_EXCHANGE, reason="this system cannot")
def test_two_names_are_exchanged(tmp_path: Path) -> None:
    one, two = folder(tmp_path / "one", "1"), folder(tmp_path / "two", "2")
    assert exchange(one, two)
    assert (one / "file").read_text() + (two / "file").read_text() == "21"
    with pytest.raises(FileNotFoundError):
        exchange(one, tmp_path / "none")


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EINVAL])
def test_a_file_system_without_exchange_gets_two_renames(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> int:
        import ctypes

        ctypes.set_errno(number)
        return -1

    monkeypatch.setattr(atomic, "_renameat2", lambda: refused)
    for text in ("one", "two"):
        replace(tmp_path / "it", text)
    assert (tmp_path / "it" / "file").read_text() == "two"


@pytest.mark.skipif(not CAN_EXCHANGE, reason="this system cannot")
def test_a_reader_finds_a_folder_at_any_time(tmp_path: Path) -> None:
    """With two renames this fails within a few hundred."""
    target = tmp_path / "it"
    replace(target, "0")
    ended, missed = threading.Event(), 0

    def write() -> None:
        for i in range(300):
            replace(target, str(i))
        ended.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not ended.is_set():
        missed += not target.exists()
    writer.join()
    assert missed == 0


def test_what_killed_writers_left_is_removed_and_no_more(tmp_path: Path, gone: int) -> None:
    target = tmp_path / "it"
    replace(target, "old")
    dead = [folder(rest(target, gone, kind), kind) for kind in ("partial", "old")]
    rest(target, gone, "partial").with_name(rest(target, gone, "partial").name.replace("0123", "4567")).write_text("")
    stay = [
        rest(target, os.getpid(), "partial"),  # alive
        rest(target, gone, "partial", host="000000"),  # on another machine: we cannot know
        rest(tmp_path / "other", gone, "partial"),
        tmp_path / ".mine.partial.it",
    ]
    for path in stay:
        folder(path, "theirs")
    replace(target, "new")
    assert not any(path.exists() for path in dead)
    assert names(tmp_path) == sorted(["it", *(path.name for path in stay)])


def test_a_folder_that_a_killed_writer_moved_away_comes_back(tmp_path: Path, gone: int) -> None:
    target = tmp_path / "it"
    folder(rest(target, gone, "old"), "old")
    folder(rest(target, gone, "partial"), "half written")
    clear(target)
    assert (target / "file").read_text() == "old"
    assert names(tmp_path) == ["it"]


def test_one_that_a_living_writer_moves_is_waited_for(tmp_path: Path, gone: int) -> None:
    target = tmp_path / "it"
    assert not is_moving(target)
    folder(rest(target, gone, "old"), "dead")
    assert not is_moving(target)
    folder(rest(target, os.getpid(), "old"), "alive")
    assert is_moving(target)


def test_files_are_replaced_too(tmp_path: Path) -> None:
    for text in ("one", "two"):
        with replaced(tmp_path / "new" / "file.txt") as partial:
            assert partial.suffix == ".txt"
            partial.write_text(text)
        assert (tmp_path / "new" / "file.txt").read_text() == text
    assert names(tmp_path / "new") == ["file.txt"]
