"""Saving: a model folder is written beside its place and put there whole."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from everylabel import __version__, config
from everylabel.atomic import check_replaceable, replaced
from everylabel.errors import ModelError
from everylabel.leftovers import come_back
from everylabel.store.arrays import ArrayWriter
from everylabel.store.card import CARD, card_of, is_free, write_card
from everylabel.store.known import knows, mark_of, remember
from everylabel.store.lock import locked_to_save
from everylabel.store.manifest import FORMAT, PLAIN, about, read_manifest, write_json, write_manifest
from everylabel.store.ours import is_model, names_in
from everylabel.store.values import entries_of

if TYPE_CHECKING:
    from everylabel.methods.base import Method


def check_destination(path: str | Path, *, overwrite: bool = True) -> Path:
    """The folder to save to, through links, or an error: worth asking before a long fit, not only after it.

    A model of ours may be replaced, also one that is damaged or of another version; an empty folder, too. Whether we
    may write there is known by trying, which leaves no trace.
    """
    path = _ours(path, overwrite)
    try:
        check_replaceable(path, names_in(path))
    except OSError as error:
        raise _unwritable(error, path) from None
    return path


def save_method(method: Method, path: str | Path, *, overwrite: bool = True, like: Path | None = None) -> None:
    """Write the model folder. An existing model is replaced (unless told not to); anything else there is left alone.
    `like`: a model folder to share files with, see `ArrayWriter`; of one that is not known nothing is taken.

    What others have put into the folder of a model (`.git`, a README) is in the new one, too: see `foreign.py`; without
    a README of theirs there is a card of ours (card.py). Waits for those who have the folder `locked`. One pass over
    the bytes and a sha256 of them; memory: copies of those arrays only that have gaps.
    """
    with replacing(path, overwrite=overwrite) as (fresh, place):
        _write(method, fresh, like if like is not None and knows(like) else None)
        remember(mark_of(fresh, read_manifest(fresh)))
        if is_free(place / CARD):
            write_card(fresh / CARD, card_of(method, place / CARD))


@contextmanager
def replacing(path: str | Path, *, overwrite: bool = True) -> Iterator[tuple[Path, Path]]:
    """An empty folder for the files of a model, which takes its place at the end, and that place, through links."""
    path = _ours(path, overwrite)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked_to_save(path), replaced(_ours(path, overwrite), names_in(path)) as fresh:
            fresh.mkdir()
            yield fresh, path
    except OSError as error:
        raise _unwritable(error, path) from None


def _ours(path: str | Path, overwrite: bool) -> Path:
    """The folder, if it is ours to replace."""
    path = Path(os.path.realpath(path))
    come_back(path)
    try:
        if not path.exists() or (path.is_dir() and not any(path.iterdir())):
            return path
        if not is_model(path):
            raise ModelError(f"{path}: exists and is not a model; nothing was written: choose another folder")
    except OSError as error:
        raise _unwritable(error, path) from None
    if not overwrite:
        raise ModelError(f"{path}: there is a model already; nothing was written: choose another folder")
    return path


def _unwritable(error: OSError, path: Path) -> ModelError:
    named = Path(str(error.filename or path))
    where = named if named.is_relative_to(path) else path  # what stands in the way, not what we tried to write
    return ModelError(
        f"{where}: cannot be written ({error.strerror or error}); nothing was changed: make room or choose a folder "
        "you may write to"
    )


def _write(method: Method, folder: Path, like: Path | None) -> None:
    writer = ArrayWriter(folder, like)
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
