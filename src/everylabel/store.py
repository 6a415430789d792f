"""A model is a folder: manifest.json (versions, configuration, checksums), labels.json, state.json and arrays.npz.

An index in a method's state has a file of its own, KEY.exact or KEY.ann, which is memory-mapped on load.
Written beside its final place and renamed, so that an interrupted save leaves the old model. Loading runs no code:
JSON and npz without pickle, every file checked against its sha256 first. Cost: one pass over the bytes.
"""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import numpy as np
from scipy.sparse import csr_matrix, issparse

from everylabel import __version__, config
from everylabel.atomic import replaced
from everylabel.data.dataset import Label, LabelSet
from everylabel.errors import ConfigError, ModelError
from everylabel.index.build import INDEX_KINDS, load_index
from everylabel.registry import method_class

if TYPE_CHECKING:
    from everylabel.methods.base import Method, State

FORMAT = 1
MANIFEST = "manifest.json"
_CSR_PARTS = ("data", "indices", "indptr", "shape")


def check_destination(path: str | Path, *, overwrite: bool = True) -> Path:
    """The resolved folder to save to, or an error: worth asking before a long fit, not only after it."""
    path = Path(path).resolve()  # through a link: the link stays, what it points to is replaced
    if path.exists() and not (path / MANIFEST).is_file() and not (path.is_dir() and not any(path.iterdir())):
        raise ModelError(f"{path}: exists and is not a model; nothing was written: choose another folder")
    if path.exists() and not overwrite:
        raise ModelError(f"{path}: there is a model already; nothing was written: choose another folder")
    return path


def save_method(method: Method, path: str | Path, *, overwrite: bool = True) -> None:
    """Write the model folder. An existing model is replaced (unless told not to); anything else there is left alone."""
    path = check_destination(path, overwrite=overwrite)
    try:
        with replaced(path) as fresh:
            fresh.mkdir()
            _write(method, fresh)
    except OSError as error:
        raise ModelError(
            f"{path}: cannot be written ({error.strerror or error}); nothing was changed: make room or choose a folder "
            "you may write to"
        ) from None


def load(path: str | Path) -> Method:
    """The fitted method in a model folder; a damaged or newer one is refused with what to do."""
    path = Path(path)
    manifest = read_manifest(path)
    _verify(path, manifest)
    try:
        method = config.build(method_class(manifest["method"]), manifest["config"])
        labels = LabelSet.of(
            Label(**{**entry, "alternatives": tuple(entry["alternatives"]), "parents": tuple(entry["parents"])})
            for entry in _read_json(path / "labels.json")
        )
        return method.restore(labels, _read_state(path, manifest))
    except (KeyError, TypeError, ValueError, ConfigError) as error:
        raise ModelError(f"{path}: the model's files do not fit together ({error}); fit it again") from error


def read_manifest(path: str | Path) -> dict[str, Any]:
    """The manifest alone: cheap, and enough to say what a model is."""
    path = Path(path)
    if not (path / MANIFEST).is_file():
        raise ModelError(f"{path}: is not a model folder (no {MANIFEST}); make one with: everylabel fit DATA -o {path}")
    manifest = _read_json(path / MANIFEST)
    if not isinstance(manifest, dict) or not isinstance(manifest.get("format"), int):
        raise ModelError(f"{path / MANIFEST}: is damaged (parts are missing); restore it from a copy, or fit again")
    if manifest["format"] > FORMAT:  # before anything else: a newer format may have other parts
        raise ModelError(
            f"{path}: written by everylabel {manifest.get('everylabel')} (model format {manifest['format']}), this is "
            f"{__version__} (format {FORMAT}); upgrade: pip install --upgrade everylabel"
        )
    if manifest.pop("sha256", None) != _digest_of(manifest):
        raise ModelError(f"{path / MANIFEST}: is damaged (its checksum differs); restore it from a copy, or fit again")
    return manifest


def _write(method: Method, folder: Path) -> None:
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    plain: dict[str, Any] = {}
    for key, value in method.state().items():
        if issparse(value):
            arrays.update({f"{key}.{part}": np.asarray(getattr(value, part)) for part in _CSR_PARTS})
        elif isinstance(value, np.ndarray):
            arrays[key] = value
        elif (kind := getattr(value, "kind", None)) in INDEX_KINDS:
            value.save(folder / f"{quote(key, safe='')}.{kind}")  # quoted: a key may hold a slash, a file name may not
        else:
            plain[key] = value
    np.savez(folder / "arrays.npz", **arrays)  # type: ignore[arg-type]
    _write_json(folder / "state.json", plain)
    _write_json(folder / "labels.json", [asdict(label) for label in method.labels_.labels])
    files = {file.name: {"sha256": _digest(file), "bytes": file.stat().st_size} for file in sorted(folder.iterdir())}
    manifest = {
        "format": FORMAT,
        "everylabel": __version__,
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
        "method": method.name,
        "config": config.to_dict(method),
        "n_labels": len(method.labels_),
        "n_train": method.n_train_,
        "files": files,
    }
    _write_json(folder / MANIFEST, manifest | {"sha256": _digest_of(manifest)})


def _verify(path: Path, manifest: dict[str, Any]) -> None:
    missing = {"arrays.npz", "state.json", "labels.json"} - set(manifest["files"])
    if missing:
        raise ModelError(
            f"{path / MANIFEST}: lists no {', '.join(sorted(missing))}; the model is incomplete: fit again"
        )
    for name, expected in manifest["files"].items():
        file = path / name
        if Path(name).name != name or not file.is_file():
            raise ModelError(f"{file}: is missing; the model is incomplete: restore it from a copy, or fit again")
        if _digest(file) != expected["sha256"]:
            raise ModelError(f"{file}: is damaged (its checksum differs); restore it from a copy, or fit again")


def _read_state(path: Path, manifest: dict[str, Any]) -> State:
    state: State = dict(_read_json(path / "state.json"))
    for name in manifest["files"]:
        key, _, kind = name.rpartition(".")
        if kind in INDEX_KINDS:
            state[unquote(key)] = load_index(kind, path / name)
    with np.load(path / "arrays.npz", allow_pickle=False) as arrays:
        for key in arrays.files:
            name, _, part = key.rpartition(".")
            if part not in _CSR_PARTS:
                state[key] = arrays[key]
            elif part == "data":
                data, indices, indptr, shape = (arrays[f"{name}.{p}"] for p in _CSR_PARTS)
                matrix = csr_matrix(tuple(shape), dtype=data.dtype)  # filled in by hand: the constructor would copy
                matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
                state[name] = matrix
    return state


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _digest_of(manifest: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _read_json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise ModelError(f"{file}: is damaged (not JSON); restore it from a copy, or fit again") from None


def _write_json(file: Path, value: Any) -> None:
    file.write_text(json.dumps(value, ensure_ascii=False, indent=None) + "\n", encoding="utf-8")
