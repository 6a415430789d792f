"""everylabel in scikit-learn: a classifier of texts, and scorers that read the sparse scores of very many labels.

    from everylabel.sklearn import TaggerClassifier, ndcg_at_5

    tagger = TaggerClassifier(labels=vocabulary).fit(texts, indicator)
    tagger.predict_proba(["a new text"])  # csr: the probabilities of the k best labels
    cross_val_score(tagger, texts, indicator, scoring=ndcg_at_5)

There is no extra for it: who needs it has scikit-learn.
"""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("sklearn") is None:
    raise ModuleNotFoundError("everylabel.sklearn needs scikit-learn: pip install scikit-learn", name="sklearn")

from everylabel.sklearn.classifier import TaggerClassifier
from everylabel.sklearn.scorers import TopScorer, ndcg_at_5, precision_at_1, precision_at_5, psp_at_5, top_score

__all__ = [
    "TaggerClassifier",
    "TopScorer",
    "ndcg_at_5",
    "precision_at_1",
    "precision_at_5",
    "psp_at_5",
    "top_score",
]
