"""A fitted model inside a pickle: the files of a model folder, by name, which loading checks as any from elsewhere.

A pickle itself can run anything; but one of ours says nothing beyond plain values and bytes about the model, is read by
a later version as a folder is, and one that is damaged is an error with what to do.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

from everylabel.errors import ModelError
from everylabel.methods.base import Method
from everylabel.registry import METHODS
from everylabel.store import load, save_method
from everylabel.store.manifest import MANIFEST, is_file_of_model


def packed(model: Method) -> Any:
    """One copy of the model's bytes. A method that is not registered could not be loaded: it stays as it is."""
    if model.name not in METHODS:
        return model
    with tempfile.TemporaryDirectory(prefix="everylabel-") as folder:
        place = Path(folder) / "model"
        save_method(model.model_, place)
        files = [file for file in place.rglob("*") if file.is_file()]
        return {file.relative_to(place).as_posix(): file.read_bytes() for file in files}


def unpacked(state: Any) -> Method:
    """The files are mapped, and stay as long as the model does."""
    if isinstance(state, Method):
        return state
    folder = Path(tempfile.mkdtemp(prefix="everylabel-"))
    try:
        for name, content in dict(state).items():
            if name != MANIFEST and not is_file_of_model(name):
                continue  # its card, and nothing that could leave the folder
            file = folder / "model" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        model = load(folder / "model")
    except (ModelError, TypeError, ValueError):
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(model.model_, shutil.rmtree, folder, ignore_errors=True)
    return model
