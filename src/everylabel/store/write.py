"""Saving: a model folder is written beside its place and put there whole."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from everylabel import __version__, config
from everylabel.atomic import replaced
from everylabel.errors import ModelError
from everylabel.store.arrays import ArrayWriter
from everylabel.store.known import mark_of, remember
from everylabel.store.manifest import FORMAT, MANIFEST, PLAIN, about, read_manifest, write_json, write_manifest
from everylabel.store.values import entries_of

if TYPE_CHECKING:
    from everylabel.methods.base import Method


def check_destination(path: str | Path, *, overwrite: bool = True) -> Path:
    """The resolved folder to save to, or an error: worth asking before a long fit, not only after it."""
    path = Path(path).resolve()  # through a link: the link stays, what it points to is replaced
    if path.exists() and not (path / MANIFEST).is_file() and not (path.is_dir() and not any(path.iterdir())):
        raise ModelError(f"{path}: exists and is not a model; nothing was written: choose another folder")
    if path.exists() and not overwrite:
        raise ModelError(f"{path}: there is a model already; nothing was written: choose another folder")
    return path


def save_method(method: Method, path: str | Path, *, overwrite: bool = True) -> None:
    """Write the model folder. An existing model is replaced (unless told not to); anything else there is left alone.

    One pass over the bytes and a sha256 of them; memory: copies of those arrays only that have gaps.
    """
    path = check_destination(path, overwrite=overwrite)
    try:
        with replaced(path) as fresh:
            fresh.mkdir()
            _write(method, fresh)
            remember(mark_of(fresh, read_manifest(fresh)))
    except OSError as error:
        raise ModelError(
            f"{path}: cannot be written ({error.strerror or error}); nothing was changed: make room or choose a folder "
            "you may write to"
        ) from None


def _write(method: Method, folder: Path) -> None:
    writer = ArrayWriter(folder)
    labels, _ = entries_of(method.labels_.state(), writer, folder)
    state, plain = entries_of(method.state(), writer, folder)
    writer.finish()
    write_json(folder / PLAIN, plain)
    manifest = {
        "format": FORMAT,
        "everylabel": __version__,
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
        "method": method.name,
        "config": config.to_dict(method),
        "n_labels": len(method.labels_),
        "n_train": method.n_train_,
        "files": {PLAIN: about(folder / PLAIN), **writer.files},
        "arrays": writer.arrays,
        "labels": labels,
        "state": state,
    }
    write_manifest(folder, manifest)
