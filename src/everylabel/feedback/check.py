"""Whether a model that has learned is worse than before by more than chance.

Three questions, each about nDCG@5 of the same documents by two models:
- held out: decisions that no model has learned, by the next model and the present one;
- since the start: the same, by the next model and the one that the project began with: many small losses, each of which
  chance might explain, are a large one;
- folds: where fewer than `ENOUGH` are held out, what is to be learned itself, each quarter by a model that has learned
  the other three. It cannot find decisions that are all wrong in the same way; it finds learning that does harm.

Each is answered by an exact test: if both models were alike, each difference would have the other sign as often
(`metrics.significance.sign_flip_test`). The next model is refused if one of the tests finds it worse; together they
refuse a model that is as good in `ALPHA` of the cases at most. What they find depends on the number of documents that
differ: of fewer than 6 no loss can be told from chance. A question that fewer than `LEAST` documents could answer is
not asked; if none was, the model is taken unchecked, and `checked_on` is 0: that is how it is when somebody has a few
decisions learned at once. What they find otherwise: tests/feedback/test_check.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from everylabel.feedback.decisions import Decision
from everylabel.metrics.ranking import Ratio, find_hits, ndcg
from everylabel.metrics.significance import paired_bootstrap, sign_flip_test

if TYPE_CHECKING:
    from everylabel.data.dataset import Dataset
    from everylabel.tagger.tagger import Tagger

ALPHA = 0.05
LEAST, ENOUGH = 6, 60  # documents: of 6 that are all worse, each of three questions can tell (2 ** -6 < ALPHA / 3)
FOLDS = 4
AsDataset = Callable[["Tagger", Sequence[Decision]], "Dataset"]


class Compared(NamedTuple):
    """One question: how many documents answer it, nDCG@5 of both models, and how likely such a loss is by chance."""

    documents: int
    before: float
    after: float
    low: float  # 95 % interval of after - before
    high: float
    p_worse: float


class Check(NamedTuple):
    """The answers by question; those that were not asked are not there."""

    answers: dict[str, Compared]

    @property
    def worse(self) -> list[str]:
        """The questions by which the next model is worse."""
        return [name for name, one in self.answers.items() if one.p_worse <= ALPHA / len(self.answers)]

    @property
    def shown(self) -> Compared | None:
        """The one that tells most: of those by which it is worse, or of all, the first."""
        return next((self.answers[name] for name in (*self.worse, *self.answers)), None)


def check(
    present: Tagger,
    found: Tagger,
    first: Tagger | None,
    held_out: Sequence[Decision],
    learned: Sequence[Decision],
    learn: Callable[[Tagger, Sequence[Decision]], Tagger],
    as_dataset: AsDataset,
) -> Check:
    """Of `found`, which is `present` after `learn(present, learned)`; `first`: the model that the project began with,
    if that is another. Cost: rankings of the held-out documents by two or three models; with folds, learning three
    times as much as is learned, and ranking twice as much."""

    def by_document(model: Tagger, decisions: Sequence[Decision]) -> Ratio:
        data = as_dataset(present, decisions)  # labels that came since have places after those of earlier models
        return ndcg(find_hits(model.rank(data.documents, 5), data.required_pairs), 5)

    answers: dict[str, Compared | None] = {}
    after = by_document(found, held_out)
    answers["held out"] = compared(after, by_document(present, held_out))
    if first is not None:
        answers["since the start"] = compared(after, by_document(first, held_out))
    if (after.possible > 0).sum() < ENOUGH:
        complete = [one for one in learned if one.complete]
        parts = [complete[at::FOLDS] for at in range(FOLDS)]
        both = [
            (
                by_document(learn(present, [one for one in complete if one not in part]), part),
                by_document(present, part),
            )
            for part in (parts if len(complete) >= LEAST else ())
        ]
        if both:
            answers["folds"] = compared(*(_joined([pair[at] for pair in both]) for at in (0, 1)))
    return Check({name: one for name, one in answers.items() if one is not None})


def compared(after: Ratio, before: Ratio) -> Compared | None:
    """None of too few documents."""
    n = int((after.possible > 0).sum())
    if n < LEAST:
        return None
    interval = paired_bootstrap(after, before)
    return Compared(n, before.value, after.value, interval.low, interval.high, sign_flip_test(after, before))


def _joined(parts: Sequence[Ratio]) -> Ratio:
    return Ratio(*(np.concatenate([one[at] for one in parts]) for at in (0, 1)))
