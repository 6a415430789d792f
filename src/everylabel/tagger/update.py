"""New labelled documents for a fitted tagger: read, measured, then learned; and when a full fit is due."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

import numpy as np

from everylabel.data.dataset import Dataset, Documents, LabelSet, pairs_from_lists
from everylabel.data.given import kind_of, text_of_field, texts_of
from everylabel.errors import DataError
from everylabel.methods.base import Method
from everylabel.methods.vocabulary import Hidden
from everylabel.methods.words.linear import Svm
from everylabel.methods.words.neighbours import NearestNeighbours
from everylabel.metrics.ranking import find_hits, ndcg
from everylabel.tagger.blending_set import BlendingSet
from everylabel.tagger.explain import beginnings
from everylabel.tagger.judgements import Judgements
from everylabel.tagger.rehearsal import in_vocabulary
from everylabel.text.views import Views
from everylabel.types import Csr, LongArray, Ranking

if TYPE_CHECKING:
    from everylabel.tagger.tagger import Tagger

T = TypeVar("T", bound="Tagger")
Pairs: TypeAlias = Dataset | Iterable[tuple[str, Sequence[str]]]

LEAST_GROWN = 0.05  # of a linear expert's pairs
MOST_SECONDS = 60.0  # as the plan had it, rehearsals and all: an expert that takes longer waits for a full fit
MOST_LEARNED = 0.1  # of the training documents: more are worth a full fit
MOST_NEW_LABELS = 0.05  # of the labels with training documents


class Learned(NamedTuple):
    """What a quick update did."""

    documents: int
    pairs: int
    new_labels: int  # that had no document before
    ndcg5: float  # of the new documents before they were learned: how good the tagger is on what comes in
    refit_due: str  # why a full fit is worth it now; "": it is not yet


def learned(
    old: T, pairs: Pairs, rejected: Sequence[Sequence[str]] = (), complete: Sequence[bool] = ()
) -> tuple[T, Learned]:
    """The next model, and what was learned: see `Tagger.learn`."""
    new = as_dataset(old.labels_, old.hidden_, pairs, rejected)
    judgements = Judgements.of(len(new), old.labels_, rejected, complete)
    views, truth, model = Views(new.documents), new.required_pairs, old._copy()
    if old.blend_ is not None:
        data = BlendingSet.judged(old._table(views), old.fitted_counts_, truth, judgements)
        model.blend_ = old.blend_.learned_from(data)
    if not judgements.complete.all():
        new = new.subset(judgements.complete.nonzero()[0])
        views, truth = Views(new.documents), new.required_pairs
    score, n_first = measured(old.rank(views, 5), truth), int(((new.counts > 0) & (old.counts_ == 0)).sum())
    model.counts_ = old.counts_ + new.counts
    knn = old.experts_.get("knn")
    if isinstance(knn, NearestNeighbours) and len(new):
        neighbours = knn.with_documents(views, truth, old.labels_, model.counts_)
        neighbours, fresh = _fitted_on(neighbours, old)
        if fresh:
            model.fitted_counts_ = np.where(model.counts_ > 0, model.counts_, old.fitted_counts_)
        changed = {"knn": neighbours, **fresh}
        model.experts_ = old.experts_ | {name: expert.hiding(old.hidden_) for name, expert in changed.items()}
        model.training_ = old.training_.extended(new.documents.ids, beginnings(new.documents))
    model.learned_ = old.learned_ + len(new)
    due = refit_due(model.learned_, old.n_train_, int((model.counts_ > 0).sum()), model.fitted_counts_)
    done = Learned(len(judgements.complete), int(truth.nnz), n_first, score, due)
    return model.noted("learned", documents=done.documents, pairs=done.pairs, new_labels=done.new_labels), done


def _fitted_on(neighbours: NearestNeighbours, old: Tagger) -> tuple[NearestNeighbours, dict[str, Method]]:
    """The linear experts anew, on the documents that the neighbours are: those that read alike, take no longer than
    `MOST_SECONDS`, and would know `LEAST_GROWN` more pairs. So a document is fitted on a bounded number of times
    on average, however many are learned one after the other. Before them the neighbours: merged where others are
    fitted anew, which costs more, so that they all read by the same words."""
    seconds = {choice.name: choice.seconds for choice in old.plan_.experts}
    n_pairs, found = neighbours.n_pairs, dict[str, Method]()
    for name, expert in old.experts_.items():
        if not isinstance(expert, Svm) or (expert.tfidf, expert.language) != (neighbours.tfidf, neighbours.language):
            continue
        grown = n_pairs / max(int(expert.counts_.sum()), 1)
        if grown > 1 + LEAST_GROWN and seconds[name] * grown <= MOST_SECONDS:
            neighbours = neighbours.merged()
            known = neighbours.rows, neighbours.pairs_
            found[name] = expert.fitted_on(neighbours.features_, *known, neighbours.labels_, neighbours.counts_)
    return neighbours, found


def as_dataset(labels: LabelSet, hidden: Hidden, pairs: Pairs, rejected: Sequence[Sequence[str]] = ()) -> Dataset:
    """Of a tagger's vocabulary; a label that it has not, or no longer, is an error, and nothing is learned."""
    if isinstance(pairs, Dataset):
        used = {pairs.labels[int(i)].id for i in pairs.counts.nonzero()[0]}
    else:
        pairs = [_pair(i, pair) for i, pair in enumerate(pairs)]
        used = {label for _, own in pairs for label in own}
    unknown = sorted(label for label in used if (at := _place(labels, label)) is None or hidden[at])
    if unknown:
        raise DataError(
            f"label {unknown[0]!r} is not in the vocabulary{f', and {len(unknown) - 1} more' if unknown[1:] else ''}; "
            "nothing was learned: add new labels first (add_labels, everylabel labels add)"
        )
    if not used and not any(rejected):
        raise DataError("none of these documents has a label, so there is nothing to learn; give labelled documents")
    if isinstance(pairs, Dataset):
        return in_vocabulary(labels, pairs)
    lists = [[at for label in own if (at := _place(labels, label)) is not None] for _, own in pairs]
    return Dataset(Documents.of([text for text, _ in pairs]), labels, pairs_from_lists(lists, len(labels)))


def _place(labels: LabelSet, label_id: str) -> int | None:
    """Of the label, or of the one that replaced it."""
    at = labels.index.get(label_id)
    return at if at is None or not labels.deprecated[at] else int(labels.successors[at])


def _pair(i: int, pair: tuple[str, Sequence[str]]) -> tuple[str, list[str]]:
    """One labelled document as it was given, checked."""
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise DataError(f"document {i}: expected (text, list of label ids), got {kind_of(pair)}; nothing was learned")
    return text_of_field(pair[0], f"the text of document {i}"), texts_of(pair[1], "label id", f"document {i}: ")


def measured(ranking: Ranking, truth: Csr) -> float:
    return ndcg(find_hits(ranking, truth), 5).value


def refit_due(n_learned: int, n_train: int, n_seen: int, fitted_counts: LongArray) -> str:
    """A reason in words, or nothing."""
    n_fitted = int((fitted_counts > 0).sum())
    if n_learned > MOST_LEARNED * n_train:
        return f"{n_learned:,} documents were learned since the fit on {n_train:,}: fit again with all of them"
    if n_seen - n_fitted > MOST_NEW_LABELS * n_fitted:
        return f"{n_seen - n_fitted:,} labels got their first documents since the fit: fit again with all of them"
    return ""
