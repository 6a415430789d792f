"""The manifest of a model folder: what it is, how it was made, and the size and checksum of every file, its own too."""

from __future__ import annotations

import hashlib
import json
import math
import re
from pathlib import Path
from typing import Any

from everylabel import __version__
from everylabel.errors import ModelError
from everylabel.store.structure import wrong_part

FORMAT = 2
MANIFEST = "manifest.json"
PLAIN = "plain.json"
ARRAYS = "arrays"
_FILE = re.compile(r"plain\.json|arrays/(small\.npy|[0-9a-f]{24}\.[a-z]+)")
_PARTS = {
    "everylabel": str,
    "versions": dict,
    "method": str,
    "config": dict,
    "n_labels": int,
    "n_train": int,
    "files": dict,
    "arrays": dict,
    "labels": dict,
    "state": dict,
}
RESTORE = "restore it from a copy, or fit again"
_DEEPEST = 64  # tables and lists inside of each other, in JSON of a model


def read_manifest(path: str | Path) -> dict[str, Any]:
    """The manifest alone: cheap, and enough to say what a model is."""
    path = Path(path)
    if not (path / MANIFEST).is_file():
        raise ModelError(f"{path}: is not a model folder (no {MANIFEST}); make one with: everylabel fit DATA -o {path}")
    manifest = read_json(path / MANIFEST)
    if not isinstance(manifest, dict) or not isinstance(manifest.get("format"), int):
        raise ModelError(f"{path / MANIFEST}: is damaged (parts are missing); {RESTORE}")
    if manifest["format"] > FORMAT:  # before anything else: a newer format may have other parts
        raise ModelError(
            f"{path}: written by everylabel {manifest.get('everylabel')} (model format {manifest['format']}), this is "
            f"{__version__} (format {FORMAT}); upgrade: pip install --upgrade everylabel"
        )
    if manifest["format"] < FORMAT:
        raise ModelError(
            f"{path}: written by an earlier version (model format {manifest['format']}), which this one does not read "
            f"(format {FORMAT}); fit it again: everylabel fit DATA -o {path}"
        )
    if manifest.pop("sha256", None) != digest_of(manifest):
        raise ModelError(f"{path / MANIFEST}: is damaged (its checksum differs); {RESTORE}")
    if not all(isinstance(manifest.get(name), kind) for name, kind in _PARTS.items()):
        raise ModelError(f"{path / MANIFEST}: is damaged (parts are missing); {RESTORE}")
    strange = next((name for name in manifest["files"] if not is_file_of_model(name)), None)
    if strange is not None or PLAIN not in manifest["files"]:
        raise ModelError(f"{path / MANIFEST}: lists {strange!r}, which no model has, or no {PLAIN}; fit again")
    wrong = wrong_part(manifest)
    if wrong:
        raise ModelError(f"{path}: the model's files do not fit together ({wrong}); fit it again")
    return manifest


def is_file_of_model(name: str) -> bool:
    """Whether a manifest may list it: nothing outside of the folder, no other kind of file."""
    return _FILE.fullmatch(name) is not None


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    write_json(folder / MANIFEST, manifest | {"sha256": digest_of(manifest)})


def digest_of(manifest: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def about(file: Path) -> dict[str, Any]:
    """What the manifest says of a file."""
    return {"bytes": file.stat().st_size, "sha256": digest(file)}


def read_plain(path: Path) -> dict[str, Any]:
    """What was learned and is no array."""
    plain = read_json(path / PLAIN)
    if not isinstance(plain, dict):
        raise ModelError(f"{path / PLAIN}: is damaged (no table of values); {RESTORE}")
    return plain


def read_json(file: Path) -> Any:
    """Of a model: nothing in it is NaN or infinite, or nested as deep as no model is."""
    try:
        value = json.loads(file.read_text(encoding="utf-8"), parse_constant=_finite, parse_float=_finite)
        _require_shallow(value)
    except (ValueError, RecursionError) as error:
        what = "not JSON" if isinstance(error, (json.JSONDecodeError, UnicodeDecodeError)) else error
        raise ModelError(f"{file}: is damaged ({what}); {RESTORE}") from None
    except OSError as error:
        raise ModelError(f"{file}: cannot be read ({error.strerror or error}); {RESTORE}") from None
    return value


def _finite(text: str) -> float:
    found = float(text)
    if not math.isfinite(found):
        raise ValueError(f"{text[:20]} is no number")
    return found


def _require_shallow(value: Any) -> None:
    """Who reads it may do so by calling itself."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > _DEEPEST:
            raise ValueError(f"JSON that is nested more than {_DEEPEST} deep")
        inside = [item.values() if isinstance(item, dict) else item for item in level if isinstance(item, (dict, list))]
        level = [item for items in inside for item in items]


def write_json(file: Path, value: Any) -> None:
    """ASCII: halves of characters, which a text may have, cannot be written otherwise."""
    file.write_text(json.dumps(value) + "\n", encoding="ascii")
