"""`everylabel fit`: learn from labelled documents and write a model."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from everylabel.cli.guard import guarded
from everylabel.cli.options import (
    DEFAULT_METHOD,
    Budget,
    Config,
    Data,
    NoPairs,
    OnBadRow,
    Quiet,
    Settings,
    Split,
)
from everylabel.cli.output import note
from everylabel.cli.progress import progress, spoken_seconds
from everylabel.cli.settings import configured, is_tagger
from everylabel.cli.training import few_shot, has_pairs, load_training, with_dev

if TYPE_CHECKING:
    from everylabel.data import Dataset
    from everylabel.methods.base import Method


@guarded
def fit(
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Folder to write the model to.")],
    method: Annotated[
        str | None,
        typer.Option("--method", "-m", metavar="NAME", help=f"A method. [default: {DEFAULT_METHOD}]"),
    ] = None,
    budget: Budget = None,
    config: Config = None,
    settings: Settings = None,
    split: Split = "train",
    no_pairs: NoPairs = False,
    label_share: Annotated[
        float | None,
        typer.Option("--label-share", metavar="X", help="Few-shot: the pairs of a random share of the labels only."),
    ] = None,
    pair_share: Annotated[
        float | None, typer.Option("--pair-share", metavar="X", help="Few-shot: a random share of all pairs only.")
    ] = None,
    on_bad_row: OnBadRow = "error",
    curves: Annotated[
        Path | None,
        typer.Option("--curves", metavar="FOLDER", file_okay=False, help="Write the loss curves there, as JSON lines."),
    ] = None,
    no_calibrate: Annotated[
        bool, typer.Option("--no-calibrate", help="Leave the scores as they are, also if there is a dev split.")
    ] = False,
    calibrate_share: Annotated[
        float | None,
        typer.Option(
            "--calibrate-share",
            metavar="X",
            help="Hold out a random share of the documents to calibrate on, instead of the dev split.",
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Fit a method on the training documents and write the model.

    Without --method it is the tagger: several methods that are chosen for the data (see `everylabel plan`) and blended.
    Without labelled documents, or without any documents, labels are found by their texts. A training that is
    interrupted goes on where it was when the same command is given again. If the data have a dev split with labels,
    the tagger blends on it where it is large enough, and scores are calibrated on it: they become probabilities.

    Example: everylabel fit DATA --budget 30m -o MODEL
    """
    from everylabel.cli.calibrating import calibrate, held_out
    from everylabel.store import check_destination
    from everylabel.train.checkpoint import checkpointing

    if no_calibrate and calibrate_share is not None:
        raise typer.BadParameter("contradicts --no-calibrate: give one of them", param_hint="--calibrate-share")
    model = configured(method, config, settings, budget)  # a typo is found before the data are read
    destination = check_destination(output)
    started = time.perf_counter()
    training = destination.with_name(f".{destination.name}.training")
    with _removed_when_done(training), progress(quiet):
        dataset = few_shot(load_training(data, split, on_bad_row, no_pairs, quiet), label_share, pair_share)
        dev = for_scores = None
        if is_tagger(model):
            dataset, dev = with_dev(dataset, data, split, on_bad_row, no_pairs, calibrate_share)
        elif has_pairs(dataset) and not no_calibrate:
            dataset, for_scores = held_out(dataset, data, split, calibrate_share, on_bad_row)
        with checkpointing(training, lambda: _fingerprint(model, dataset, dev), curves) as checkpoints:
            _fit(model, dataset, dev, no_calibrate)
        calibration = calibrate(model, for_scores) if for_scores is not None else ""
        model.save(output)
        trained = bool(checkpoints.curves)  # asked here: the curves' folder is gone once the model is written
    if curves is not None and not trained:
        note(f"{model.name} has no training steps, so there are no loss curves to write to {curves}")
    if not quiet:
        n_seen = int((model.counts_ > 0).sum())
        note(
            f"fitted {model.name} on {len(dataset):,} documents with {n_seen:,} of {len(dataset.labels):,} labels "
            f"in {spoken_seconds(time.perf_counter() - started)}; wrote {output}"
        )
        if is_tagger(model):
            state = "not calibrated" if model.calibration_ is None else "calibrated"
            note(f"its experts: {', '.join(model.experts_)}; its scores are {state}")
        if calibration:
            note(calibration)


def _fit(model: Method, dataset: Dataset, dev: Dataset | None, no_calibrate: bool) -> None:
    """A tagger calibrates itself: without calibration it is the same blend."""
    if not is_tagger(model):
        model.fit(dataset)
        return
    model.fit(dataset, dev)
    if no_calibrate:
        model.calibration_ = None


@contextmanager
def _removed_when_done(training: Path) -> Iterator[None]:
    """The folder of checkpoints: gone once the model is written, and until then the user is told what it is for."""
    try:
        yield
    except KeyboardInterrupt:
        if any(training.glob("*.safetensors")):
            note(f"the training so far is kept in {training}; the same command goes on from there")
        raise
    shutil.rmtree(training, ignore_errors=True)


def _fingerprint(model: Method, dataset: Dataset, dev: Dataset | None) -> str:
    """Hash of all that decides what is learned: version, method, settings, data. One pass over the texts."""
    from everylabel import __version__
    from everylabel.config import to_dict

    digest = hashlib.sha256(json.dumps([__version__, model.name, to_dict(model)]).encode())
    for part in (dataset, dev):
        if part is not None:
            _add_data(digest, part)
    return digest.hexdigest()


def _add_data(digest: Any, dataset: Dataset) -> None:
    import numpy as np

    documents = dataset.documents
    for texts in (documents.ids, documents.titles, documents.texts, map(repr, dataset.labels.labels)):
        for text in texts:
            encoded = text.encode("utf-8", "surrogatepass")
            digest.update(b"%d:%b" % (len(encoded), encoded))  # with its length: "ab", "c" is not "a", "bc"
        digest.update(b";")
    for matrix in (documents.features, dataset.pairs):
        for part in ("indptr", "indices", "data") if matrix is not None else ():
            digest.update(np.ascontiguousarray(getattr(matrix, part)).tobytes())
        digest.update(b";")
