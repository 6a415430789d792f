"""New labelled documents for a fitted tagger: read, measured before they are learned, and when a full fit is due."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from everylabel.data.dataset import Dataset, Documents, LabelSet, pairs_from_lists
from everylabel.data.given import kind_of, text_of_field, texts_of
from everylabel.errors import DataError
from everylabel.methods.vocabulary import Hidden
from everylabel.metrics.ranking import find_hits, ndcg
from everylabel.tagger.rehearsal import in_vocabulary
from everylabel.types import Csr, LongArray, Ranking

MOST_LEARNED = 0.1  # of the training documents: more are worth a full fit
MOST_NEW_LABELS = 0.05  # of the labels with training documents


class Learned(NamedTuple):
    """What a quick update did."""

    documents: int
    pairs: int
    new_labels: int  # that had no document before
    ndcg5: float  # of the new documents before they were learned: how good the tagger is on what comes in
    refit_due: str  # why a full fit is worth it now; "": it is not yet


def as_dataset(labels: LabelSet, hidden: Hidden, pairs: Dataset | Iterable[tuple[str, Sequence[str]]]) -> Dataset:
    """Of a tagger's vocabulary; a label that it has not, or no longer, is an error, and nothing is learned."""
    if isinstance(pairs, Dataset):
        used = {pairs.labels[int(i)].id for i in pairs.counts.nonzero()[0]}
    else:
        pairs = [_pair(i, pair) for i, pair in enumerate(pairs)]
        used = {label for _, own in pairs for label in own}
    unknown = sorted(label for label in used if label not in labels.index or hidden[labels.index[label]])
    if unknown:
        raise DataError(
            f"label {unknown[0]!r} is not in the vocabulary{f', and {len(unknown) - 1} more' if unknown[1:] else ''}; "
            "nothing was learned: add new labels first (add_labels, everylabel labels add)"
        )
    if not used:
        raise DataError("none of these documents has a label, so there is nothing to learn; give labelled documents")
    if isinstance(pairs, Dataset):
        return in_vocabulary(labels, pairs)
    lists = [[labels.index[label] for label in own] for _, own in pairs]
    return Dataset(Documents.of([text for text, _ in pairs]), labels, pairs_from_lists(lists, len(labels)))


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
