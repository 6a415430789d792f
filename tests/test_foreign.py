"""What others have put into a folder is there after it was replaced, as it was."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from tests.test_atomic import names

from everylabel import atomic, foreign
from everylabel.atomic import check_replaceable, replaced


def ours(name: str, is_folder: bool) -> bool:
    return name == "parts" if is_folder else name in ("about", "parts/one")


def write(target: Path, text: str) -> None:
    with replaced(target, ours) as fresh:
        (fresh / "parts").mkdir(parents=True)
        (fresh / "about").write_text(text)
        (fresh / "parts" / "one").write_text(text)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """With all kinds of things of others."""
    write(tmp_path / "it", "old")
    target = tmp_path / "it"
    (target / ".git" / "objects").mkdir(parents=True)
    (target / ".git" / "objects" / "0123").write_text("an object")
    (target / ".git" / "objects" / "0123").chmod(0o444)
    (target / "empty").mkdir()
    (target / "README.md").write_text("a card")
    (target / "parts" / "two").write_text("theirs")
    (target / "link").symlink_to("README.md")
    (target / "broken link").symlink_to("../nowhere")
    os.mkfifo(target / "pipe")
    (target / ".git").chmod(0o500)
    return target


def look(folder: Path) -> dict[str, tuple[int, str]]:
    """Mode and content of everything that is not ours."""
    found = {}
    for path in folder.rglob("*"):
        name, mode = str(path.relative_to(folder)), path.lstat().st_mode
        if not ours(name, path.is_dir() and not path.is_symlink()):
            content = str(path.readlink()) if path.is_symlink() else path.read_text() if path.is_file() else ""
            found[name] = (mode, content)
    return found


@pytest.mark.parametrize("can_link", [True, False])
@pytest.mark.parametrize("can_exchange", [True, False])
def test_it_comes_along(target: Path, can_link: bool, can_exchange: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    if not can_exchange:
        monkeypatch.setattr(atomic, "_renameat2", lambda: None)
    if not can_link:
        (target / "pipe").unlink()  # cannot be copied
        monkeypatch.setattr(os, "link", refused)
    before, times = look(target), (target / ".git").stat().st_mtime_ns
    assert len(before) == 9 - (not can_link)
    for text in ("new", "newer"):
        write(target, text)
        assert look(target) == before
        assert (target / "about").read_text() == (target / "parts" / "one").read_text() == text
        assert names(target.parent) == ["it"]
    assert (target / ".git").stat().st_mtime_ns == times


def test_no_byte_is_copied_and_who_has_a_file_open_goes_on(target: Path) -> None:
    number = (target / "README.md").stat().st_ino
    with (target / "README.md").open("a") as stream:
        write(target, "new")
        stream.write(", and more")
    assert (target / "README.md").read_text() == "a card, and more"
    assert (target / "README.md").stat().st_ino == number


def test_what_comes_while_the_new_folder_is_put_in_its_place_comes_along(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exchange(one: Path, other: Path, usual: object = atomic.exchange) -> bool:
        (target / "late").write_text("a moment too late")
        return usual(one, other)  # type: ignore[operator, no-any-return]

    monkeypatch.setattr(atomic, "exchange", exchange)
    write(target, "new")
    assert (target / "late").read_text() == "a moment too late"


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError])
def test_a_failure_leaves_everything(
    target: Path, failure: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    before, link, linked = look(target), os.link, 0

    def fails(*arguments: object) -> None:
        nonlocal linked
        linked += 1
        if linked == 3:
            raise failure(errno.ENOSPC, "full")
        link(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "link", fails)
    with pytest.raises(failure):
        write(target, "new")
    assert look(target) == before
    assert (target / "about").read_text() == "old"
    assert names(target.parent) == ["it"]


def in_our_place(target: Path) -> None:
    (target / "about").unlink()
    (target / "about").mkdir()


def in_our_folder_s_place(target: Path) -> None:
    for file in (target / "parts").iterdir():
        file.unlink()
    (target / "parts").rmdir()
    (target / "parts").write_text("mine")


@pytest.mark.parametrize("change", [in_our_place, in_our_folder_s_place])
def test_what_stands_in_the_place_of_ours_is_refused(target: Path, change: object) -> None:
    change(target)  # type: ignore[operator]
    before = look(target)
    for work in (lambda: check_replaceable(target, ours), lambda: write(target, "new")):
        with pytest.raises(OSError, match="in the place of one of ours: move it away"):
            work()  # type: ignore[no-untyped-call]
    assert look(target) == before


def test_a_link_in_the_place_of_ours_is_replaced_and_not_followed(target: Path) -> None:
    (target / "parts").rename(target.parent / "elsewhere")
    (target / "parts").symlink_to("../elsewhere")
    write(target, "new")
    assert not (target / "parts").is_symlink()
    assert (target.parent / "elsewhere" / "one").read_text() == "old"


def test_who_has_very_many_files_has_chosen_the_wrong_folder(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "MOST", 5)
    with pytest.raises(OSError, match="has more than 5 files that are not ours"):
        check_replaceable(target, ours)
