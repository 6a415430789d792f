"""The best labels of texts, as plain values: what is printed, sent or shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from everylabel.data.dataset import Documents
from everylabel.methods.base import Method
from everylabel.text.views import Views
from everylabel.types import Ranking
from everylabel.workflow.settings import as_tagger, is_tagger

if TYPE_CHECKING:
    from everylabel.tagger.tags import Tag

Values = dict[str, Any]
NewLabels = Literal["group", "interleave", "none"]
BATCH = 256  # documents that are ranked at a time
DIGITS = 6  # of a score
CANNOT_INTERLEAVE = "has one order; leave out --new-labels, or fit a tagger, which can interleave new labels"
CANNOT_EXPLAIN = "cannot say why; leave out --explain, or fit a tagger, which can"


@dataclass(frozen=True)
class Cut:
    """How many labels a document gets."""

    k: int = 10
    threshold: float | None = None  # only labels with at least this probability
    best: bool = False  # as many as give the best expected F1

    @property
    def by_probability(self) -> bool:
        return self.best or self.threshold is not None

    def of(self, ranking: Ranking) -> Ranking:
        from everylabel.tagger.cut import cut

        return cut(ranking, self.threshold, self.best)


class Suggestions(NamedTuple):
    """What a document gets; a label is {"id", "name", "score"}."""

    labels: list[Values]  # best first
    new_labels: list[Values]  # more of them, which nobody has used yet, and which fit

    def to_json(self) -> Values:
        return {"labels": self.labels} | ({"new_labels": self.new_labels} if self.new_labels else {})


def tag(
    model: Method, documents: Documents | Iterable[str], cut: Cut | None = None, *, explain: bool = False
) -> list[list[Values]]:
    """The labels of each document, best first: see `suggest`."""
    return [found.labels for found in suggest(model, documents, cut, "none", explain=explain)]


def suggest(
    model: Method,
    documents: Documents | Iterable[str],
    cut: Cut | None = None,
    new_labels: NewLabels = "group",
    *,
    explain: bool = False,
) -> list[Suggestions]:
    """The labels of each document. `new_labels`: where a tagger puts those that nobody has used yet: some that fit in a
    group of their own, or all between the others, or none but those that are among the best.

    With `explain`, which only a tagger can, also "probability" (the score), "band" and "evidence". By one state of the
    model, whoever changes it meanwhile.
    """
    model, cut = in_order(model.model_, new_labels), cut or Cut()
    group = new_labels == "group" and is_tagger(model) and model.order == "probability"
    parts = map(Views, Documents.of(documents).slices(BATCH))
    return [found for part in parts for found in _suggested(model, part, cut, group, explain)]


def in_order(model: Method, new_labels: NewLabels) -> Method:
    """The model, or what it has learned with another order of rankings."""
    if new_labels != "interleave":
        return model
    return as_tagger(model, CANNOT_INTERLEAVE).in_order("interleave")


def _suggested(model: Method, views: Views, cut: Cut, group: bool, explain: bool) -> list[Suggestions]:
    if group:
        from everylabel.tagger.order import DEPTH, LEAST_NEW, MOST_NEW, only_new

        deep = model.rank(views, max(cut.k, DEPTH))
        ranking = cut.of(deep.top(cut.k))
        least = max(LEAST_NEW, cut.threshold or 0)
        new = only_new(deep, model.counts_, MOST_NEW, least=least, without=ranking)
    else:
        ranking, new = cut.of(model.rank(views, cut.k)), Ranking.empty(len(views), 1)
    both = (_values(model, views, one, explain) for one in (ranking, new))
    return [Suggestions(*found) for found in zip(*both, strict=True)]


def _values(model: Method, views: Views, ranking: Ranking, explain: bool) -> list[list[Values]]:
    if explain:
        found = as_tagger(model, CANNOT_EXPLAIN).described(views, ranking)
        return [[_explained(one) for one in row] for row in found]
    vocabulary = model.labels_
    return [
        [
            {"id": vocabulary.ids[label], "name": vocabulary.names[label], "score": round(score, DIGITS)}
            for label, score in zip(row_ids, row_scores, strict=True)
            if label >= 0
        ]
        for row_ids, row_scores in zip(ranking.ids.tolist(), ranking.scores.tolist(), strict=True)
    ]


def check_explains(model: Method, path: str | Path) -> None:
    """An error that names the model's folder if it cannot say why: before the first text, not after it."""
    as_tagger(model, CANNOT_EXPLAIN, path)


def _explained(one: Tag) -> dict[str, Any]:
    score = round(one.probability, DIGITS)
    evidence = [item._asdict() | {"weight": round(item.weight, DIGITS)} for item in one.evidence]
    about = {"probability": score, "band": one.band, "evidence": evidence}
    return {"id": one.id, "name": one.name, "score": score, **about}
