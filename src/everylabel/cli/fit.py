"""`everylabel fit`: learn from labelled documents and write a model."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from everylabel.cli.guard import guarded
from everylabel.cli.options import (
    DEFAULT_METHOD,
    DEFAULT_WITHOUT_PAIRS,
    Config,
    Data,
    OnBadRow,
    Quiet,
    Settings,
    Split,
)
from everylabel.cli.output import note
from everylabel.cli.progress import progress, spoken_seconds
from everylabel.cli.settings import asked_for, configured

if TYPE_CHECKING:
    from everylabel.data import Dataset
    from everylabel.methods.base import Method


@guarded
def fit(
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Folder to write the model to.")],
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            help=f"A method. [default: {DEFAULT_METHOD}; without labelled documents {DEFAULT_WITHOUT_PAIRS}]",
        ),
    ] = None,
    config: Config = None,
    settings: Settings = None,
    split: Split = "train",
    no_pairs: Annotated[bool, typer.Option("--no-pairs", help="Do not look at the documents' labels.")] = False,
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

    Without labelled documents, or without any documents, labels are found by their texts. A training that is
    interrupted goes on where it was when the same command is given again. If the data have a dev split with labels,
    scores are calibrated on it: rankings stay, scores become probabilities.

    Example: everylabel fit DATA --method xr-linear --set leaf_size=200 -o MODEL
    """
    from everylabel.cli.calibrating import calibrate, held_out
    from everylabel.store import check_destination
    from everylabel.train.checkpoint import checkpointing

    if no_calibrate and calibrate_share is not None:
        raise typer.BadParameter("contradicts --no-calibrate: give one of them", param_hint="--calibrate-share")
    if asked_for(method, config, settings)[0]:
        configured(method, config, settings)  # a typo is found before the data are read
    destination = check_destination(output)
    started = time.perf_counter()
    training = destination.with_name(f".{destination.name}.training")
    with _removed_when_done(training), progress(quiet):
        dataset = _few_shot(_load(data, split, on_bad_row, no_pairs, quiet), label_share, pair_share)
        has_pairs = dataset.pairs is not None and dataset.pairs.nnz > 0
        model = configured(method, config, settings, DEFAULT_METHOD if has_pairs else DEFAULT_WITHOUT_PAIRS)
        for_scores = None
        if has_pairs and not no_calibrate:
            dataset, for_scores = held_out(dataset, data, split, calibrate_share, on_bad_row)
        with checkpointing(training, lambda: _fingerprint(model, dataset), curves) as checkpoints:
            model.fit(dataset)
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
        if calibration:
            note(calibration)


def _load(data: Path, split: str, on_bad_row: Literal["error", "skip"], no_pairs: bool, quiet: bool) -> Dataset:
    """The split; the vocabulary alone where there is no split to learn from."""
    from everylabel.data import Dataset, Documents, available_splits, load_dataset, load_labels

    if split == "train" and data.is_dir() and split not in available_splits(data):
        if not quiet:
            note(f"{data} has no training documents: fitting on the vocabulary alone")
        return Dataset(Documents.of([]), load_labels(data), name=str(data))
    dataset = load_dataset(data, split, on_bad_row=on_bad_row)
    return dataset.without_pairs() if no_pairs else dataset


def _few_shot(dataset: Dataset, label_share: float | None, pair_share: float | None) -> Dataset:
    from everylabel.data.splits import keep_label_share, keep_pair_share

    if label_share is not None:
        dataset = keep_label_share(dataset, label_share)[0]
    return dataset if pair_share is None else keep_pair_share(dataset, pair_share)


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


def _fingerprint(model: Method, dataset: Dataset) -> str:
    """Hash of all that decides what is learned: version, method, settings, data. One pass over the texts."""
    import numpy as np

    from everylabel import __version__
    from everylabel.config import to_dict

    digest = hashlib.sha256(json.dumps([__version__, model.name, to_dict(model)]).encode())
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
    return digest.hexdigest()
