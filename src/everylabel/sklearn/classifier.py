"""A tagger, or any other method, as an estimator of scikit-learn.

X are texts. y is an indicator matrix (csr or dense), one column a label, or, where scikit-learn does not look at it
(fit, score), lists of label ids: its own splitters and searches want the matrix, which `MultiLabelBinarizer(
sparse_output=True)` makes; its `cross_val_score` and `cross_validate` a dense one. Whatever is returned has the columns
of `classes_`, and is csr: of a million labels k a document are there, and nothing else is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

import everylabel
from everylabel.data.dataset import Dataset
from everylabel.errors import ConfigError, DataError
from everylabel.methods.base import Method
from everylabel.sklearn.packing import packed, unpacked
from everylabel.sklearn.targets import Labels, documents_of, pairs_of, vocabulary_of
from everylabel.types import Csr, Ranking
from everylabel.workflow.learn import CANNOT_LEARN
from everylabel.workflow.settings import as_tagger
from everylabel.workflow.tag import Cut


class TaggerClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Texts to labels of a very large vocabulary, seen and unseen ones.

    `method` and its `settings` are those of `everylabel.method`. `labels`: the vocabulary, of the columns of y, or of
    all ids that y may have: a LabelSet, Labels, or names; without, labels are the columns by number, or the ids of y,
    and nothing is known of them but that. `k` labels a document are returned; `predict` leaves out those of a
    probability below `threshold`, or, with `best`, gives as many as promise the best F1. `predicts="scores"`: `predict`
    gives their scores, for `cross_val_predict`, which takes a csr y for this method alone. Cost: that of the method.

    Fitted: `model_`, the method (`model_.save(folder)` is the safe way to keep it; a pickle runs whatever it says), and
    `classes_`, the ids of the labels.
    """

    def __init__(
        self,
        *,
        method: str = "tagger",
        settings: dict[str, Any] | None = None,
        labels: Labels = None,
        k: int = 5,
        threshold: float | None = None,
        best: bool = False,
        predicts: Literal["labels", "scores"] = "labels",
        random_state: Any = 0,
    ) -> None:
        self.method = method
        self.settings = settings
        self.labels = labels
        self.k = k
        self.threshold = threshold
        self.best = best
        self.predicts = predicts
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Anew, whatever was learned before. y may be None for methods that need no labelled documents."""
        if y is None and self.labels is None:
            raise DataError("y is None, and so is `labels`: give one of both, or there is no label to suggest")
        return self._fit(X, y, self.labels)

    def partial_fit(self, X: Any, y: Any, classes: Labels = None) -> Self:
        """More labelled documents, in seconds (`Tagger.learn`); the first time a fit, `classes` its labels.

        Later ones may only have labels that are known: `model_.add_labels` makes others so.
        """
        if not self.__sklearn_is_fitted__():
            return self._fit(X, y, classes if classes is not None else self.labels)
        tagger = as_tagger(self.model_, CANNOT_LEARN)
        tagger.learn(_dataset(X, y, tagger.labels_))
        return self

    def predict(self, X: Any) -> Csr:
        """An indicator, documents x labels, of what `k`, `threshold` and `best` say; or their scores (`predicts`)."""
        check_is_fitted(self)
        if self.predicts not in ("labels", "scores"):
            raise ConfigError(f"predicts must be 'labels' or 'scores'; got {self.predicts!r}")
        cut = Cut(self.k, self.threshold, self.best)
        chosen = self._csr(cut.of(self.model_.rank(documents_of(X), self.k)))
        if self.predicts == "labels":
            chosen.data = np.ones_like(chosen.data, np.int64)
        return chosen

    def predict_proba(self, X: Any, k: int | None = None) -> Csr:
        """The probabilities (of a method that is not calibrated: scores) of the k best labels, documents x labels."""
        check_is_fitted(self)
        return self._csr(self.model_.rank(documents_of(X), self.k if k is None else k))

    def score(self, X: Any, y: Any, sample_weight: None = None) -> float:
        """nDCG@5: that all labels of a document are found and no other, as accuracy has it, says little here."""
        from everylabel.sklearn.scorers import ndcg_at_5

        if sample_weight is not None:
            raise DataError("sample_weight is not known here: leave it out")
        check_is_fitted(self)
        return ndcg_at_5(self, X, y)

    @classmethod
    def of(cls, model: Method | str | Path, **parameters: Any) -> Self:
        """A fitted one, of a model in memory or in a folder, which is checked as any from elsewhere is."""
        fitted = model if isinstance(model, Method) else everylabel.load(model)
        found = cls(method=fitted.name, **parameters)
        found.model_ = fitted
        return found

    @property
    def classes_(self) -> NDArray[Any]:
        """The ids of the labels, one a column."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no classes_ before it is fitted")
        return np.array(list(self.model_.labels_.ids), object)

    def _fit(self, X: Any, y: Any, labels: Labels) -> Self:
        vocabulary = vocabulary_of(labels, y)
        data = _dataset(X, y, vocabulary)
        settings = {"random_state": _seed(self.random_state), **(self.settings or {})}
        self.model_ = everylabel.method(self.method, **settings).fit(data)
        return self

    def _csr(self, ranking: Ranking) -> Csr:
        """O(documents x k)."""
        there = ranking.ids >= 0
        ends = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
        shape = (ranking.n_docs, len(self.model_.labels_))
        found = csr_matrix((ranking.scores[there], ranking.ids[there], ends), shape=shape)
        found.sort_indices()
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array, tags.input_tags.one_d_array = True, False, True
        tags.target_tags.one_d_labels, tags.target_tags.two_d_labels = False, True
        tags.target_tags.multi_output, tags.target_tags.single_output = True, False
        tags.classifier_tags.multi_label, tags.classifier_tags.multi_class = True, False
        tags.no_validation = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """The model as the files of its folder, which are checked when they are read."""
        state = dict(super().__getstate__())
        if "model_" in state:
            state["model_"] = packed(state["model_"])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        model = state.get("model_")
        super().__setstate__(state if model is None else state | {"model_": unpacked(model)})


def _dataset(X: Any, y: Any, labels: Any) -> Dataset:
    documents = documents_of(X)
    pairs = None if y is None else pairs_of(y, labels)
    if pairs is not None and pairs.shape[0] != len(documents):
        raise DataError(f"X has {len(documents):,} texts, and y has {pairs.shape[0]:,} rows; give one row a text")
    return Dataset(documents, labels, pairs)


def _seed(random_state: Any) -> int:
    """Ours are numbers; scikit-learn's may be None, or a generator."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(1 << 31))
