"""Jobs that are done are kept while a tagger is being fitted, so that an interrupted fit goes on with them.

In the folder of the run's checkpoints, if it has one: a fitted expert as a model folder, and beside it what it said of
the rehearsals' documents. An entry belongs to an identity (data, settings, seed); one of another identity is ignored.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from everylabel.atomic import replaced
from everylabel.errors import EverylabelError
from everylabel.run import Run
from everylabel.store import load, save_method
from everylabel.types import Ranking

if TYPE_CHECKING:
    from everylabel.methods.base import Method


RankingsByRehearsal = dict[int, dict[str, Ranking]]


class FittedJob(NamedTuple):
    """What a job gives: of a whole fit the expert; and what it said of the rehearsals that it answers for."""

    expert: Method | None
    rankings: RankingsByRehearsal
    seconds: float
    from_cache: bool = False


def read(label: str, about: dict[str, Any], run: Run) -> FittedJob | None:
    """None where there is none, of other data or settings, or damaged: then the job is done again."""
    if run.checkpoints is None or not (folder := _folder(run.checkpoints.folder, label)).is_dir():
        return None
    try:
        with (folder / "rankings.npz").open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            if str(arrays["identity"]) != run.checkpoints.identity({"job": label, **about}):
                return None
            names = json.loads(str(arrays["names"]))
            rankings = {
                int(number): {
                    name: Ranking(*(arrays[f"{number}/{name}/{part}"] for part in Ranking._fields)) for name in own
                }
                for number, own in names.items()
            }
            seconds = float(arrays["seconds"])
        model = folder / "model"
        found = FittedJob(load(model) if model.is_dir() else None, rankings, seconds, from_cache=True)
    except (OSError, EOFError, KeyError, TypeError, ValueError, BadZipFile, EverylabelError) as error:
        run.say(f"{label}: what was kept of it is damaged ({error}); it is fitted again")
        return None
    run.say(f"{label}: fitted before the interruption")
    return found


def write(label: str, about: dict[str, Any], fitted: FittedJob, run: Run) -> None:
    """A full disk is said, and the fit goes on."""
    if run.checkpoints is None:
        return
    names = {number: list(rankings) for number, rankings in fitted.rankings.items()}
    arrays: dict[str, Any] = {"identity": np.array(run.checkpoints.identity({"job": label, **about}))}
    arrays |= {"names": np.array(json.dumps(names)), "seconds": np.array(fitted.seconds)}
    for number, rankings in fitted.rankings.items():
        for name, ranking in rankings.items():
            arrays |= {f"{number}/{name}/{part}": getattr(ranking, part) for part in Ranking._fields}
    try:
        with replaced(_folder(run.checkpoints.folder, label)) as fresh:
            fresh.mkdir(parents=True)
            np.savez(fresh / "rankings.npz", **arrays)
            if fitted.expert is not None:
                save_method(fitted.expert.model_, fresh / "model")
    except (OSError, EverylabelError) as error:
        run.say(f"{label}: cannot be kept for a later run ({error})")


def _folder(folder: Path, label: str) -> Path:
    return folder / f"job-{label}"
