"""Documents to look at: where a label of each band was found, and where one was missed, with what spoke for it.

Drawn by a seed in the order of the documents' ids, so that the same model and data show the same documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everylabel.data.bands import BANDS, band_of, in_band
from everylabel.data.dataset import Documents, Label
from everylabel.data.splits import sample_by_id
from everylabel.metrics.ranking import Hits
from everylabel.types import Ranking

K = 5
EACH = 2  # documents with a label found, and as many with one missed, of each band
SHOWN_CHARACTERS = 320
SHORT = 160  # characters of one piece of evidence


class Choice(NamedTuple):
    row: int
    band: str
    found: bool


class Evidence(NamedTuple):
    """As `Tagger.tag` gives it."""

    kind: str
    text: str
    weight: float
    source: str


class Suggestion(NamedTuple):
    name: str
    band: str
    probability: float
    right: bool
    evidence: tuple[Evidence, ...]


class Missed(NamedTuple):
    """A true label below the top k: the rank it had, or None; `known` is whether the model has it at all."""

    name: str
    band: str
    rank: int | None
    known: bool


@dataclass(frozen=True)
class Example:
    document: str  # its id
    title: str
    text: str  # its beginning
    band: str
    found: bool
    focus: tuple[str, ...]  # the labels of the band that are found, or missed
    true: tuple[str, ...]
    suggestions: tuple[Suggestion, ...]
    missed: tuple[Missed, ...]
    new: tuple[Suggestion, ...] = ()  # labels that nobody has used, beside the suggestions


def choose(
    hits: Hits, train_counts: NDArray[np.integer], ids: Sequence[str], *, k: int = K, each: int = EACH, seed: int = 0
) -> list[Choice]:
    """Of each band `each` documents with a label of it in the top k, and `each` with one below; no document twice."""
    chosen: list[Choice] = []
    free = hits.counted.copy()
    for band in BANDS:
        mask = in_band(train_counts, band)
        n_true = np.bincount(hits.true_rows[mask[hits.truth.indices]], minlength=len(free))
        n_found = (hits.hit[:, :k] & mask[hits.ids[:, :k]]).sum(axis=1)
        for found, fits in ((True, n_found > 0), (False, n_found < n_true)):
            rows = np.flatnonzero(fits & free)
            at = rows[sample_by_id([ids[int(row)] for row in rows], None, min(each, len(rows)), seed)]
            free[at] = False
            chosen += [Choice(int(row), band, found) for row in at]
    return chosen


def describe(
    choices: Sequence[Choice],
    documents: Documents,
    ranking: Ranking,
    hits: Hits,
    labels: Sequence[Label],
    train_counts: NDArray[np.integer],
    *,
    n_known: int,
    tags: Sequence[Mapping[str, Any]] | None = None,
    new: Sequence[Sequence[Any]] | None = None,
    k: int = K,
) -> list[Example]:
    """`labels` are those of the truth's columns, of which the model has the first `n_known`.

    `tags` has for each choice the model's own tags by label id; what is used of one is its `evidence`. `new`: tags of
    labels that nobody has used; those that are suggested anyway are left out.
    """
    bands = band_of(train_counts)
    examples = []
    for place, (row, band, found) in enumerate(choices):
        evidence = {} if tags is None else {key: tag.evidence for key, tag in tags[place].items()}
        ranks = {int(label): rank for rank, label in enumerate(ranking.ids[row], 1) if label >= 0}
        true = hits.truth.indices[hits.truth.indptr[row] : hits.truth.indptr[row + 1]].tolist()
        top = [label for label, rank in ranks.items() if rank <= k]
        suggestions = tuple(
            Suggestion(
                labels[label].name,
                bands[label],
                float(ranking.scores[row, ranks[label] - 1]),
                label in true,
                _shortened(evidence.get(labels[label].id, ())),
            )
            for label in top
        )
        known, true_ids = {labels[label].id for label in top}, {labels[label].id for label in true}
        beside = tuple(
            Suggestion(tag.name, tag.band, tag.probability, tag.id in true_ids, _shortened(tag.evidence))
            for tag in (() if new is None else new[place])
            if tag.id not in known
        )
        missed = [
            Missed(labels[label].name, bands[label], ranks.get(label), label < n_known)
            for label in sorted(true, key=lambda label: (ranks.get(label, len(labels) + 1), label))
            if label not in top
        ]
        names = tuple(labels[label].name for label in true)
        focus = tuple(labels[label].name for label in true if bands[label] == band and (label in top) == found)
        about = (documents.ids[row], documents.titles[row], beginning(documents.texts[row]))
        examples.append(Example(*about, band, found, focus, names, suggestions, tuple(missed), beside))
    return examples


def _shortened(evidence: Iterable[Any]) -> tuple[Evidence, ...]:
    return tuple(Evidence(one.kind, beginning(one.text, SHORT), one.weight, one.source) for one in evidence)


def beginning(text: str, size: int = SHOWN_CHARACTERS) -> str:
    """One paragraph, cut after a word where there is one."""
    text = " ".join(text[: 4 * size].split())
    if len(text) <= size:
        return text
    cut = text[:size]
    return (cut.rpartition(" ")[0] or cut) + " ..."
