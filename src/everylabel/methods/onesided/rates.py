"""The learning rate of the one-sided family, chosen on held-out documents by nDCG@5 (its paper, appendix C)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from everylabel.encoders.base import Tokens
from everylabel.methods.onesided.learning import Learner, Pairs
from everylabel.methods.onesided.module import DocumentSide, LabelModule
from everylabel.metrics.ranking import find_hits, ndcg
from everylabel.run import Run
from everylabel.train.loop import DivergedError
from everylabel.train.peers import by_first
from everylabel.train.rates import best_share, short_run
from everylabel.types import Csr, Ranking

if TYPE_CHECKING:
    from everylabel.methods.depl.settings import Learning
    from everylabel.methods.onesided.onesided import OfDe

SHARES = (0.4, 1.0, 2.0)  # of 5e-5: the paper's 2e-5, 5e-5 and 1e-4
HELD_OUT, MOST_HELD_OUT = 0.1, 1_000  # documents, as a share of all


def with_best_rate(
    method: OfDe,
    side: DocumentSide,
    labels: LabelModule,
    pairs: Pairs,
    truth: Csr,
    rank: Callable[[Tokens], Ranking],
    run: Run,
) -> Learning:
    """The settings with the best rate: of encoders and layers alike, as the paper has one for both.

    `truth` are the labels of `pairs.documents` by the numbers that `rank` has. The held-out documents are learned from
    afterwards, as all others are.
    """
    learn, n = method.learn, pairs.documents.n_rows
    usual = replace(learn, lr=None)
    order = np.random.default_rng(method.random_state).permutation(n)
    held, rest = np.split(order, [min(MOST_HELD_OUT, int(HELD_OUT * n))])
    if not len(held):
        return usual
    held, rest = np.sort(held), np.sort(rest)
    some = replace(pairs, documents=pairs.documents.take(rest), truth=pairs.truth[rest])

    def trial(share: float) -> float:
        tried = replace(method, learn=with_share(usual, share), evaluations=0)
        learner = Learner(side, labels, some, tried, run, name=f"rate {share:g}")
        steps = short_run(learner.steps())
        learner.method = replace(tried, learn=replace(tried.learn, steps=steps))
        try:
            learner.learn(None)
        except DivergedError:
            return float("nan")
        return by_first(lambda: ndcg(find_hits(rank(pairs.documents.take(held)), truth[held]), 5).value)

    return with_share(usual, best_share(SHARES, trial, Learner(side, labels, some, method).both, run))


def with_share(learn: Learning, share: float) -> Learning:
    return replace(learn, lr_share=learn.lr_share * share, layer_lr=learn.layer_lr * share)
