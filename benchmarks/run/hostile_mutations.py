"""Changes that somebody could make to a model folder or a data file, drawn at random: the same ones for the same seed.

A model is changed where code reads it: bytes and elements of arrays, their types, shapes and places, what values are
made of, plain values, settings, indexes. Then all checksums are made anew, so that the change reaches what restores it;
in a tenth of the cases they are not, as damage is.
"""

from __future__ import annotations

import gzip
import json
import random
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from everylabel.store.manifest import MANIFEST, PLAIN, digest_of

_WHOLE = (0, 1, -1, 2, 3, 7, 127, 128, 255, 256, 32767, 65535, 2**31 - 1, -(2**31), 2**32, 2**62, 2**63 - 1, -(2**63))
_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, float("nan"), float("inf"), float("-inf"), 1e38, -1e38, 1e-40, 1e300, 5e-324, 3e9)
_DTYPES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", "|O", ">i4", "<U3", "x")
_NESTED: Any = 0
for _ in range(200):
    _NESTED = [_NESTED]
_PLAIN: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 10**6, 10**12, 2**63, 10**30, -(10**12), 0.5, -0.5, 1e308, "", "x", "static",
    "minilm", "/etc", "../..", "organisation/name", "\ud800", [], {}, [[]], {"a": 1}, [1, 2], _NESTED,
)  # fmt: skip
_PIECES = (
    b"", b"\n", b"\r\n", b"\r", b"\t", b'"', b"'", b"\xef\xbb\xbf", b"\xff\xfe", b"\xff", b"\xed\xa0\x80", b"\x00",
    b"{", b"}", b"[" * 50, b"[" * 100_000, b'{"a":' * 5_000, b'{"text": null}\n', b'{"id": 1e999}\n', b"-1", b":", b",",
    b";", b"0:1", b"null", b"NaN", b"9" * 25, b"9" * 5_000, b"1 1 1\n", b"99999999999 99999999999 99999999999\n", b" ",
    b"1e999", b"<x>", b"\x1f\x8b\x08", b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x80\xae", b"\x1b[2J", b"PK\x03\x04",
    b"PAR1", b"@prefix : <x> .", b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"\\", b"\\u0000", b"\\ud800", b"=cmd()",
    b"a" * 70_000,
)  # fmt: skip


class Model:
    """A model folder in memory; `mutated` gives its files with a few changes."""

    def __init__(self, folder: Path) -> None:
        self.files = {file.relative_to(folder).as_posix(): file.read_bytes() for file in sorted(folder.rglob("*.*"))}
        self.manifest: dict[str, Any] = json.loads(self.files.pop(MANIFEST))
        del self.manifest["sha256"]
        self.plain: dict[str, Any] = json.loads(self.files.pop(PLAIN))

    def mutated(self, rng: random.Random) -> dict[str, bytes]:
        files = {name: bytearray(data) for name, data in self.files.items()}
        manifest, plain = (json.loads(json.dumps(part)) for part in (self.manifest, self.plain))
        kinds = [_elements, _elements, _elements, _place, _entry, _plain, _plain, _settings, _file, _about]
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            with suppress(TypeError, KeyError, ValueError, AttributeError, IndexError):  # of what was changed before
                rng.choice(kinds)(rng, manifest, plain, files)
        return _signed(manifest, plain, files, rng)


def _signed(manifest: Any, plain: Any, files: dict[str, bytearray], rng: random.Random) -> dict[str, bytes]:
    found = {name: bytes(data) for name, data in files.items()} | {PLAIN: _json(plain)}
    if isinstance(manifest, dict) and isinstance(manifest.get("files"), dict):
        for name, data in found.items():
            if name in manifest["files"]:
                manifest["files"][name] = {"bytes": len(data), "sha256": sha256(data).hexdigest()}
        manifest["sha256"] = _digest(manifest)
    found[MANIFEST] = _json(manifest)
    if rng.random() < 0.1:  # damage, which has no checksum
        name = rng.choice(sorted(found))
        found[name] = bytes(_bytes(bytearray(found[name]), rng))
    return found


def _digest(manifest: Any) -> str:
    try:
        return digest_of(manifest)
    except (ValueError, RecursionError):
        return ""


def _json(value: Any) -> bytes:
    try:
        return json.dumps(value).encode()
    except RecursionError:
        return b"[" * 100_000


def _elements(rng: random.Random, manifest: Any, plain: Any, files: dict[str, bytearray]) -> None:  # noqa: ARG001
    """Numbers of an array, where it is."""
    arrays = manifest.get("arrays") or {}
    if not arrays:
        return
    place = arrays[rng.choice(sorted(arrays))]
    try:
        dtype, shape = np.dtype(place["dtype"]), place["shape"]
        size = int(np.prod(shape, dtype=np.int64))
        values = np.frombuffer(files[place["file"]], dtype, size, place["offset"])
    except (TypeError, ValueError, KeyError, OverflowError):
        return
    if not size:
        return
    fresh = values.copy()
    at, other = rng.randrange(size), rng.randrange(size)
    number = _special(dtype, size, rng)
    match rng.randrange(9):
        case 0 | 1 | 2:
            fresh[at] = number
        case 3:
            fresh[min(at, other) : max(at, other) + 1] = number
        case 4:
            fresh[at], fresh[other] = values[other], values[at]
        case 5:
            fresh[:] = fresh[::-1]
        case 6:
            fresh[at] = values[other]
        case 7:
            raw = bytearray(fresh.tobytes())
            fresh = np.frombuffer(bytes(_bytes(raw, rng, same_size=True)), dtype)
        case _:
            fresh[at:] = np.roll(fresh[at:], 1)
    files[place["file"]][place["offset"] : place["offset"] + fresh.nbytes] = fresh.tobytes()


def _special(dtype: Any, size: int, rng: random.Random) -> Any:
    """A number that few arrays have, or that is just too large for a place in this one."""
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return np.array(rng.choice(_FLOATS)).astype(dtype)
    whole = rng.choice((*_WHOLE, size, size - 1, size + 1)) % (1 << 8 * dtype.itemsize)
    return np.array(whole, f"u{dtype.itemsize}").view(np.uint8 if dtype.kind == "b" else dtype)


def _place(rng: random.Random, manifest: Any, plain: Any, files: dict[str, bytearray]) -> None:  # noqa: ARG001
    """Type, shape or place of an array."""
    arrays = manifest.get("arrays") or {}
    if not arrays:
        return
    place = arrays[rng.choice(sorted(arrays))]
    shape = place.get("shape")
    key = rng.choice(("dtype", "shape", "shape", "offset", "file"))
    if key == "dtype":
        place[key] = rng.choice(_DTYPES)
    elif key == "shape" and isinstance(shape, list) and shape:
        axis = rng.randrange(len(shape))
        sizes = [max(shape[axis] - 1, 0), shape[axis] + 1, shape[axis] // 2, 0, 2 * shape[axis], 10**12, -1]
        changes = [
            shape[:axis] + [rng.choice(sizes)] + shape[axis + 1 :],
            [*shape, 1],
            shape[::-1],
            [],
            [0, *shape],
            "x",
        ]
        place[key] = rng.choice(changes)
    elif key == "offset" and isinstance(place.get(key), int):
        place[key] = rng.choice((place[key] + 8, place[key] - 8, place[key] + 1, 0, 2**62, -1, None))
    elif key == "file":
        place[key] = rng.choice([*files, PLAIN, "../x", None])


def _entry(rng: random.Random, manifest: Any, plain: Any, files: dict[str, bytearray]) -> None:
    """What a value is made of."""
    entries = manifest.get(rng.choice(("state", "state", "labels"))) or {}
    if not entries:
        return
    key, other = rng.choice(sorted(entries)), rng.choice(sorted(entries))
    match rng.randrange(8):
        case 0 | 1 | 2:
            entries[key] = entries[other]
        case 3:
            del entries[key]
        case 4:
            entries[key], entries[other] = entries[other], entries[key]
        case 5:
            name = rng.choice(sorted(manifest["arrays"]) or [""])
            entry = entries[key]
            for kind in ("csr", "texts"):
                if isinstance(entry, dict) and isinstance(entry.get(kind), list) and entry[kind]:
                    entry[kind][rng.randrange(len(entry[kind]))] = name
                    return
            entries[key] = {"array": name}
        case 6:
            entry = entries[key]
            if isinstance(entry, dict) and "shape" in entry:
                entry["shape"] = [rng.choice((0, 1, 5, 10**9, 10**15, *entry["shape"])) for _ in range(2)]
                entry["sorted"] = rng.random() < 0.5
            else:
                plain[key] = rng.choice(_PLAIN)
                del entries[key]
        case _:
            kinds: list[Any] = [
                {"index": rng.choice(("exact", "ann", "tree")), "file": rng.choice([*files, PLAIN])},
                {},
                None,
                [],
            ]
            entries[key] = rng.choice(kinds)


def _plain(rng: random.Random, manifest: Any, plain: Any, files: dict[str, bytearray]) -> None:  # noqa: ARG001
    _change_inside(plain, rng)


def _settings(rng: random.Random, manifest: Any, plain: Any, files: dict[str, bytearray]) -> None:  # noqa: ARG001
    config = manifest.get("config")
    if isinstance(config, dict) and config:
        _change_inside(config, rng)


def _about(rng: random.Random, manifest: Any, plain: Any, files: dict[str, bytearray]) -> None:  # noqa: ARG001
    """The rest of the manifest; another method now and then."""
    if rng.random() < 0.3:
        manifest["method"] = rng.choice(("knn", "svm", "tagger", "popularity", "semantic", "of-lan", "xml0", "depl"))
    else:
        _change_inside(manifest, rng, deepest=1)


def _file(rng: random.Random, manifest: Any, plain: Any, files: dict[str, bytearray]) -> None:  # noqa: ARG001
    """Bytes of a file: of an index, if there is one."""
    indexes = [name for name in files if name.endswith((".exact", ".ann"))]
    name = rng.choice(indexes if indexes and rng.random() < 0.8 else sorted(files) or [""])
    if name:
        files[name] = _bytes(files[name], rng, same_size=rng.random() < 0.9)


def _change_inside(value: Any, rng: random.Random, deepest: int = 8) -> None:
    """One value somewhere in a table or list becomes another one, or goes."""
    for _ in range(deepest):
        keys: Any = sorted(value) if isinstance(value, dict) else range(len(value))
        if not keys:
            return
        key = rng.choice(keys)
        inside = value[key]
        if not isinstance(inside, (dict, list)) or not inside or rng.random() < 0.2:
            break
        value = inside
    else:
        return
    old = value[key]
    near: list[Any] = [old + 1, old - 1, -old, 2 * old] if isinstance(old, (int, float)) else []
    near += [old + "x", old[:-1], old[::-1]] if isinstance(old, str) else []
    match rng.randrange(4):
        case 0 if near:
            value[key] = rng.choice(near)
        case 1 if isinstance(value, dict):
            del value[key]
        case _:
            value[key] = rng.choice(_PLAIN)


def _bytes(data: bytearray, rng: random.Random, *, same_size: bool = False) -> bytearray:
    if not data:
        return data
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at = rng.randrange(len(data))
        match rng.randrange(4 if same_size else 7):
            case 0:
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                data[at] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
            case 2:
                end = min(at + rng.choice((2, 4, 8)), len(data))
                data[at:end] = bytes([rng.choice((0, 255))]) * (end - at)
            case 3:
                other = rng.randrange(len(data))
                size = min(rng.choice((4, 8, 64)), len(data) - max(at, other))
                data[at : at + size] = data[other : other + size]
            case 4:
                data = data[:at] or data
            case 5:
                del data[at : at + rng.choice((1, 2, 8, 100))]
                if not data:
                    return bytearray(b"\x00")
            case _:
                data[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice((1, 4, 16))))
    return data


def mutated_data(files: dict[str, bytes], rng: random.Random) -> dict[str, bytes]:
    """Data files with a few changes: pieces that readers stumble over, bytes, lines, compression."""
    found = dict(files)
    for _ in range(rng.choice((1, 1, 2, 3))):
        name = rng.choice(sorted(found))
        data = bytearray(found[name])
        at, piece = rng.randrange(len(data) + 1), rng.choice(_PIECES)
        match rng.randrange(10):
            case 0 | 1 | 2:
                data[at:at] = piece
            case 3:
                data[at : at + len(piece)] = piece
            case 4 | 5:
                data = _bytes(data, rng)
            case 6:
                lines = data.split(b"\n")
                rng.shuffle(lines)
                data = bytearray(b"\n".join(lines[: rng.randrange(len(lines) + 1)] + lines[:1]))
            case 7:
                packed = bytearray(gzip.compress(bytes(data)))
                del found[name]
                name, data = f"{name}.gz", packed if rng.random() < 0.4 else _bytes(packed, rng)
            case 8:
                other = rng.choice(sorted(found))
                data = bytearray(found[other])
            case _:
                encoding = rng.choice(("utf-16", "latin-1", "utf-8-sig"))
                data = bytearray(bytes(data).decode("utf-8", "replace").encode(encoding, "replace"))
        found[name] = bytes(data)
    return found
