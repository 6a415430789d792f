"""What every method is: a keyword-only dataclass of settings, and, once fitted, one reference to a model.

A model is a fitted object of the same class. It never changes: `with_labels`, `without_labels` and `calibrated` return
the next model, which shares every array that stays the same. The method that a user holds has one reference to its
model; `add_labels`, `remove_labels` and `calibrate` make the next one and put it in the old one's place, whatever fails
before leaves the old one. `rank` and `save` take the reference once: they answer by one model, whoever changes it
meanwhile. What was learned, `labels_` and the like, is read through the method as if it were its own.
"""

from __future__ import annotations

import copy
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from everylabel import checks, config
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_in
from everylabel.data.given import texts_of
from everylabel.data.labels import labels_of
from everylabel.errors import ConfigError, DataError, NotFittedError
from everylabel.forks import Lock
from everylabel.methods.calibrate import CALIBRATION_DEPTH, Calibration
from everylabel.methods.evidence import Clue, shared_words
from everylabel.methods.traits import Described
from everylabel.methods.vocabulary import (
    AUTO,
    AddedLabels,
    Hidden,
    check_languages,
    checked_new,
    places,
    prepared,
    rank_visible,
)
from everylabel.run import QUIET, Run
from everylabel.text.matching import text_of
from everylabel.text.views import Views
from everylabel.types import LongArray, Ranking

State = dict[str, Any]
"""What a method learned: numpy arrays, csr matrices and plain JSON values by name ("tfidf/idf"): all of it is saved."""

MOST_CELLS = 1 << 24  # documents x labels that are ranked at a time, where few labels are selected: 128 MB
MOST_PADDED = 1_000  # ranks that a ranking has, if they are asked for, of however few labels


class Fitted(ABC):
    """What every model has."""

    labels_: LabelSet
    counts_: LongArray  # training documents of each label
    n_train_: int
    calibration_: Calibration | None
    hidden_: Hidden  # labels that were removed, or are deprecated
    selected_: Hidden | None = None  # labels that alone are ranked, in a model for some requests; None: all
    added_: AddedLabels | None  # labels that `_rank` does not know
    n_fitted_: int  # labels of the fit; those that were added come after them


