"""The best labels of texts, as plain values: what is printed, sent or shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from everylabel.data.dataset import Documents
from everylabel.data.label import same_language
from everylabel.errors import ConfigError, DataError
from everylabel.methods.base import Method
from everylabel.text.views import Views
from everylabel.types import Ranking
from everylabel.workflow import broader as broader_labels
from everylabel.workflow.selection import Selection, Selections, selecting
from everylabel.workflow.settings import as_tagger, is_tagger
from everylabel.workflow.transform import Transform, Transformed, transformed

if TYPE_CHECKING:
    from everylabel.tagger.explain import Evidence, Place

Values = dict[str, Any]
NewLabels = Literal["group", "interleave", "none"]
BATCH = 256  # documents that are ranked at a time
DIGITS = 6  # of a score
MOST_REPLACED = 5  # narrow labels that are shown with a broader one
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
    """What a document gets; a label is {"id", "name", "score"}, with "notation" and "uri" where it has them."""

    labels: list[Values]  # best first
    new_labels: list[Values]  # more of them, which nobody has used yet, and which fit

    def to_json(self) -> Values:
        return {"labels": self.labels} | ({"new_labels": self.new_labels} if self.new_labels else {})


class _Wanted(NamedTuple):
    """How a document is tagged and shown."""

    cut: Cut
    group: bool  # of new labels
    explain: bool
    broader: bool
    language: str


def tag(
    model: Method,
    documents: Documents | Iterable[str],
    cut: Cut | None = None,
    *,
    explain: bool = False,
    selection: Selection | Selections | None = None,
) -> list[list[Values]]:
    """The labels of each document, best first: see `suggest`."""
    return [found.labels for found in suggest(model, documents, cut, "none", explain=explain, selection=selection)]


def suggest(
    model: Method,
    documents: Documents | Iterable[str],
    cut: Cut | None = None,
    new_labels: NewLabels = "group",
    *,
    explain: bool = False,
    selection: Selection | Selections | None = None,
    broader: bool = False,
    language: str = "",
    transforms: Sequence[Transform] = (),
) -> list[Suggestions]:
    """The labels of each document. `new_labels`: where a tagger puts those that nobody has used yet: some that fit in a
    group of their own, or all between the others, or none but those that are among the best.

    `selection`: only these labels, with the probabilities that they have among all (selection.py). `broader`: broader
    labels in place of narrow ones that are uncertain, which "instead_of" lists (broader.py). `language`: of the names,
    where labels have one in it. `transforms`: of the texts, before (transform.py).

    With `explain`, which only a tagger can, also "probability" (the score), "band" and "evidence": each with "spans",
    [start, end] in code points of the "field" ("text" or "title") as it was given, of what stands there. By one state
    of the model, whoever changes it meanwhile.
    """
    model, cut = selecting(in_order(model.model_, new_labels), selection), cut or Cut()
    if broader and new_labels == "interleave":
        raise ConfigError("broader labels are ranked by probability; leave out one of both, broader or interleave")
    group = new_labels == "group" and is_tagger(model) and model.order == "probability"
    wanted = _Wanted(cut, group, explain, broader, language)
    parts = (transformed(part, transforms) for part in Documents.of(documents).slices(BATCH))
    return [found for part in parts for found in _suggested(model, part, wanted)]


def in_order(model: Method, new_labels: NewLabels) -> Method:
    """The model, or what it has learned with another order of rankings."""
    if new_labels != "interleave":
        return model
    return as_tagger(model, CANNOT_INTERLEAVE).in_order("interleave")


def _suggested(model: Method, part: Transformed, wanted: _Wanted) -> list[Suggestions]:
    from everylabel.tagger.order import DEPTH, LEAST_NEW, MOST_NEW, only_new

    views, cut = Views(part.documents), wanted.cut
    depth = max(cut.k, DEPTH if wanted.group else broader_labels.DEPTH if wanted.broader else 0)
    deep, replaced = model.rank(views, depth), None
    if wanted.broader:
        deep, replaced = broader_labels.with_broader(deep, model.labels_, ~model.unranked, cut.k)
    ranking, new = cut.of(deep.top(min(cut.k, deep.k))), Ranking.empty(len(views), 1)
    if wanted.group:
        least = max(LEAST_NEW, cut.threshold or 0)
        new = only_new(deep, model.counts_, MOST_NEW, least=least, without=ranking)
    both = [_values(model, views, one, part, wanted) for one in (ranking, new)]
    for row, stands_for in enumerate(replaced or ()):
        for label in (*both[0][row], *both[1][row]):
            if instead_of := stands_for.get(model.labels_.index[label["id"]]):
                label["instead_of"] = [_shown(model, *one, wanted.language) for one in instead_of[:MOST_REPLACED]]
    return [Suggestions(*found) for found in zip(*both, strict=True)]


def _values(model: Method, views: Views, ranking: Ranking, part: Transformed, wanted: _Wanted) -> list[list[Values]]:
    rows = [
        [
            _shown(model, label, score, wanted.language)
            for label, score in zip(row_ids, row_scores, strict=True)
            if label >= 0
        ]
        for row_ids, row_scores in zip(ranking.ids.tolist(), ranking.scores.tolist(), strict=True)
    ]
    if wanted.explain:
        found = as_tagger(model, CANNOT_EXPLAIN).described(views, ranking)
        for row, tags in enumerate(found):
            for values, one in zip(rows[row], tags, strict=True):
                evidence = [_located(item, part.given_places(row, item.places)) for item in one.evidence]
                values |= {"probability": values["score"], "band": one.band, "evidence": evidence}
    return rows


def _shown(model: Method, label: int, score: float, language: str) -> Values:
    return {**model.labels_.shown(label, language), "score": round(score, DIGITS)}


def _located(item: Evidence, places: tuple[Place, ...]) -> Values:
    """With "spans" in one field, the text if it stands there, and "other_fields" if it stands in others, too."""
    values = {"kind": item.kind, "text": item.text, "weight": round(item.weight, DIGITS), "source": item.source}
    by_field: dict[str, list[list[int]]] = {}
    for field, start, end in places:
        by_field.setdefault(field, []).append([start, end])
    if not by_field:
        return values
    first = "text" if "text" in by_field else next(iter(by_field))
    values |= {"field": first, "spans": by_field.pop(first)}
    return values | ({"other_fields": by_field} if by_field else {})


def check_explains(model: Method, path: str | Path) -> None:
    """An error that names the model's folder if it cannot say why: before the first text, not after it."""
    as_tagger(model, CANNOT_EXPLAIN, path)


def check_shown_in(model: Method, language: str) -> None:
    """An error for a language that no label has a name in: before the first text."""
    labels = model.labels_
    known = [one for one in dict.fromkeys([labels.language, *labels.languages]) if one]
    if language and not any(same_language(one, language) for one in known):
        names = ", ".join(known) or "one language that is not named"
        raise DataError(f"no label has a name in {language!r}; names are in: {names}")
