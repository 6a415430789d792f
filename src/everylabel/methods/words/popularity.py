"""The most frequent labels for every text: the floor that every method must beat."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from everylabel import checks
from everylabel.data.dataset import Dataset
from everylabel.methods.base import Method, State
from everylabel.methods.facts import Facts, Work
from everylabel.methods.traits import BAGS_OF_WORDS, method
from everylabel.run import Run
from everylabel.text.views import Views
from everylabel.types import LongArray, Ranking


@method("popularity", "the most frequent labels, whatever the text: the floor that every method must beat")
class Popularity(Method):
    """Score = share of the training documents with the label. Fit O(pairs), rank O(n k)."""

    traits = BAGS_OF_WORDS

    @classmethod
    def cost(cls, facts: Facts) -> Work:
        return Work(reading=1e-8 * facts.n_pairs)

    def _fit(self, dataset: Dataset, run: Run) -> None:
        pass  # the counts that every method keeps are all there is to learn

    def _rank(self, views: Views, k: int) -> Ranking:
        best = self._by_frequency[:k]
        scores = (self.counts_[best] / max(self.n_train_, 1)).astype(np.float32)
        found = Ranking(best.astype(np.int32)[None], scores[None]).top(k)
        return Ranking(np.tile(found.ids, (len(views), 1)), np.tile(found.scores, (len(views), 1)))

    def _silent(self, views: Views) -> NDArray[np.bool_]:
        return np.zeros(len(views), np.bool_)  # whatever the text

    @cached_property
    def _by_frequency(self) -> LongArray:
        """Labels with documents, the most frequent first; those that are added later have none."""
        seen = np.flatnonzero(self.counts_ > 0)
        return seen[np.lexsort((seen, -self.counts_[seen]))]

    def _state(self) -> State:
        return {}

    def _restore(self, state: State) -> None:
        pass

    def _check_contents(self, n_labels: int) -> None:  # noqa: ARG002
        checks.within(self.counts_, "counts", 0, self.n_train_)