@dataclass(kw_only=True)
class Method(Described, Fitted):
    """Subclasses add fields (settings), what they are (traits.py), and `_fit`, `_rank`, `_state`, `_restore`. Learned
    attributes end in `_`, and are set by `_fit`, `_restore` and `_with_labels` alone: nothing that a model has is
    changed in its place."""

    random_state: int = 0
    label_languages: str = AUTO  # translations that are texts of a label: in the documents' languages, "all", "none",
    # or such as "fi+sv"; names, alternatives and descriptions are read whatever language they are in

    def fit(self, dataset: Dataset, *, run: Run = QUIET) -> Self:
        """Learn from the data. Settings are checked here, so that a bad one is reported before any work is done.

        A fit that fails leaves the method as it was. `run`: who hears of the progress, and keeps what is done.
        """
        run = run.sharing()
        dataset = prepared(dataset, self.label_languages, run)
        return self._fitted_by(dataset, lambda model: model._fit(dataset, run))

    def rank(self, texts: Views | Documents | Iterable[str], k: int = 10) -> Ranking:
        """The k best labels of each text, scores in 0..1, best first; probabilities once the method is calibrated.

        Shape (texts, k), padded where there are fewer labels. A k beyond both the vocabulary and MOST_PADDED asks for
        nothing more: the ranking is as wide as the larger of the two.
        """
        model = self.model_
        found = model._scored(texts, k)
        return found if model.calibration_ is None else model.calibration_.apply(found)

    def calibrate(self, dataset: Dataset, ranking: Ranking | None = None) -> Self:
        """Learn from held-out labelled documents what a score is worth: rankings stay, scores become probabilities.

        The documents must not be those of `fit`, where scores are higher. Labels are matched by their ids. `ranking`
        saves the time to rank: these documents as the method ranks them uncalibrated, CALIBRATION_DEPTH deep.
        """
        return self._become(lambda model: model.calibrated(dataset, ranking))

    def add_labels(self, labels: Iterable[Label]) -> Self:
        """New labels are ranked from now on, by their texts, without training; they come after all others.

        A label that was removed comes back as it was. Any label that cannot be added is an error, and none is added.
        """
        labels = labels_of(labels)
        return self._become(lambda model: model.with_labels(labels))

    def remove_labels(self, ids: Iterable[str]) -> Self:
        """These labels are not ranked any more. An id that is not there is an error, and none is removed."""
        ids = texts_of(ids, "label id")
        return self._become(lambda model: model.without_labels(ids))

    def save(self, path: str | Path, *, overwrite: bool = True) -> None:
        """Write the model folder, atomically; see `everylabel.store`."""
        from everylabel.store import save_method

        save_method(self.model_, path, overwrite=overwrite)

    def check(self) -> None:
        """Raise ConfigError for settings that cannot work."""

    @property
    def model_(self) -> Self:
        """What was learned: a model, which never changes."""
        model: Self = self.__dict__.get("_model", self)
        if "labels_" not in model.__dict__:
            raise NotFittedError(f"{self.name} is not fitted yet; call fit(dataset), or load a saved model")
        return model

    def with_labels(self, labels: Iterable[Label]) -> Self:
        """The next model, with these labels: see `add_labels`. O(texts of all labels that came after the fit)."""
        old = self.model_
        fresh, back = checked_new(old.labels_, old.hidden_, labels)
        model, n = old._copy(), len(fresh)
        model.hidden_ = np.concatenate([old.hidden_, np.array([label.deprecated for label in fresh], np.bool_)])
        model.hidden_[back] = old.labels_.deprecated[back]
        model.selected_ = None
        if fresh:
            model.labels_ = old.labels_.extended(fresh)
            model.counts_ = np.concatenate([old.counts_, np.zeros(n, old.counts_.dtype)])
            model._with_labels(model.labels_, len(old.labels_))
        return model

    def without_labels(self, ids: Iterable[str]) -> Self:
        """The next model, which does not rank these labels: see `remove_labels`."""
        old = self.model_
        ids = texts_of(ids, "label id")
        hidden = old.hidden_.copy()
        hidden[places(old.labels_, old.hidden_, ids)] = True
        return old.hiding(hidden)

    def hiding(self, hidden: Hidden) -> Self:
        """The next model, which ranks the labels that are not hidden (a mask of all of them)."""
        model = self.model_._copy()
        model.hidden_ = hidden
        return model

    def selecting(self, wanted: Hidden) -> Self:
        """A model that ranks these labels alone (a mask of all of them), with the scores that they have among all.

        Nothing is copied: to be made for a request, and dropped. What is saved of it ranks all labels again. A document
        costs as much as a deeper ranking, at worst as one of all labels.
        """
        model = self.model_._copy()
        model.selected_ = wanted
        return model

    @property
    def unranked(self) -> Hidden:
        """Labels that are not ranked: they were removed, or others are selected."""
        return self.hidden_ if self.selected_ is None else self.hidden_ | ~self.selected_

    def calibrated(self, dataset: Dataset, ranking: Ranking | None = None) -> Self:
        """The next model, whose scores are probabilities: see `calibrate`."""
        old = self.model_
        pairs = pairs_in(old.labels_, dataset)
        if ranking is None:
            ranking = old._scored(dataset.documents, CALIBRATION_DEPTH)
        return old.with_calibration(Calibration.learn(ranking, pairs))

    def with_calibration(self, calibration: Calibration | None) -> Self:
        """The next model, with this map from scores to probabilities; None: scores as they come."""
        model = self.model_._copy()
        model.calibration_ = calibration
        return model

    def state(self) -> State:
        model = self.model_
        calibration = {} if model.calibration_ is None else model.calibration_.state()
        added = {} if model.added_ is None else model.added_.state()
        vocabulary = {"hidden": np.flatnonzero(model.hidden_), "n_fitted": model.n_fitted_, **added}
        return {"counts": model.counts_, "n_train": model.n_train_, **vocabulary, **calibration, **model._state()}

    def restore(self, labels: LabelSet, state: State) -> Self:
        model = replace(self)
        model.labels_ = labels
        model.counts_ = state["counts"]
        model.n_train_ = state["n_train"]
        model.calibration_ = Calibration.restored(state)
        checks.indexes(state["hidden"], "hidden", len(labels), kinds=np.int64)
        model.hidden_ = np.zeros(len(labels), np.bool_)
        model.hidden_[state["hidden"]] = True
        model.n_fitted_ = state["n_fitted"]
        model.added_ = AddedLabels.restored(state, self.base_form_language)
        model._restore(state)
        self._swap(model)
        return self

    def check_contents(self) -> None:
        """Of a model that was restored from a folder of unknown origin: ValueError or ConfigError unless all that
        kernels index by and compute with is as `_fit` would leave it. See checks.py for the words, and the cost."""
        model = self.model_
        model.check()
        checks.settings(config.to_dict(model))
        n_labels = len(model.labels_)
        checks.whole(model.n_train_, "n_train")
        checks.whole(model.n_fitted_, "n_fitted", most=n_labels)
        checks.array(model.counts_, "counts", np.int64, n_labels)
        checks.within(model.counts_, "counts", 0, 1 << 40)
        if model.calibration_ is not None:
            model.calibration_.check()
        if model.added_ is not None:
            model.added_.check(n_labels)
        model._check_contents(n_labels)

    def _fitted_by(self, dataset: Dataset, learn: Callable[[Self], None]) -> Self:
        """Fitted by `learn(model)`, which sets what `model` learns."""
        self.check_fit(dataset)
        model = replace(self)
        model.labels_, model.counts_, model.n_train_ = dataset.labels, dataset.counts, len(dataset)
        model.hidden_, model.n_fitted_ = dataset.labels.deprecated.copy(), len(dataset.labels)
        model.calibration_ = model.added_ = None
        learn(model)
        self._swap(model)
        return self

    def check_fit(self, dataset: Dataset) -> None:
        """Raise an error for settings or data that cannot work: before any work, and by all who say what it will be."""
        if not 0 <= self.random_state < 1 << 32:
            raise ConfigError(f"random_state must be a whole number from 0 to {(1 << 32) - 1}; got {self.random_state}")
        check_languages(self.label_languages)
        self.check()
        if len(dataset.labels) == 0:
            raise DataError(f"{dataset.name}: the vocabulary has no labels; expected at least one")
        if self.needs_pairs and (dataset.pairs is None or dataset.pairs.nnz == 0):
            raise DataError(
                f"{dataset.name}: method {self.name!r} learns from labelled documents, and there is no labelled pair; "
                "add labels to the training documents, or choose a method that needs none (everylabel methods)"
            )

    @property
    def needs_pairs(self) -> bool:
        """With these settings."""
        return self.traits.needs_pairs

    def _become(self, change: Callable[[Self], Self]) -> Self:
        """Put the next model in the place of the present one. Changes wait for each other, readers for none."""
        with self._changing:
            self._swap(change(self.model_))
        return self

    def _swap(self, model: Self) -> None:
        """One assignment: whoever reads has the old model or the new one."""
        if "labels_" in self.__dict__:
            raise TypeError(
                f"this {self.name} is a model, which never changes: with_labels, without_labels and calibrated give "
                "the next one"
            )
        self.__dict__["_model"] = model

    @property
    def _changing(self) -> Lock:
        lock: Lock = self.__dict__.setdefault("_lock", Lock())  # one of two threads' is kept
        return lock

    def _copy(self) -> Self:
        """The next model as it begins: all parts are those of this one."""
        model = copy.copy(self)
        model.__dict__.pop("_lock", None)
        return model

    def _copy_with(self, labels: LabelSet, counts: LongArray) -> Self:
        """The same with documents of these labels, of which some may be new: hidden, if they came as deprecated."""
        model = self._copy()
        model.labels_, model.counts_ = labels, counts
        model.hidden_ = np.concatenate([self.hidden_, labels.deprecated[len(self.hidden_) :]])
        return model

    def __getattr__(self, name: str) -> Any:
        """What was learned, of the present model."""
        model = self.__dict__.get("_model") if name.endswith("_") and not name.startswith("_") else None
        if model is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(model, name)

    def __getstate__(self) -> dict[str, Any]:
        """To be copied, or sent to another process: with its model, without its lock."""
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    # What a method can show for a label of a text, see evidence.py.

    def evidence(self, views: Views, label: int) -> Iterable[Clue]:  # noqa: ARG002
        """What this method alone can show for a label (by its number) of one document; here nothing."""
        return ()

    def reads(self, label: int) -> bool:
        """Is the label ranked by its texts? Those that never do know so the labels that were added later."""
        return self.traits.reads_label_texts or label >= self.n_fitted_

    def shared_words(self, text: str, label: int) -> Iterable[Clue]:
        return shared_words(text, text_of(self.labels_, label), self.base_form_language, self.rarity)

    @property
    def base_form_language(self) -> str:
        """Whose base forms are read; "none": words as they are."""
        return "en"

    def rarity(self, word: str) -> float:  # noqa: ARG002
        """How much a word of label texts says, up to 1; 1 of all words where that is not known."""
        return 1.0

    def _scored(self, texts: Views | Documents | Iterable[str], k: int) -> Ranking:
        """What `rank` returns, before any calibration."""
        model = self.model_
        k = _checked_k(k, len(model.labels_))
        views = Views.of(texts)
        if len(views) == 0:
            return Ranking.empty(0, k)
        found = Ranking.joined([model._visible(part, k) for part in model._parts(views)])
        return found.without(model._silent(views))

    def _parts(self, views: Views) -> Iterable[Views]:
        """All documents at once; of a selection so few that there is room for rankings of all labels."""
        n = len(views) if self.selected_ is None else max(1, MOST_CELLS // len(self.labels_))
        if n >= len(views):
            return [views]
        return (views.taken(np.arange(at, min(at + n, len(views)))) for at in range(0, len(views), n))

    def _visible(self, views: Views, k: int) -> Ranking:
        """Of the labels that are ranked at all."""
        return rank_visible(lambda depth: self._ranked(views, depth), self.unranked, k).top(k)

    def _silent(self, views: Views) -> NDArray[np.bool_]:
        """Documents that say nothing to this method: nothing is ranked for them, not what is common or comes first."""
        return views.silent

    def _ranked(self, views: Views, k: int) -> Ranking:
        """Of all labels, hidden ones too."""
        found = self._rank(views, k)
        return found if self.added_ is None else self.added_.merged_into(found, views, k)

    def _with_labels(self, labels: LabelSet, first: int) -> None:
        """Make the labels from place `first` on known to `_rank`, by parts that are put in the place of old ones: this
        is the next model, which has those of the old one so far. Those who cannot have them found by their words."""
        before, first = self.added_, self.n_fitted_
        if before is None:
            self.added_ = AddedLabels.of(labels, first, self.base_form_language)
        else:
            self.added_ = before.with_labels(labels, first)

    def _check_contents(self, n_labels: int) -> None:
        """What `_restore` has restored, for `check_contents`."""

    @abstractmethod
    def _fit(self, dataset: Dataset, run: Run) -> None: ...

    @abstractmethod
    def _rank(self, views: Views, k: int) -> Ranking: ...

    @abstractmethod
    def _state(self) -> State: ...

    @abstractmethod
    def _restore(self, state: State) -> None: ...


def _checked_k(k: int, n_labels: int) -> int:
    """As many ranks as there can be, whatever is asked for: memory grows with them."""
    try:
        whole = operator.index(k)
    except TypeError:
        raise DataError(f"k must be a whole number, at least 1; got {k!r}") from None
    if whole < 1:
        raise DataError(f"k must be at least 1; got {k}")
    return min(whole, max(n_labels, MOST_PADDED))
