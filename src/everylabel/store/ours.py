"""What a model folder has of ours: everything else in it belongs to others, and comes along when it is replaced."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from everylabel.errors import ModelError
from everylabel.foreign import Ours
from everylabel.store.card import CARD, is_card
from everylabel.store.manifest import ARRAYS, FORMAT, MANIFEST, PLAIN, read_json

_NAME = re.compile(rf"{re.escape(MANIFEST)}|{re.escape(PLAIN)}|{ARRAYS}/(small\.npy|[0-9a-f]{{24}}\.[a-z]+)")
_BEGINNING = re.compile(rb'\{"format": \d+, "everylabel": "')  # as every version has written it
_READ = 100  # bytes


def is_model(path: Path) -> bool:
    """Is it a model of ours, if only a damaged one, or one of another version? Its manifest says so.

    That of something else (a web page's, `{}`) does not, whatever else is in the folder.
    """
    try:
        with (path / MANIFEST).open("rb") as stream:
            if _BEGINNING.match(stream.read(_READ)):  # also if the rest of it is lost
                return True
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return False
    about = _read(path)
    return type(about.get("format")) is int and isinstance(about.get("everylabel"), str)


def names_in(path: Path) -> Ours:
    """The names that a model has, its card if that is ours; of one of another version, those that it lists, too."""
    about = _read(path)
    listed = about.get("files") if about.get("format") != FORMAT else None
    files = frozenset(listed) if isinstance(listed, dict) else frozenset[str]()
    folders = {ARRAYS} | {str(folder) for file in files for folder in Path(file).parents}

    def ours(name: str, is_folder: bool) -> bool:
        if is_folder:
            return name in folders
        return name in files or _NAME.fullmatch(name) is not None or (name == CARD and is_card(path / CARD))

    return ours


def _read(path: Path) -> dict[str, Any]:
    """The manifest as it is, unchecked; nothing if it cannot be read."""
    try:
        found = read_json(path / MANIFEST)
    except (OSError, ModelError):
        return {}
    return found if isinstance(found, dict) else {}
