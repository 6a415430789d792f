"""Labels that come and go after the fit: what may be added, what is hidden, and who ranks what a method cannot.

A label keeps its place for good: added ones come after the others, and a removed one is only hidden, so that ids in
saved rankings stay true and its learned weights are there when it comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everylabel import checks
from everylabel.data.dataset import Dataset, Label, LabelSet, current
from everylabel.data.label import is_language
from everylabel.data.labels import ANY_LANGUAGE
from everylabel.errors import ConfigError, DataError
from everylabel.run import QUIET, Run
from everylabel.states import add_prefix, strip_prefix
from everylabel.text.language import language_of_documents
from everylabel.text.matching import LabelMatcher, MatchConfig
from everylabel.text.views import Views
from everylabel.types import Ranking

Hidden = NDArray[np.bool_]
AUTO, ALL, NONE = "auto", "all", "none"


def prepared(dataset: Dataset, label_languages: str, run: Run = QUIET) -> Dataset:
    """As it is learned from: documents of a deprecated label are those of its replacement, and the translations of
    labels that are read are chosen. Costs nothing where labels are neither deprecated nor translated; else the
    languages of the documents are told (text/language.py)."""
    labels = dataset.labels
    if not labels.translations.is_blank and (labels.read_languages is None or label_languages != AUTO):
        dataset = replace(dataset, labels=labels.reading(_chosen_languages(dataset, label_languages)))
    return current(dataset, run)


def _chosen_languages(dataset: Dataset, wanted: str) -> list[str]:
    if wanted == ALL:
        return [ANY_LANGUAGE]
    if wanted == AUTO:  # others cost more than they bring: benchmarks/results/pages/languages.md
        wanted = language_of_documents(dataset)
    return [] if wanted == NONE else wanted.split("+")


def check_languages(wanted: str) -> None:
    if not all(map(is_language, wanted.split("+"))):
        raise ConfigError(
            f"label_languages must be {AUTO!r} (those of the documents), {ALL!r}, {NONE!r}, or languages such as "
            f"'fi+sv'; got {wanted!r}"
        )


def checked_new(known: LabelSet, hidden: Hidden, labels: Iterable[Label]) -> tuple[list[Label], list[int]]:
    """(labels that are new, places of removed labels that come back as they were), or an error and nothing done."""
    fresh: list[Label] = []
    back: list[int] = []
    for label in labels:
        if not label.id.strip() or not label.name.strip():
            raise DataError(
                f"a label needs an id and a name; got id {label.id!r} and name {label.name!r}: nothing was added"
            )
        at = known.index.get(label.id)
        if at is None:
            fresh.append(label)
        elif not hidden[at]:
            raise DataError(
                f"label id {label.id!r} is in the vocabulary already, as {known[at].name!r}; nothing was added: give "
                "the new label another id, or leave it out"
            )
        elif known[at] != label:
            raise DataError(
                f"label id {label.id!r} was removed, and its texts were others ({known[at].name!r}); nothing was "
                "added: give the new label another id"
            )
        else:
            back.append(at)
    LabelSet.of(fresh)  # an id twice among them is an error
    return fresh, back


def places(known: LabelSet, hidden: Hidden, ids: Iterable[str]) -> list[int]:
    """Where these labels are, or an error for one that is not there."""
    found = []
    for label in ids:
        at = known.index.get(label)
        if at is None or hidden[at]:
            raise DataError(
                f"label {label!r} is not in the vocabulary; nothing was removed: see everylabel labels list"
            )
        found.append(at)
    return found


def rank_visible(rank: Callable[[int], Ranking], hidden: Hidden, k: int) -> Ranking:
    """The k best labels that are not hidden; `rank(k)` gives the k best of all. Asks deeper only as far as needed: at
    first twice as deep as k of them would be if they were spread evenly, so that few shown labels need few turns."""
    if not hidden.any():
        return rank(min(k, len(hidden)))
    n, n_hidden = len(hidden), int(np.count_nonzero(hidden))
    if n_hidden == n:
        return Ranking.empty(rank(1).n_docs, k)
    ask = min(n, k + n_hidden, -(-2 * k * n // (n - n_hidden)))
    while True:
        found = rank(ask)
        shown = Ranking.best_of(np.where(hidden[found.ids], -1, found.ids), found.scores, k)
        enough = (shown.ids[:, -1] >= 0) | (found.ids[:, -1] < 0)
        if ask >= n or enough.all():
            return shown
        ask = min(n, 2 * ask)


class AddedLabels:
    """Labels added to a method that ranks only labels with pairs: found by their words, as `tfidf` does.

    Both kinds of score are from 0 to 1 and stand in one ranking, but a cosine of words is no probability of a
    classifier: a method that reads label texts places new labels better. O(texts of the added labels) to add, once the
    words of the others are known.
    """

    def __init__(self, matcher: LabelMatcher) -> None:
        self.matcher = matcher

    @classmethod
    def of(cls, labels: LabelSet, first: int, language: str) -> AddedLabels:
        """Of the labels from place `first` on; how rare a word is goes by the texts of the others."""
        known = LabelMatcher(MatchConfig(language=language)).fit(Views.of([]), labels.subset(range(first)))
        return cls(known.with_labels(labels, first))

    def with_labels(self, labels: LabelSet, first: int) -> AddedLabels:
        """Of these labels from place `first` on, where those before it are the same."""
        return AddedLabels(self.matcher.with_labels(labels, first))

    def merged_into(self, others: Ranking, views: Views, k: int) -> Ranking:
        """The best of both."""
        if views.documents.features is not None:  # a bag of words has no words to match
            return others
        found = self.matcher.rank_added(views, k)
        ids, scores = (np.concatenate(parts, axis=1) for parts in zip(others, found, strict=True))
        return Ranking.best_of(ids, scores, k)

    def check(self, n_labels: int) -> None:
        self.matcher.check(n_labels)
        checks.require(self.matcher.added_ is not None, "labels that were added must have words")

    def state(self) -> dict[str, Any]:
        return add_prefix("added", self.matcher.state("match"))

    @classmethod
    def restored(cls, state: dict[str, Any], language: str) -> AddedLabels | None:
        own = strip_prefix(state, "added")
        return cls(LabelMatcher(MatchConfig(language=language)).restore("match", own)) if own else None
