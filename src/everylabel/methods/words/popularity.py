"""The most frequent labels for every text: the floor that every method must beat."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from everylabel.data.dataset import Dataset
from everylabel.methods.base import Method, State
from everylabel.methods.facts import Facts, Work
from everylabel.methods.traits import Traits
from everylabel.run import Run
from everylabel.text.views import Views
from everylabel.types import LongArray, Ranking


@dataclass(kw_only=True)
class Popularity(Method):
    """Score = share of the training documents with the label. Fit O(pairs), rank O(n k)."""

    name: ClassVar[str] = "popularity"
    summary: ClassVar[str] = "the most frequent labels, whatever the text: the floor that every method must beat"
    traits: ClassVar[Traits] = Traits(label_by_label=True, needs_texts=False)

    @classmethod
    def cost(cls, facts: Facts) -> Work:
        return Work(reading=1e-8 * facts.n_pairs)

    def _fit(self, dataset: Dataset, run: Run) -> None:
        pass  # the counts that every method keeps are all there is to learn

    def _rank(self, views: Views, k: int) -> Ranking:
        best = self._by_frequency[:k]
        scores = (self.counts_[best] / max(self.n_train_, 1)).astype(np.float32)
        found = Ranking(best.astype(np.int32)[None], scores[None]).top(k)
        return Ranking(*(np.tile(part, (len(views), 1)) for part in found))

    @cached_property
    def _by_frequency(self) -> LongArray:
        """Labels with documents, the most frequent first; those that are added later have none."""
        seen = np.flatnonzero(self.counts_ > 0)
        return seen[np.lexsort((seen, -self.counts_[seen]))]

    def _state(self) -> State:
        return {}

    def _restore(self, state: State) -> None:
        pass
