"""Where the weights are that an untrained encoder of a model is to be read from: by their content, not by a name.

A model says which encoder it was made with, and its fingerprint. The name is somebody else's word: followed, it would
open any folder of this machine, or download what its writer wants. So what is installed with this library is taken, and
what this machine has fitted with before, which is remembered by its fingerprint; a name only where the user says so.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from everylabel.atomic import replaced
from everylabel.encoders.cache import cache_root
from everylabel.errors import ModelError

BUNDLED = "minilm"  # the weights that are installed with this library
VARIABLE = "EVERYLABEL_ALLOW_DOWNLOAD"


def remember_place(fingerprint: str, folder: Path) -> None:
    """When something is fitted with it. Never an error."""
    with suppress(OSError), replaced(_file_of(fingerprint)) as fresh:
        fresh.write_bytes(os.fsencode(folder.resolve()))


def place_of(name: str, fingerprint: str) -> str:
    """What to load in the place of the encoder that a model names, or an error that says how to allow more."""
    if name == BUNDLED or os.environ.get(VARIABLE, "").strip() not in ("", "0"):
        return name
    with suppress(OSError):
        folder = os.fsdecode(_file_of(fingerprint).read_bytes())
        if Path(folder).is_dir():
            return folder
    raise ModelError(
        f"the model was made with the encoder {name[:99]!r} ({fingerprint[:12]}), and nothing was fitted with it here; "
        f"if you trust the model, allow that this folder is opened, or this name downloaded, with {VARIABLE}=1"
    )


def _file_of(fingerprint: str) -> Path:
    return cache_root() / "encoders" / hashlib.sha256(fingerprint.encode("utf-8", "replace")).hexdigest()[:32]
