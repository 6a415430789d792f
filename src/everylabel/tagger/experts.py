"""The experts of a tagger: methods that are fitted on the same data, and asked about the same documents.

What a rehearsal needs depends on the expert. One that does not look at pairs is the same in the rehearsal. One whose
labels are learned independently of each other needs no second fit for hidden labels: they are taken out of its ranking.
One that learns from label texts what goes with what must be fitted without the hidden labels' pairs.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from everylabel import config
from everylabel.data.dataset import Dataset, Documents
from everylabel.methods.base import Method
from everylabel.methods.words.neighbours import NearestNeighbours
from everylabel.methods.xml0.fusion import Xml0
from everylabel.registry import method_class
from everylabel.types import Ranking

TITLES = "tfidf, title"  # what words say of the title alone: an opinion of its own


def new_expert(name: str, settings: Mapping[str, Any], seed: int) -> Method:
    return config.build(method_class(name), {"random_state": seed, **settings}, f"settings.{name}.")


def same_in_rehearsal(method: type[Method], *, outside: bool) -> bool:
    """Is what was fitted on all documents what a rehearsal needs, but for hidden labels? `outside`: the documents of
    the rehearsal are no training documents."""
    return not method.traits.learns_from_pairs or (outside and method.traits.label_by_label)


def rehearsing(expert: Method, hidden: Any) -> Method:
    """A fitted expert as if it had never seen the hidden labels, if it is `same_in_rehearsal`."""
    other = copy.copy(expert)
    other.hidden_ = expert.hidden_.copy()
    other.hidden_[hidden] = expert.traits.learns_from_pairs
    return other


def fit_expert(expert: Method, dataset: Dataset) -> Method:
    """Without pairs for those that do not learn from them: what they say of a document never depends on its labels."""
    return expert.fit(dataset if expert.traits.learns_from_pairs else dataset.without_pairs())


def share_neighbours(experts: Mapping[str, Method]) -> None:
    """The neighbours that xml0 asks are those of the expert knn, where both have the same settings and documents: those
    of a text are looked for once. What knn learns later is its own."""
    knn, asking = experts.get("knn"), experts.get("xml0")
    if not isinstance(asking, Xml0) or not isinstance(knn, NearestNeighbours):
        return
    base = asking.base_
    if isinstance(base, NearestNeighbours) and base == knn and base.pairs_.shape == knn.pairs_.shape:
        base.features_, base.lists_, base.last_ = knn.features_, knn.lists_, knn.last_


def opinions(experts: Mapping[str, Method], documents: Documents) -> dict[str, Ranking]:
    """What each expert says, in the order of `opinion_names`."""
    found = {name: opinion(expert, documents) for name, expert in experts.items()}
    if TITLES in opinion_names(list(experts), documents.features is None):
        found[TITLES] = opinion(
            experts["tfidf"], replace(documents, texts=documents.titles, titles=[""] * len(documents))
        )
    return found


def opinion_names(experts: Sequence[str], texts: bool) -> list[str]:
    return [*experts, *([TITLES] if texts and "tfidf" in experts else [])]


def opinion(expert: Method, documents: Documents) -> Ranking:
    """As deep as is worth it. A score of 0 says nothing."""
    found = expert.rank(documents, min(expert.depth, len(expert.labels_)))
    nothing = found.scores <= 0
    return Ranking(np.where(nothing, -1, found.ids), np.where(nothing, -np.inf, found.scores).astype(np.float32))
