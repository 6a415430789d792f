"""Files of documents by a path, a pattern or a folder, here or at any address that fsspec knows; and where results go.

A file at another address is copied to the node's disk to be read, and a result is put beside its place before it takes
it: what has a result's name is whole.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from everylabel.data.formats.rows import stem_of, suffix_of
from everylabel.data.formats.vocabulary import is_named_like_one
from everylabel.errors import ConfigError, DataError

SUFFIXES = (".jsonl", ".json", ".txt", ".csv", ".tsv", ".parquet")  # of files that are taken of a folder
WRITTEN = ".jsonl"


class Shard(NamedTuple):
    """A file, and the name of its result below the folder of results."""

    source: str
    name: str


def find_shards(given: str, without: str = "") -> list[Shard]:
    """Sorted by their names. Two files with one result are an error, as is a pattern that nothing matches. `without`: a
    folder, such as that of the results, whose files are none."""
    system, path = _opened(given)
    if any(sign in path for sign in "*?["):
        root = _root(path)
        files = [
            file
            for file in system.glob(path)
            if not _is_hidden(PurePosixPath(file).relative_to(root)) and not system.isdir(file)
        ]
    elif system.isdir(path):
        root = path
        files = [file for file in system.find(path) if _is_documents(PurePosixPath(file).relative_to(path))]
    else:
        root = str(PurePosixPath(path).parent)
        files = [path] if system.exists(path) else []
    if without:
        own = f"{_opened(without)[1].rstrip('/')}/"
        files = [file for file in files if not file.startswith(own)]
    if not files:
        raise DataError(f"{given}: there is no file of documents; give files, a folder of {', '.join(SUFFIXES)}, or a "
                        "pattern in quotes: 'in/*.jsonl.gz'")  # fmt: skip
    found: dict[str, str] = {}
    for file in sorted(files):
        name = _result(PurePosixPath(file).relative_to(root) if root else PurePosixPath(file))
        if name in found:
            raise DataError(f"{found[name]} and {file}: both would be written to {name}; rename one of them")
        found[name] = file
    return [Shard(system.unstrip_protocol(file) if not _is_local(system) else file, name)
            for name, file in found.items()]  # fmt: skip


@contextmanager
def readable(source: str) -> Iterator[Path]:
    """The file, or a copy of it that is removed afterwards."""
    system, path = _opened(source)
    if _is_local(system):
        if not Path(path).is_file():
            raise DataError(f"{path}: is not there; files must be in a folder that all nodes see, or at an address")
        yield Path(path)
        return
    with tempfile.TemporaryDirectory(prefix="everylabel-") as folder:
        copy = Path(folder) / PurePosixPath(path).name
        system.get_file(path, str(copy))
        yield copy


@contextmanager
def writable(folder: str, name: str) -> Iterator[Path]:
    """A place for the result, which is where it belongs at the end. Who writes a local one does that as a whole."""
    system, root = _opened(folder)
    target = f"{root.rstrip('/')}/{name}"
    if _is_local(system):
        yield Path(target)
        return
    with tempfile.TemporaryDirectory(prefix="everylabel-") as here:
        written = Path(here) / PurePosixPath(name).name
        yield written
        beside = f"{PurePosixPath(target).parent}/.{uuid.uuid4().hex}.partial"
        system.makedirs(str(PurePosixPath(target).parent), exist_ok=True)
        system.put_file(str(written), beside)
        system.mv(beside, target)


def absolute(folder: str) -> str:
    """For other processes, which may be in another folder."""
    system, path = _opened(folder)
    return path if _is_local(system) else folder


def results(folder: str) -> set[str]:
    """The names of those that are there."""
    system, root = _opened(folder)
    if not system.isdir(root):
        return set()
    found = (PurePosixPath(file).relative_to(root.rstrip("/")) for file in system.find(root))
    return {str(file) for file in found if not file.name.startswith(".")}


def read_text(folder: str, name: str) -> str | None:
    system, root = _opened(folder)
    file = f"{root.rstrip('/')}/{name}"
    return str(system.cat_file(file).decode()) if system.exists(file) else None


def _opened(address: str) -> tuple[Any, str]:
    from fsspec.core import url_to_fs

    try:
        system, path = url_to_fs(address)
    except (ImportError, ValueError) as error:  # a package for it is missing, or nobody knows it
        raise ConfigError(f"{address}: cannot be read ({' '.join(str(error).split())})") from None
    return system, str(path)


def _is_local(system: Any) -> bool:
    from fsspec.implementations.local import LocalFileSystem

    return isinstance(system, LocalFileSystem)


def _root(pattern: str) -> str:
    """The folders before the first sign of a pattern."""
    parts = pattern.split("/")
    first = next(i for i, part in enumerate(parts) if any(sign in part for sign in "*?["))
    return "/".join(parts[:first])


def _is_hidden(file: PurePosixPath) -> bool:
    """As in a shell, no pattern means it: it may be what a killed writer has left."""
    return any(part.startswith(".") for part in file.parts)


def _is_documents(file: PurePosixPath) -> bool:
    return not _is_hidden(file) and suffix_of(Path(file)) in SUFFIXES and not is_named_like_one(Path(file))


def _result(file: PurePosixPath) -> str:
    return str(file.with_name(f"{stem_of(Path(file))}{WRITTEN}"))
