"""What is in a model folder, how large each part is, and how it was made: from manifest and plain values alone."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from everylabel.store.manifest import MANIFEST, read_manifest, read_plain
from everylabel.store.steady import steadily
from everylabel.store.values import Entry, arrays_in

LABELS = "labels"
EXPERTS = "experts"


class Part(NamedTuple):
    """`bytes` are all that the part uses, `shared` those of them that other parts use, too: they are stored once."""

    name: str
    values: int
    bytes: int
    shared: int


class Description(NamedTuple):
    manifest: dict[str, Any]
    plain: dict[str, Any]  # the state's values that are no arrays
    parts: list[Part]  # the largest first
    files: int
    bytes: int  # on disk
    shared: int  # bytes that several parts use, each counted once


def describe(path: str | Path) -> Description:
    """Reads two small files. The arrays are neither read nor checked."""
    path = Path(path)
    return steadily(path, lambda: _described(path))


def _described(path: Path) -> Description:
    manifest = read_manifest(path)
    used: dict[str, Counter[str]] = {LABELS: _used(manifest["labels"].values())}
    values = Counter({LABELS: len(manifest["labels"])})
    by_part: dict[str, list[Entry]] = defaultdict(list)
    for key, entry in manifest["state"].items():
        by_part[part_of(key)].append(entry)
    for name, entries in by_part.items():
        used[name] = used.get(name, Counter()) | _used(entries)
        values[name] += len(entries)
    users = Counter(name for own in used.values() for name in own)
    size = {name: _bytes(place) for name, place in manifest["arrays"].items()}
    size |= {name: file["bytes"] for name, file in manifest["files"].items()}
    parts = [
        Part(name, values[name], sum(map(size.__getitem__, own)), sum(size[one] for one in own if users[one] > 1))
        for name, own in used.items()
    ]
    return Description(
        manifest=manifest,
        plain=read_plain(path),
        parts=sorted(parts, key=lambda part: (-part.bytes, part.name)),
        files=1 + len(manifest["files"]),
        bytes=(path / MANIFEST).stat().st_size + sum(file["bytes"] for file in manifest["files"].values()),
        shared=sum(size[name] for name, n in users.items() if n > 1),
    )


def part_of(key: str) -> str:
    """The first word of a key; of a tagger's experts the first two."""
    words = key.split("/")
    return "/".join(words[: 2 if words[0] == EXPERTS else 1])


def _used(entries: Any) -> Counter[str]:
    """Arrays and files of indexes, each once."""
    return Counter({name for entry in entries for name in arrays_in(entry) or [entry["file"]]})


def _bytes(place: dict[str, Any]) -> int:
    return int(np.dtype(place["dtype"]).itemsize * math.prod(place["shape"]))
