"""What every method is: a keyword-only dataclass of settings, with `fit`, `rank`, and a state that can be saved."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_in
from everylabel.errors import ConfigError, DataError, NotFittedError
from everylabel.methods.calibrate import DEPTH, Calibration
from everylabel.methods.traits import Described
from everylabel.methods.vocabulary import Hidden, Newcomers, checked_new, places, rank_visible
from everylabel.types import LongArray, Ranking

State = dict[str, Any]
"""What a method learned: numpy arrays, csr matrices and plain JSON values by name ("tfidf/idf"): all of it is saved."""


@dataclass(kw_only=True)
class Method(Described, ABC):
    """Subclasses add fields (settings), what they are (traits.py), and `_fit`, `_rank`, `_state`, `_restore`. Learned
    attributes end in `_`."""

    random_state: int = 0

    def fit(self, dataset: Dataset) -> Self:
        """Learn from the data. Settings are checked here, so that a bad one is reported before any work is done."""
        if not 0 <= self.random_state < 1 << 32:
            raise ConfigError(f"random_state must be a whole number from 0 to {(1 << 32) - 1}; got {self.random_state}")
        self.check()
        if len(dataset.labels) == 0:
            raise DataError(f"{dataset.name}: the vocabulary has no labels; expected at least one")
        if self.traits.needs_pairs and (dataset.pairs is None or dataset.pairs.nnz == 0):
            raise DataError(
                f"{dataset.name}: method {self.name!r} learns from labelled documents, and there is no labelled pair; "
                "add labels to the training documents, or choose a method that needs none (everylabel methods)"
            )
        self.labels_: LabelSet = dataset.labels
        self.counts_: LongArray = dataset.counts
        self.n_train_: int = len(dataset)
        self.calibration_: Calibration | None = None
        self.hidden_: Hidden = np.zeros(len(dataset.labels), np.bool_)
        self.newcomers_: Newcomers | None = None
        self.n_fitted_: int = len(dataset.labels)
        self._fit(dataset)
        return self

    def rank(self, texts: Documents | Sequence[str], k: int = 10) -> Ranking:
        """The k best labels of each text, scores in 0..1, best first; probabilities once the method is calibrated."""
        found = self._scored(texts, k)
        return found if self.calibration_ is None else self.calibration_.apply(found)

    def calibrate(self, dataset: Dataset, ranking: Ranking | None = None) -> Self:
        """Learn from held-out labelled documents what a score is worth: rankings stay, scores become probabilities.

        The documents must not be those of `fit`, where scores are higher. Labels are matched by their ids. `ranking`
        saves the time to rank: these documents as the method ranks them uncalibrated, DEPTH of `calibrate.py` deep.
        """
        self._require_fitted()
        pairs = pairs_in(self.labels_, dataset)
        if ranking is None:
            ranking = self._scored(dataset.documents, DEPTH)
        self.calibration_ = Calibration.learn(ranking, pairs)
        return self

    def add_labels(self, labels: Iterable[Label]) -> Self:
        """New labels are ranked from now on, by their texts, without training; they come after all others.

        A label that was removed comes back as it was. Any label that cannot be added is an error, and none is added.
        """
        self._require_fitted()
        fresh, back = checked_new(self.labels_, self.hidden_, labels)
        if fresh:
            first = len(self.labels_)
            whole = LabelSet(self.labels_.labels + tuple(fresh))
            self._add_labels(whole, first)
            self.labels_ = whole
            self.counts_ = np.concatenate([self.counts_, np.zeros(len(fresh), self.counts_.dtype)])
            self.hidden_ = np.concatenate([self.hidden_, np.zeros(len(fresh), np.bool_)])
        self.hidden_[back] = False
        return self

    def remove_labels(self, ids: Iterable[str]) -> Self:
        """These labels are not ranked any more. An id that is not there is an error, and none is removed."""
        self._require_fitted()
        self.hidden_[places(self.labels_, self.hidden_, ids)] = True
        return self

    def save(self, path: str | Path, *, overwrite: bool = True) -> None:
        """Write the model folder, atomically; see `everylabel.store`."""
        from everylabel.store import save_method

        self._require_fitted()
        save_method(self, path, overwrite=overwrite)

    def check(self) -> None:
        """Raise ConfigError for settings that cannot work."""

    def state(self) -> State:
        self._require_fitted()
        calibration = {} if self.calibration_ is None else self.calibration_.state()
        newcomers = {} if self.newcomers_ is None else self.newcomers_.state()
        vocabulary = {"hidden": np.flatnonzero(self.hidden_), "n_fitted": self.n_fitted_, **newcomers}
        return {"counts": self.counts_, "n_train": self.n_train_, **vocabulary, **calibration, **self._state()}

    def restore(self, labels: LabelSet, state: State) -> Self:
        self.labels_ = labels
        self.counts_ = state["counts"]
        self.n_train_ = state["n_train"]
        self.calibration_ = Calibration.restored(state)
        self.hidden_ = np.zeros(len(labels), np.bool_)
        self.hidden_[state["hidden"]] = True
        self.n_fitted_ = state["n_fitted"]
        self.newcomers_ = Newcomers.restored(state)
        self._restore(state)
        return self

    def _scored(self, texts: Documents | Sequence[str], k: int) -> Ranking:
        """What `rank` returns, before any calibration."""
        self._require_fitted()
        if k < 1:
            raise DataError(f"k must be at least 1; got {k}")
        documents = Documents.of(texts)
        if len(documents) == 0:
            return Ranking.empty(0, k)
        return rank_visible(lambda depth: self._ranked(documents, depth), self.hidden_, k).top(k)

    def _ranked(self, documents: Documents, k: int) -> Ranking:
        """Of all labels, hidden ones too."""
        found = self._rank(documents, k)
        return found if self.newcomers_ is None else self.newcomers_.beside(found, documents, k)

    def _add_labels(self, labels: LabelSet, first: int) -> None:  # noqa: ARG002
        """Make the labels from place `first` on known to `_rank`. Those who cannot have them found by their words."""
        self.newcomers_ = Newcomers.of(labels, self.n_fitted_)

    def _require_fitted(self) -> None:
        if not hasattr(self, "labels_"):
            raise NotFittedError(f"{self.name} is not fitted yet; call fit(dataset), or load a saved model")

    @abstractmethod
    def _fit(self, dataset: Dataset) -> None: ...

    @abstractmethod
    def _rank(self, documents: Documents, k: int) -> Ranking: ...

    @abstractmethod
    def _state(self) -> State: ...

    @abstractmethod
    def _restore(self, state: State) -> None: ...
