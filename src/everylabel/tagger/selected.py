"""The best of some labels, with the probabilities that they have among all: `only`, schemes, branches of a vocabulary.

What experts say of a label, its rank above all, is said among all labels; a tagger that hid the others from its experts
would give higher probabilities. So experts are asked as always, and of what they rank the best selected labels are
candidates besides the usual ones. Where that gives a document too few (fifty labels of four thousand are seldom among
the best 600), the experts are asked for the best selected ones, however deep these stand. Of such a label it is known
that no expert has it among those that count: it is no more probable than any that one has, and those who were asked
say in which order they come.
Cost: that of a ranking; of documents with too few labels one more, as deep as it takes (`rank_visible`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from everylabel.methods.base import Method
from everylabel.metrics.ranking import restrict
from everylabel.tagger.blend import TIES, Blend
from everylabel.tagger.candidates import BEST, CandidateTable, found_in
from everylabel.tagger.experts import opinion, opinions
from everylabel.text.views import Views
from everylabel.types import BoolArray, FloatArray, Ranking

if TYPE_CHECKING:
    from everylabel.tagger.tagger import Tagger

MOST_DUG = 100  # labels of a document that experts are asked for, where there are too few
Doubles = NDArray[np.float64]


def rank_selected(tagger: Tagger, views: Views, blend: Blend, wanted: BoolArray, k: int) -> Ranking:
    """The k best labels of a mask."""
    experts, counts = tagger.experts_, tagger.fitted_counts_
    found = opinions(experts, views, tagger.prior_, titles=blend.trees is not None)
    near = np.concatenate([restrict(ranking, wanted, BEST).ids for ranking in found.values()], axis=1)
    table = tagger.tabulated(found, near)
    ranking = table.ranking(_only(wanted, table, blend.scores(table, counts)), k)
    enough = min(k, int(wanted.sum()), MOST_DUG)
    short = np.flatnonzero((ranking.ids[:, :enough] < 0).any(axis=1))
    if not len(short):
        return ranking
    dug = _dug(experts, views.taken(short), wanted, enough)
    part = {name: Ranking(one.ids[short], one.scores[short]) for name, one in found.items()}
    table = tagger.tabulated(part, np.concatenate([near[short], *(one.ids for one in dug)], axis=1))
    margins = _levelled(table, blend.margins(table), part, dug)
    deeper = table.ranking(_only(wanted, table, blend.scores_of(margins, counts[table.labels])), k)
    ranking.ids[short], ranking.scores[short] = deeper.ids, deeper.scores
    return ranking


def _only(wanted: BoolArray, table: CandidateTable, scores: FloatArray) -> FloatArray:
    """-inf for all other labels: in a ranking that is padding."""
    return np.where(wanted[table.labels], scores, -np.inf).astype(np.float32)


def _dug(experts: Mapping[str, Method], views: Views, wanted: BoolArray, depth: int) -> list[Ranking]:
    """Each expert's best of these labels."""
    found = []
    for expert in experts.values():
        known = wanted[: len(expert.labels_)]
        found.append(opinion(expert.selecting(known), views, depth).top(depth))
    return found


def _levelled(table: CandidateTable, margins: Doubles, found: Mapping[str, Ranking], dug: list[Ranking]) -> Doubles:
    """The margins, of labels that no expert ranks at most those of labels that one does, and in the experts' order."""
    ranked = np.zeros(len(table.labels), np.bool_)
    for ranking in found.values():
        ranked |= found_in(ranking, table.documents, table.labels)[2]
    lowest = np.full(table.n_documents, np.inf)
    np.minimum.at(lowest, table.documents[ranked], margins[ranked])
    places = np.zeros(len(table.labels))
    for ranking in dug:
        _, at, there = found_in(ranking, table.documents, table.labels)
        places += np.log1p(np.where(there, at, ranking.k)) / len(dug)
    return np.where(ranked, margins, np.minimum(margins, lowest[table.documents]) - TIES * places)
