"""Uploaded files as text, or as records: read in a process of its own, with bounds of time and memory
(formats/reading.py).

The file is written to a temporary folder under a name of ours; what its sender called it is only looked at for its end.
One file is read at a time: each may take a core and 2 GB.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from everylabel.data.formats import records
from everylabel.data.formats.files import markdown
from everylabel.data.formats.reading import READERS, Content, Reader
from everylabel.errors import DataError
from everylabel.web.problems import Problem

PLAIN = (".txt", ".md")
SUFFIXES = (*PLAIN, *READERS)


T = TypeVar("T")


class Written(NamedTuple):
    """A file of records with more subjects."""

    data: bytes
    added: int
    left_out: int  # records that could not take theirs


class Uploads:
    def __init__(self, seconds: float, most_characters: int) -> None:
        self._reader, self._lock, self._most_characters = Reader(seconds), threading.Lock(), most_characters

    def content(self, name: str, data: bytes) -> Content:
        """Title and text. Takes as long as the file does: for a thread."""
        suffix = suffix_of(name)
        if suffix not in SUFFIXES:
            raise Problem(415, f"files of the kind {suffix[:20]!r} are not read; there are: {', '.join(SUFFIXES)}")
        found = _plain(data, suffix) if suffix in PLAIN else self._parsed(data, suffix)
        if len(found.text) > self._most_characters:
            raise Problem(
                413, f"the text has {len(found.text):,} characters; at most {self._most_characters:,} are read"
            )
        return found

    def records(self, name: str, data: bytes) -> dict[str, Any]:
        """Of a catalogue file, as formats/records.py reads them."""
        found = self._in_file(data, self._catalogue(name), self._reader.records)
        if any(len(one["text"]) > self._most_characters for one in found["records"]):
            raise Problem(413, f"a record's text is too long; at most {self._most_characters:,} characters are read")
        return found

    def with_subjects(self, name: str, data: bytes, **how: Any) -> Written:
        """The same file with subjects in its records; `how`: see formats/records.py."""

        def written(file: Path) -> Written:
            target = file.with_name(f"written{file.suffix}")
            counts = self._reader.with_subjects(file, target, **how)
            return Written(target.read_bytes(), **counts)

        return self._in_file(data, self._catalogue(name), written)

    def close(self) -> None:
        with self._lock:
            self._reader.__exit__()

    def _catalogue(self, name: str) -> str:
        suffix = suffix_of(name)
        if suffix not in records.SUFFIXES:
            raise Problem(415, f"records are read of {', '.join(records.SUFFIXES)}; the file is {suffix[:20]!r}")
        return suffix

    def _parsed(self, data: bytes, suffix: str) -> Content:
        return self._in_file(data, suffix, self._reader.content)

    def _in_file(self, data: bytes, suffix: str, use: Callable[[Path], T]) -> T:
        with self._lock, tempfile.TemporaryDirectory(prefix="everylabel-") as folder:
            file = Path(folder) / f"upload{suffix}"
            file.write_bytes(data)
            try:
                return use(file)
            except ValueError as error:
                raise Problem(400, f"the file: {error}") from None
            except DataError:
                raise Problem(415, f"{suffix} is not read here: pip install 'everylabel[files]'") from None


def suffix_of(name: str) -> str:
    return Path(name.replace("\\", "/")).suffix.lower()


def _plain(data: bytes, suffix: str) -> Content:
    try:
        text = data.decode("utf-8-sig").replace("\0", " ")
    except UnicodeDecodeError:
        raise Problem(400, "the file is not UTF-8; save it as UTF-8") from None
    return markdown(text) if suffix == ".md" else Content("", text)
