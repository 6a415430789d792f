"""Files of others in a folder that is replaced (`.git`, a README): they come along into the new one.

A file gets a second name, a hard link: no byte is copied, and who has it open goes on with it. Folders are made anew,
with links in them. The old folder has all of it until the new one is in its place, so that a crash loses nothing.
Cost: some 20 microseconds a file, whatever its size; a copy where there are no hard links, or we may not make them.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

Ours = Callable[[str, bool], bool]
"""Of a name below the folder ("arrays/small.npy") and whether it is a folder: does the new folder replace it?"""

MOST = 100_000  # files and folders: who has more has chosen the wrong folder
_NO_LINK = (errno.EPERM, errno.EACCES, errno.EMLINK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


def foreign(folder: Path, ours: Ours) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """What others have put into it, a folder before what is in it. OSError for what cannot come along."""
    device, found, waiting = folder.stat().st_dev, 0, [""]
    while waiting:
        below = waiting.pop()
        with os.scandir(folder / below) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
        for entry in listed:
            name, is_folder = f"{below}{entry.name}", entry.is_dir(follow_symlinks=False)
            if is_folder:
                if entry.stat(follow_symlinks=False).st_dev != device:
                    raise OSError(errno.EXDEV, "is on another disk: move it out of the folder", entry.path)
                waiting.append(f"{name}/")
            if ours(name, is_folder) or (entry.is_symlink() and ours(name, True)):
                continue
            if ours(name, not is_folder):
                what = "folder" if is_folder else "file"
                raise OSError(errno.EEXIST, f"is a {what} in the place of one of ours: move it away", entry.path)
            found += 1
            if found > MOST:
                raise OSError(errno.E2BIG, f"has more than {MOST:,} files that are not ours", str(folder))
            yield name, entry


def carry(old: Path, new: Path, ours: Ours) -> None:
    """Into the new folder with all that others have put into the old one; what the new one has already stays."""
    made: list[tuple[Path, Path]] = []
    for name, entry in foreign(old, ours):
        there = new / name
        if os.path.lexists(there):
            continue
        there.parent.mkdir(parents=True, exist_ok=True)
        if entry.is_dir(follow_symlinks=False):
            there.mkdir()
            made.append((Path(entry.path), there))
        elif entry.is_symlink():
            there.symlink_to(Path(entry.path).readlink())
        else:
            _link(entry, there)
    for before, there in reversed(made):  # when all is in them: their times, and whether they may be written to
        shutil.copystat(before, there)
        give_to_owner(before, there)


def give_to_owner(before: Path, there: Path) -> None:
    """The owner and group of what was there before, as far as we may."""
    if hasattr(os, "chown"):
        about = before.stat()
        with suppress(OSError):
            os.chown(there, -1, about.st_gid)
        with suppress(OSError):
            os.chown(there, about.st_uid, -1)


def _link(entry: os.DirEntry[str], there: Path) -> None:
    try:
        os.link(entry.path, there)
    except OSError as error:
        if error.errno not in _NO_LINK or not entry.is_file():
            raise
        shutil.copy2(entry.path, there)
