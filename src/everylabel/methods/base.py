"""What every method is: a keyword-only dataclass of settings, with `fit`, `rank`, and a state that can be saved."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from everylabel.data.dataset import Dataset, Documents, LabelSet, pairs_in
from everylabel.errors import ConfigError, DataError, NotFittedError
from everylabel.methods.calibrate import DEPTH, Calibration
from everylabel.types import LongArray, Ranking

State = dict[str, Any]
"""What a method learned: numpy arrays, csr matrices and plain JSON values by name ("tfidf/idf"): all of it is saved."""


@dataclass(kw_only=True)
class Method(ABC):
    """Subclasses add fields (settings) and `_fit`, `_rank`, `_state`, `_restore`. Learned attributes end in `_`."""

    name: ClassVar[str]
    needs_pairs: ClassVar[bool] = True

    random_state: int = 0

    def fit(self, dataset: Dataset) -> Self:
        """Learn from the data. Settings are checked here, so that a bad one is reported before any work is done."""
        if not 0 <= self.random_state < 1 << 32:
            raise ConfigError(f"random_state must be a whole number from 0 to {(1 << 32) - 1}; got {self.random_state}")
        self.check()
        if len(dataset.labels) == 0:
            raise DataError(f"{dataset.name}: the vocabulary has no labels; expected at least one")
        if self.needs_pairs and (dataset.pairs is None or dataset.pairs.nnz == 0):
            raise DataError(
                f"{dataset.name}: method {self.name!r} learns from labelled documents, and there is no labelled pair; "
                "add labels to the training documents, or choose a method that needs none (everylabel methods)"
            )
        self.labels_: LabelSet = dataset.labels
        self.counts_: LongArray = dataset.counts
        self.n_train_: int = len(dataset)
        self.calibration_: Calibration | None = None
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

    def save(self, path: str | Path, *, overwrite: bool = True) -> None:
        """Write the model folder, atomically; see `everylabel.store`."""
        from everylabel.store import save_method

        self._require_fitted()
        save_method(self, path, overwrite=overwrite)

    def check(self) -> None:  # noqa: B027 (most methods have nothing to check)
        """Raise ConfigError for settings that cannot work."""

    def state(self) -> State:
        self._require_fitted()
        calibration = {} if self.calibration_ is None else self.calibration_.state()
        return {"counts": self.counts_, "n_train": self.n_train_, **calibration, **self._state()}

    def restore(self, labels: LabelSet, state: State) -> Self:
        self.labels_ = labels
        self.counts_ = state["counts"]
        self.n_train_ = state["n_train"]
        self.calibration_ = Calibration.restored(state)
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
        return self._rank(documents, min(k, len(self.labels_))).top(k)

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
