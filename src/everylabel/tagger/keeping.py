"""Experts that are fitted are kept while a tagger is being fitted, so that an interrupted fit goes on with them.

In the folder of the ambient `checkpointing(...)`, if one is open: each expert as a model folder, and beside it what it
said of the rehearsals' documents. It belongs to an identity (data, settings, seed); one of another identity is ignored.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from everylabel.atomic import replaced
from everylabel.errors import EverylabelError
from everylabel.progress import say
from everylabel.store import load, save_method
from everylabel.train.checkpoint import ambient
from everylabel.types import Ranking

if TYPE_CHECKING:
    from everylabel.methods.base import Method

Said = list[dict[str, Ranking]]


class Kept(NamedTuple):
    """One expert, what it said in each rehearsal, and how long that took."""

    expert: Method
    said: Said
    seconds: float


def read(name: str, about: dict[str, Any]) -> Kept | None:
    """None where there is none, of other data or settings, or damaged: then it is fitted again."""
    checkpoints = ambient()
    if checkpoints is None or not (folder := _folder(checkpoints.folder, name)).is_dir():
        return None
    try:
        with np.load(folder / "said.npz", allow_pickle=False) as arrays:
            if str(arrays["identity"]) != checkpoints.identity({"expert": name, **about}):
                return None
            keys = json.loads(str(arrays["keys"]))
            said = [
                {key: Ranking(arrays[f"{i}/{key}/ids"], arrays[f"{i}/{key}/scores"]) for key in own}
                for i, own in enumerate(keys)
            ]
            seconds = float(arrays["seconds"])
        found = Kept(load(folder / "model"), said, seconds)
    except (OSError, KeyError, ValueError, EverylabelError) as error:
        say(f"{name}: what was kept of it is damaged ({error}); it is fitted again")
        return None
    say(f"{name}: fitted before the interruption")
    return found


def write(name: str, about: dict[str, Any], kept: Kept) -> None:
    """A full disk is said, and the fit goes on."""
    checkpoints = ambient()
    if checkpoints is None:
        return
    arrays: dict[str, Any] = {"identity": np.array(checkpoints.identity({"expert": name, **about}))}
    arrays |= {"keys": np.array(json.dumps([list(found) for found in kept.said])), "seconds": np.array(kept.seconds)}
    for i, found in enumerate(kept.said):
        for key, ranking in found.items():
            arrays |= {f"{i}/{key}/ids": ranking.ids, f"{i}/{key}/scores": ranking.scores}
    try:
        with replaced(_folder(checkpoints.folder, name)) as fresh:
            fresh.mkdir(parents=True)
            np.savez(fresh / "said.npz", **arrays)
            save_method(kept.expert, fresh / "model")
    except (OSError, EverylabelError) as error:
        say(f"{name}: cannot be kept for a later run ({error})")


def _folder(folder: Path, name: str) -> Path:
    return folder / f"expert-{name.replace('+', '-')}"
