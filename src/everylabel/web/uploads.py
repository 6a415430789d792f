"""Uploaded files as text: read in a process of its own, with bounds of time and memory (formats/reading.py).

The file is written to a temporary folder under a name of ours; what its sender called it is only looked at for its end.
One file is read at a time: each may take a core and 2 GB.
"""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

from everylabel.data.formats.files import markdown
from everylabel.data.formats.reading import READERS, Content, Reader
from everylabel.errors import DataError
from everylabel.web.problems import Problem

PLAIN = (".txt", ".md")
SUFFIXES = (*PLAIN, *READERS)


class Uploads:
    def __init__(self, seconds: float, most_characters: int) -> None:
        self._reader, self._lock, self._most_characters = Reader(seconds), threading.Lock(), most_characters

    def content(self, name: str, data: bytes) -> Content:
        """Title and text. Takes as long as the file does: for a thread."""
        suffix = Path(name.replace("\\", "/")).suffix.lower()
        if suffix not in SUFFIXES:
            raise Problem(415, f"files of the kind {suffix[:20]!r} are not read; there are: {', '.join(SUFFIXES)}")
        found = _plain(data, suffix) if suffix in PLAIN else self._parsed(data, suffix)
        if len(found.text) > self._most_characters:
            raise Problem(
                413, f"the text has {len(found.text):,} characters; at most {self._most_characters:,} are read"
            )
        return found

    def close(self) -> None:
        with self._lock:
            self._reader.__exit__()

    def _parsed(self, data: bytes, suffix: str) -> Content:
        with self._lock, tempfile.TemporaryDirectory(prefix="everylabel-") as folder:
            file = Path(folder) / f"upload{suffix}"
            file.write_bytes(data)
            try:
                return self._reader.content(file)
            except ValueError as error:
                raise Problem(400, f"the file: {error}") from None
            except DataError:
                raise Problem(415, f"{suffix} is not read here: pip install 'everylabel[files]'") from None


def _plain(data: bytes, suffix: str) -> Content:
    try:
        text = data.decode("utf-8-sig").replace("\0", " ")
    except UnicodeDecodeError:
        raise Problem(400, "the file is not UTF-8; save it as UTF-8") from None
    return markdown(text) if suffix == ".md" else Content("", text)
