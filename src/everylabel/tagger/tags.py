"""What a tagger says of a text, for people: labels with their probability, how often they were used, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from everylabel.data.bands import band_of
from everylabel.data.dataset import Documents, LabelSet
from everylabel.parallel import n_threads
from everylabel.tagger.explain import Evidence
from everylabel.text.views import Views
from everylabel.types import LongArray, Ranking

CHUNK = 256  # documents that are ranked at a time
FEW = 16  # so many are ranked by the experts side by side, more by parts of them side by side


def shares(documents: Documents) -> list[Documents]:
    """Parts that are ranked by themselves, one for each core at least. Of few documents there is one part."""
    return list(documents.slices(_share(len(documents))))


def is_one_share(n_documents: int) -> bool:
    return n_documents <= _share(n_documents)


def _share(n_documents: int) -> int:
    return min(-(-n_documents // n_threads()), CHUNK) if n_documents > FEW else FEW


class Tag(NamedTuple):
    """A label of a document, and why."""

    id: str
    name: str
    probability: float
    band: str
    evidence: list[Evidence]


def described(
    views: Views,
    ranking: Ranking,
    labels: LabelSet,
    counts: LongArray,
    why: Callable[[Views, int], list[Evidence]] | None,
) -> list[list[Tag]]:
    """The labels of a ranking of these texts; `why`: the evidence for one (by its number) in one text, where wanted."""
    rows = [views.taken(np.array([row])) if why else views for row in range(len(views))]
    return [
        [
            Tag(
                labels[label].id,
                labels[label].name,
                score,
                band_of(counts[[label]])[0],
                why(one, label) if why else [],
            )
            for label, score in zip(ids, scores, strict=True)
            if label >= 0
        ]
        for one, ids, scores in zip(rows, ranking.ids.tolist(), ranking.scores.tolist(), strict=True)
    ]
