"""A full fit with a fitted model's settings, on its training data and on what people have decided since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scipy.sparse import csr_matrix, vstack

from everylabel.config import build, to_dict
from everylabel.data.dataset import Dataset, Documents, LabelSet, pairs_from_lists
from everylabel.methods.base import Method
from everylabel.run import QUIET, Run
from everylabel.store import load
from everylabel.workflow.fit import FitResult, fit
from everylabel.workflow.training import TrainingSource


@dataclass(frozen=True, kw_only=True)
class DecidedDocument:
    """One whose labels a person has confirmed."""

    id: str
    text: str
    title: str = ""
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class RefitResult:
    fit: FitResult
    n_decided: int  # documents that were added, or whose labels were replaced
    unknown_labels: int  # of theirs, that are in no vocabulary: left out


def refit(
    model: str | Path,
    source: TrainingSource,
    decided: Sequence[DecidedDocument],
    output: str | Path,
    *,
    note: Mapping[str, Any] | None = None,
    run: Run = QUIET,
) -> RefitResult:
    """Fit anew, with the settings of `model`, and write the new model to `output`, which may be the same folder.

    A document of the data that was decided about (the same id, title or text) has the labels of the decision. Labels
    that the model has and the data have not (they were added later) are in the vocabulary. `note` is kept in a tagger's
    history. Cost: a fit.
    """
    old = load(model)
    method = build(type(old), to_dict(old))
    data = source.read(method, run=run)
    labels = _vocabulary(data.train.labels, old)
    train, unknown = _with_decided(_in(labels, data.train), decided)
    wider = replace(
        data,
        train=train,
        dev=None if data.dev is None else _in(labels, data.dev),
        held_out=None if data.held_out is None else _in(labels, data.held_out),
    )
    done = fit(method, wider, output, note=note, run=run)
    return RefitResult(done, len(decided), unknown)


def _vocabulary(labels: LabelSet, old: Method) -> LabelSet:
    """The data's, then those that the model got later; not what was removed from it."""
    here, gone = labels.index, old.hidden_
    later = [label for at, label in enumerate(old.labels_.labels) if label.id not in here and not gone[at]]
    return LabelSet.of([*labels.labels, *later]) if later else labels


def _in(labels: LabelSet, dataset: Dataset) -> Dataset:
    if labels is dataset.labels:
        return dataset
    pairs = dataset.pairs
    if pairs is not None:
        pairs = csr_matrix((pairs.data, pairs.indices, pairs.indptr), shape=(pairs.shape[0], len(labels)))
    return replace(dataset, labels=labels, pairs=pairs)


def _with_decided(train: Dataset, decided: Sequence[DecidedDocument]) -> tuple[Dataset, int]:
    """The documents, those that were decided about last."""
    if not decided:
        return train, 0
    labels, documents = train.labels, train.documents
    ids, texts = {one.id for one in decided}, {(one.title, one.text) for one in decided}
    names = zip(documents.ids, documents.titles, documents.texts, strict=True)
    kept = [at for at, (own, title, text) in enumerate(names) if own not in ids and (title, text) not in texts]
    rest = train.subset(kept)
    known = [[labels.index[label] for label in one.labels if label in labels.index] for one in decided]
    unknown = sum(len(one.labels) for one in decided) - sum(map(len, known))
    joined = Documents(
        ids=[*rest.documents.ids, *(one.id for one in decided)],
        texts=[*rest.documents.texts, *(one.text for one in decided)],
        titles=[*rest.documents.titles, *(one.title for one in decided)],
    )
    of_decided = pairs_from_lists(known, len(labels))
    pairs = of_decided if rest.pairs is None or not len(rest) else csr_matrix(vstack([rest.pairs, of_decided]))
    if rest.pairs is None and len(rest):  # no labelled pair so far
        pairs = csr_matrix(vstack([csr_matrix((len(rest), len(labels)), dtype=pairs.dtype), of_decided]))
    return Dataset(joined, labels, pairs, name=train.name), unknown
