"""Scorers of rankings: scikit-learn's own want dense scores of all labels, of which there is no room for a million.

A scorer is given as `scoring=` to whatever takes one. It reads as many ranks as its metric has, however many the
classifier gives by default.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from everylabel.errors import ConfigError
from everylabel.metrics import ranking as metrics
from everylabel.metrics.propensity import Propensity, inverse_propensity
from everylabel.sklearn.classifier import TaggerClassifier
from everylabel.sklearn.targets import is_matrix, pairs_of
from everylabel.types import LongArray, Ranking

_METRIC = re.compile(r"(P|nDCG|R|PSP|PSnDCG)@([1-9]\d{0,3})")


def top_score(
    y_true: Any,
    y_score: Any,
    metric: str = "nDCG@5",
    *,
    train_counts: LongArray | None = None,
    n_train: int = 0,
    propensity: Propensity = "default",
) -> float:
    """P@k, nDCG@k, R@k, or with the labels' training counts PSP@k and PSnDCG@k, as a fraction of 1.

    Both are matrices, documents x labels, csr or dense. Entries that a csr has not are not ranked; documents without a
    true label do not count; nan if none has one. O(nnz log nnz).
    """
    name, k = parsed(metric)
    hits = metrics.find_hits(Ranking.from_csr(csr_matrix(y_score), k), csr_matrix(y_true))
    if name in ("PSP", "PSnDCG"):
        if train_counts is None:
            raise ConfigError(
                f"{metric} needs train_counts, the number of training documents of each label, and n_train"
            )
        weighted = metrics.weigh(hits, inverse_propensity(train_counts, n_train, propensity), k)
        return (metrics.psp if name == "PSP" else metrics.psndcg)(weighted, k).value
    of = {"P": metrics.precision, "nDCG": metrics.ndcg, "R": metrics.recall}[name]
    return of(hits, k).value


def parsed(metric: str) -> tuple[str, int]:
    found = _METRIC.fullmatch(metric)
    if found is None:
        raise ConfigError(
            f"no metric {metric!r}; there are P@k, nDCG@k, R@k, PSP@k and PSnDCG@k, with k from 1 to 9999"
        )
    return found[1], int(found[2])


@dataclass(frozen=True)
class TopScorer:
    """`TopScorer("P@3")`: a scorer for GridSearchCV, cross_val_score and the like; y as `TaggerClassifier` takes it.

    PSP and PSnDCG go by what the classifier was fitted on, and need one of ours, alone or at the end of a pipeline.
    """

    metric: str = "nDCG@5"
    propensity: Propensity = "default"

    def __post_init__(self) -> None:
        parsed(self.metric)

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        name, k = parsed(self.metric)
        tagger = last_step(estimator)
        if not isinstance(tagger, TaggerClassifier):
            if name in ("PSP", "PSnDCG") or not is_matrix(y):
                raise ConfigError(
                    f"{self.metric} of {type(estimator).__name__}: give a TaggerClassifier and a matrix y"
                )
            return top_score(y, estimator.predict_proba(X), self.metric)
        model = tagger.model_
        return top_score(
            pairs_of(y, model.labels_),
            estimator.predict_proba(X, k=k),
            self.metric,
            train_counts=np.asarray(model.counts_),
            n_train=model.n_train_,
            propensity=self.propensity,
        )


def last_step(estimator: Any) -> Any:
    """What predicts, inside a pipeline or not."""
    while hasattr(estimator, "steps"):
        estimator = estimator.steps[-1][1]
    return estimator


ndcg_at_5 = TopScorer("nDCG@5")
precision_at_1 = TopScorer("P@1")
precision_at_5 = TopScorer("P@5")
psp_at_5 = TopScorer("PSP@5")
