"""What killed writers leave: removed by the next one, put back where it is all there is, and no more than that."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.test_atomic import folder, names, replace

from everylabel import leftovers
from everylabel.leftovers import clear, come_back, moved_to, names_beside, remove


def rest(target: Path, pid: int, kind: str, host: str | None = None, number: str = "0123abcd") -> Path:
    return target.with_name(f".{host or leftovers._host()}-{pid}-{number}.{kind}.{target.name}")


def test_what_killed_writers_left_is_removed_and_no_more(tmp_path: Path, gone: int) -> None:
    target = tmp_path / "it"
    replace(target, "old")
    for kind in ("partial", "old"):
        folder(rest(target, gone, kind), kind)
    rest(target, gone, "partial", number="4567abcd").write_text("")
    stay = [
        rest(target, os.getppid(), "partial"),  # alive
        rest(target, gone, "partial", host="000000"),  # on another machine: it may be
        rest(tmp_path / "other", gone, "partial"),
        tmp_path / ".mine.partial.it",
    ]
    for path in stay:
        folder(path, "theirs")
    replace(target, "new")
    assert names(tmp_path) == sorted(["it", *(path.name for path in stay)])


def test_what_a_writer_of_this_process_left_is_removed_too(tmp_path: Path) -> None:
    """In a container the next process often has the number of the one that was killed."""
    target = tmp_path / "it"
    folder(rest(target, os.getpid(), "partial"), "left")
    with names_beside(target) as ours:
        folder(ours.partial, "at work")
        clear(target)
        assert names(tmp_path) == [ours.partial.name]
    clear(target)
    assert not names(tmp_path)


@pytest.mark.parametrize("host", [None, "000000"])
def test_what_nobody_has_touched_for_long_is_nobody_s(
    tmp_path: Path, host: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = folder(rest(tmp_path / "it", os.getppid(), "partial", host), "theirs")
    for file in (left / "file", left):
        os.utime(file, (0, 0))
    clear(tmp_path / "it")
    assert left.exists()  # made a moment ago, whatever its times say
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 2 * leftovers.LONG)
    os.utime(left / "file", (now + 1.5 * leftovers.LONG,) * 2)
    clear(tmp_path / "it")
    assert left.exists()  # something in it was written to
    os.utime(left / "file", (0, 0))
    clear(tmp_path / "it")
    assert not names(tmp_path)


def test_a_folder_that_a_killed_writer_moved_away_comes_back(tmp_path: Path, gone: int) -> None:
    target = tmp_path / "it"
    folder(rest(target, gone, "old"), "old")
    folder(rest(target, gone, "partial"), "half written")
    clear(target)
    assert (target / "file").read_text() == "old"
    assert names(tmp_path) == ["it"]


def test_of_several_the_newest_comes_back(tmp_path: Path, gone: int) -> None:
    for number, text in (("bbbbbbbb", "older"), ("aaaaaaaa", "newer")):
        folder(rest(tmp_path / "it", gone, "old", number=number), text)
        time.sleep(0.02)
    assert come_back(tmp_path / "it")
    assert (tmp_path / "it" / "file").read_text() == "newer"


def test_one_that_a_living_writer_moves_is_waited_for_but_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftovers, "PATIENCE", 0.1)
    target = tmp_path / "it"
    moved = folder(rest(target, 1, "old", host="000000"), "on another machine, which may be gone")
    assert moved_to(target) == moved
    started = time.monotonic()
    assert come_back(target)
    assert 0.1 <= time.monotonic() - started < 2
    assert (target / "file").read_text().startswith("on another machine")
    assert moved_to(target) is None


def test_all_there_is_is_never_removed(tmp_path: Path, gone: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who may not put it back does not clear it away, either."""

    def refused(*_: object) -> None:
        raise PermissionError

    moved = folder(rest(tmp_path / "it", gone, "old"), "the only copy")
    monkeypatch.setattr(Path, "rename", refused)
    assert not come_back(tmp_path / "it")
    clear(tmp_path / "it")
    assert (moved / "file").read_text() == "the only copy"


def test_folders_that_must_not_be_written_to_are_removed(tmp_path: Path) -> None:
    folder(tmp_path / "it", "old")
    folder(tmp_path / "it" / "below", "old").chmod(0o555)
    (tmp_path / "it").chmod(0o555)
    remove(tmp_path / "it")
    assert not names(tmp_path)
