"""Files and folders are replaced whole or not at all, and nothing is left behind for good."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from everylabel import atomic
from everylabel.atomic import check_replaceable, check_writable, exchange, replaced
from everylabel.errors import EverylabelError

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


def test_files_are_replaced_too(tmp_path: Path) -> None:
    for text in ("one", "two"):
        with replaced(tmp_path / "new" / "file.txt") as partial:
            assert partial.suffix == ".txt"
            partial.write_text(text)
        assert (tmp_path / "new" / "file.txt").read_text() == text
    assert names(tmp_path / "new") == ["file.txt"]


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    folder(tmp_path / "folder", "old")
    for name in ("file", "folder"):
        (tmp_path / f"to-{name}").symlink_to(name)
    with replaced(tmp_path / "to-file") as fresh:
        fresh.write_text("new")
    replace(tmp_path / "to-folder", "new")
    assert (tmp_path / "file").read_text() == (tmp_path / "folder" / "file").read_text() == "new"
    assert all((tmp_path / f"to-{name}").is_symlink() for name in ("file", "folder"))


def test_who_may_look_into_a_folder_stays_the_same(tmp_path: Path) -> None:
    folder(tmp_path / "it", "old").chmod(0o2750)
    replace(tmp_path / "it", "new")
    assert (tmp_path / "it").stat().st_mode & 0o7777 == 0o2750


def test_a_pipe_or_device_is_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="is no file and no folder"), replaced(tmp_path / "pipe"):
        pass
    with pytest.raises(EverylabelError, match="is no file and no folder"):
        check_writable(tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("there", ["nothing", "a file", "an empty folder", "a full folder", "no parent"])
def test_trying_leaves_no_trace(tmp_path: Path, there: str) -> None:
    target = tmp_path / "it"
    if there == "a file":
        target.write_text("mine")
    elif there == "an empty folder":
        target.mkdir(0o750)
    elif there == "a full folder":
        folder(target, "mine")
    elif there == "no parent":
        target = tmp_path / "a" / "b" / "it"
    before = look(tmp_path)
    check_replaceable(target)
    assert look(tmp_path) == before


def look(path: Path) -> dict[str, tuple[int, int]]:
    return {str(one): (one.stat().st_ino, one.stat().st_mode) for one in path.rglob("*")}


def test_a_place_where_nothing_can_be_written_is_found_by_trying(tmp_path: Path, unwritable: Path) -> None:
    for target in (unwritable / "it", unwritable / "new" / "it"):
        with pytest.raises(EverylabelError, match=rf"^{target}: cannot be written \(.*nothing was done: make room"):
            check_writable(target)
    (tmp_path / "file").write_text("")
    with pytest.raises(EverylabelError, match="it: cannot be written"):
        check_writable(tmp_path / "file" / "it")
    with pytest.raises(EverylabelError, match="File name too long"):
        check_writable(tmp_path / ("x" * 250))


def test_a_full_disk_is_found_by_trying(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))  # as a disk with no more room: no file gets longer
    try:
        with pytest.raises(OSError, match=r"it'$"):
            check_replaceable(tmp_path / "it")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not names(tmp_path)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root mounts disks")
@pytest.mark.parametrize("full", [True, False])
def test_a_disk_mounted_at_the_place_is_found_by_trying(tmp_path: Path, full: bool) -> None:
    target = tmp_path / "it"
    target.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "none", target], check=False, stderr=-1).returncode:
        pytest.skip("this root mounts none")
    try:
        if full:
            (target / "file").write_text("mine")
        with pytest.raises(EverylabelError, match=r"it: cannot be written \(a disk is mounted there"):
            check_writable(target)
        assert names(target) == ["file"] * full
    finally:
        subprocess.run(["umount", target], check=True)
