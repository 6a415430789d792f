"""Learn from labelled documents and write a model; an interrupted fit goes on where it was."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from everylabel import __version__
from everylabel.atomic import check_writable
from everylabel.config import to_dict
from everylabel.data.columns import TextColumn
from everylabel.data.dataset import Dataset
from everylabel.errors import ConfigError
from everylabel.methods.base import Method
from everylabel.parallel import is_first_process, n_processes
from everylabel.run import QUIET, Run
from everylabel.store import check_destination
from everylabel.train.checkpoint import checkpointing
from everylabel.workflow.calibrate import Calibrated, calibrate
from everylabel.workflow.settings import is_tagger, takes_dev
from everylabel.workflow.training import TrainingData, TrainingSource

if TYPE_CHECKING:
    from everylabel.tagger.plan import Plan
    from everylabel.tagger.tagger import Tagger


@dataclass(frozen=True)
class FitResult:
    """A fitted method, and what it took."""

    method: Method
    n_docs: int
    n_labels: int
    n_seen: int  # labels with training documents
    seconds: float
    trained: bool  # whether there were training steps, and so loss curves
    calibration: Calibrated | None = None  # of a method other than a tagger, which calibrates itself


def fit(
    method: Method,
    source: TrainingSource | TrainingData,
    output: str | Path | None = None,
    *,
    calibrated: bool = True,
    curves: Path | None = None,
    note: Mapping[str, Any] | None = None,
    run: Run = QUIET,
) -> FitResult:
    """Fit a method whose settings are checked, and write it to the folder `output`, if there is one.

    With an output the training so far is kept beside it until the model is written: see `kept_training`. Loss curves
    are copied to the folder `curves`. Without `calibrated` scores stay as they come. Of several processes (torchrun)
    the first one calibrates and writes. `note`: what a tagger's history says of a full fit with decisions (refit.py).
    """
    started = time.perf_counter()
    if n_processes() > 1 and is_tagger(method):  # its clock could decide differently in each of them
        raise ConfigError("several processes fit one method together, and no tagger: give one with --method")
    destination = None if output is None else check_destination(output)  # before any work
    if curves is not None:
        check_writable(curves / "training.jsonl")
    data = source if isinstance(source, TrainingData) else source.read(method, calibrated=calibrated, run=run)
    with _keeping(destination, method, data, curves, run) as keeping:
        if takes_dev(method):
            method.fit(data.train, data.dev, run=keeping)
        else:
            method.fit(data.train, run=keeping)
        trained = keeping.checkpoints is not None and bool(keeping.checkpoints.curves)
    if not calibrated:
        method = method.with_calibration(None)  # a tagger has calibrated itself: without, it is the same blend
    done = None
    if calibrated and data.held_out is not None and is_first_process():
        done = calibrate(method, data.held_out, run=run)
    if note is not None and is_tagger(method):
        method = method.noted("refitted", **note)
    if output is not None and is_first_process():  # of several all have learned the same
        method.save(output)
    if destination is not None and is_first_process():
        shutil.rmtree(_training_folder(destination), ignore_errors=True)
    n_seen = int((method.counts_ > 0).sum())
    seconds = time.perf_counter() - started
    return FitResult(method, len(data.train), len(data.train.labels), n_seen, seconds, trained, done)


def plan(tagger: Tagger, source: TrainingSource | TrainingData, *, run: Run = QUIET) -> Plan:
    """What a fit would do with the data, and why, without doing it."""
    data = source if isinstance(source, TrainingData) else source.read(tagger, run=run)
    return tagger.plan(data.train, data.dev)


def kept_training(output: str | Path) -> Path | None:
    """Where an interrupted fit has left something that the same fit goes on from."""
    folder = _training_folder(Path(output).resolve())
    return folder if any(folder.rglob("*.safetensors")) else None


def _training_folder(destination: Path) -> Path:
    return destination.with_name(f".{destination.name}.training")


@contextmanager
def _keeping(
    destination: Path | None, method: Method, data: TrainingData, curves: Path | None, run: Run
) -> Iterator[Run]:
    """The run with a place for checkpoints."""
    if destination is None:
        yield run
        return
    folder = _training_folder(destination)
    with checkpointing(folder, lambda: _fingerprint(method, data), curves, run.say) as checkpoints:
        yield replace(run, checkpoints=checkpoints)


def _fingerprint(method: Method, data: TrainingData) -> str:
    """Hash of all that decides what is learned: version, method, settings, data. One pass over the texts."""
    digest = hashlib.sha256(json.dumps([__version__, method.name, to_dict(method)]).encode())
    for part in (data.train, data.dev):
        if part is not None:
            _add_data(digest, part)
    return digest.hexdigest()


def _add_data(digest: Any, dataset: Dataset) -> None:
    documents = dataset.documents
    for texts in (documents.ids, documents.titles, documents.texts):
        for text in texts:
            encoded = text.encode("utf-8", "surrogatepass")
            digest.update(b"%d:%b" % (len(encoded), encoded))  # with its length: "ab", "c" is not "a", "bc"
        digest.update(b";")
    for column in dataset.labels.state().values():
        for array in column.whole() if isinstance(column, TextColumn) else (column,):
            digest.update(np.ascontiguousarray(array).tobytes())
    for matrix in (documents.features, dataset.pairs):
        for part in ("indptr", "indices", "data") if matrix is not None else ():
            digest.update(np.ascontiguousarray(getattr(matrix, part)).tobytes())
        digest.update(b";")
