"""How the benchmarks fit: watched by a reporter, and going on where an interrupted fit stopped."""

from __future__ import annotations

import copy
import json
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

from benchmarks.run.watch import Aloud, Watch, size_mb

if TYPE_CHECKING:
    from everylabel.data import Dataset
    from everylabel.methods.base import Method
    from everylabel.run import Reporter

M = TypeVar("M", bound="Method")
Trained = dict[str, dict[str, float]]


def fit(
    method: Any, train: Dataset, reporter: Reporter, *, dev: Dataset | None = None, keep: Path | None = None
) -> Trained:
    """Fits; the steps and seconds of each training in it, if there is a folder to `keep` checkpoints in."""
    from everylabel.run import Run
    from everylabel.train.checkpoint import checkpointing

    given = (train,) if dev is None else (train, dev)
    if keep is None:
        method.fit(*given, run=Run(reporter))
        return {}
    # jobs are the same with and without `refit`, and in any time
    of_jobs = replace(method, refit=False, budget="") if hasattr(method, "refit") else method
    with checkpointing(keep, repr(of_jobs), say=reporter.say) as checkpoints:
        method.fit(*given, run=Run(reporter, checkpoints))
        lasts = {curve.stem: json.loads(curve.read_text().splitlines()[-1]) for curve in checkpoints.curves}
    return {stage: {"steps": last["step"], "seconds": last["seconds"]} for stage, last in lasts.items()}


def fit_by_the_clock(tagger: Any, train: Dataset, dev: Dataset | None, keep: Path) -> dict[str, Any]:
    """Said aloud, with checkpoints in `keep`; seconds by the clock, none if it went on from what an interrupted run had
    fitted."""
    fresh, begun = not keep.exists(), time.perf_counter()
    fit(tagger, train, Aloud(), dev=dev, keep=keep)
    return {"wall_seconds": round(time.perf_counter() - begun, 1) if fresh else None}


def saved_and_loaded(method: Method, watch: Watch) -> tuple[Method, float]:
    """As a user has it: read from a folder; and the folder's size in MB."""
    import everylabel

    with TemporaryDirectory() as temporary:
        model = Path(temporary) / "model"
        with watch("save"):
            method.save(model)
        model_mb = size_mb(model)
        with watch("load"):
            return everylabel.load(model), model_mb


def with_changes(fitted: M, changes: dict[str, Any]) -> M:
    """The same fitted method with other settings of ranking: what was learned is shared."""
    other = copy.copy(fitted.model_)
    for name, value in changes.items():
        setattr(other, name, value)
    return other
