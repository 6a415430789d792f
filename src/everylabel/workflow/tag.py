"""The best labels of texts, as plain values: what is printed, sent or shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from everylabel.data.dataset import Documents
from everylabel.methods.base import Method
from everylabel.types import Ranking
from everylabel.workflow.settings import as_tagger

if TYPE_CHECKING:
    from everylabel.tagger.tagger import Tag

DIGITS = 6  # of a score
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
        from everylabel.tagger.cut import at_threshold, best_f1

        if self.threshold is not None:
            ranking = at_threshold(ranking, self.threshold)
        return best_f1(ranking) if self.best else ranking


def tag(
    model: Method, documents: Documents | Iterable[str], cut: Cut | None = None, *, explain: bool = False
) -> list[list[dict[str, Any]]]:
    """The labels of each document, best first: {"id", "name", "score"}.

    With `explain`, which only a tagger can, also "probability" (the score), "band" and "evidence". By one state of the
    model, whoever changes it meanwhile.
    """
    model, cut, documents = model.model_, cut or Cut(), Documents.of(documents)
    if explain:
        tagger = as_tagger(model, CANNOT_EXPLAIN)
        found = tagger.tag(documents, cut.k, threshold=cut.threshold, best=cut.best)
        return [[_explained(one) for one in row] for row in found]
    ids, scores = cut.of(model.rank(documents, cut.k))
    vocabulary = model.labels_
    return [
        [
            {"id": vocabulary.ids[label], "name": vocabulary.names[label], "score": round(score, DIGITS)}
            for label, score in zip(row_ids, row_scores, strict=True)
            if label >= 0
        ]
        for row_ids, row_scores in zip(ids.tolist(), scores.tolist(), strict=True)
    ]


def check_explains(model: Method, path: str | Path) -> None:
    """An error that names the model's folder if it cannot say why: before the first text, not after it."""
    as_tagger(model, CANNOT_EXPLAIN, path)


def _explained(one: Tag) -> dict[str, Any]:
    score = round(one.probability, DIGITS)
    evidence = [item._asdict() | {"weight": round(item.weight, DIGITS)} for item in one.evidence]
    about = {"probability": score, "band": one.band, "evidence": evidence}
    return {"id": one.id, "name": one.name, "score": score, **about}
