"""Labels of the most similar training documents, by the cosine of TF-IDF."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_matrix, hstack, vstack

from everylabel.data.dataset import Dataset, Documents
from everylabel.errors import ConfigError
from everylabel.linear.nearest import InvertedLists
from everylabel.memo import Last
from everylabel.methods.base import Method, State
from everylabel.methods.facts import Facts, Work
from everylabel.methods.traits import Traits
from everylabel.text.tfidf import DocumentFeatures, TfidfConfig
from everylabel.types import Csr, Ranking
from everylabel.vectors import largest_of_rows


@dataclass(kw_only=True)
class NearestNeighbours(Method):
    """Score = share of the neighbours' similarity that has the label. Rank O(words x documents with the word)."""

    name: ClassVar[str] = "knn"
    summary: ClassVar[str] = "labels of the most similar training documents"
    traits: ClassVar[Traits] = Traits(
        why="labels of similar documents", label_by_label=True, needs_texts=False, worth=20
    )

    tfidf: TfidfConfig = field(default_factory=TfidfConfig)
    neighbours: int = 20
    power: float = 2.0  # of the similarity: how much more the nearest ones count
    words: int = 100  # of a text, the heaviest, by which neighbours are looked for; 0: all, which takes far longer

    @classmethod
    def cost(cls, facts: Facts) -> Work:
        return Work(reading=0.4e-6 * facts.all_words)

    @classmethod
    def seconds_per_document(cls, facts: Facts) -> float:
        return 3e-4 + 2.5e-6 * facts.words

    def check(self) -> None:
        self.tfidf.check()
        if self.neighbours < 1 or self.power < 0 or self.words < 0:
            raise ConfigError(
                "neighbours must be at least 1, power and words not negative; "
                f"got {self.neighbours}, {self.power} and {self.words}"
            )

    def _fit(self, dataset: Dataset) -> None:
        self.features_ = DocumentFeatures(self.tfidf)
        self.lists_ = InvertedLists.of(self.features_.fit_transform(dataset.documents))
        self.pairs_ = dataset.required_pairs
        self.last_: Last[tuple[tuple[str, ...], tuple[str, ...]], Ranking] = Last()

    def learn(self, documents: Documents, pairs: Csr) -> None:
        """More neighbours, at once; how rare a word is stays as it was at the fit. O(nnz of all training documents)."""
        vectors = self.features_.transform(documents)
        lists = csr_matrix(hstack([self.lists_.lists, vectors.T], format="csr"), dtype=np.float32)
        self.lists_ = InvertedLists(lists, np.arange(lists.shape[1], dtype=np.int32))
        self.pairs_ = csr_matrix(vstack([self.pairs_, pairs], format="csr"), dtype=np.float32)
        self.last_ = Last()

    def nearest(self, documents: Documents) -> Ranking:
        """The most similar training documents: their numbers, and the similarity. Asked again, it is remembered."""
        if documents.features is not None:
            return self._nearest(documents)
        return self.last_.of((tuple(documents.titles), tuple(documents.texts)), lambda: self._nearest(documents))

    def _nearest(self, documents: Documents) -> Ranking:
        vectors = self.features_.transform(documents)
        return self.lists_.nearest(largest_of_rows(vectors, self.words) if self.words else vectors, self.neighbours)

    def _rank(self, documents: Documents, k: int) -> Ranking:
        near = self.nearest(documents)
        found = near.ids >= 0
        weights = np.where(found, np.maximum(near.scores, 0), 0) ** self.power
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
        rows = np.repeat(np.arange(near.n_docs), found.sum(axis=1))
        shape = (near.n_docs, self.pairs_.shape[0])
        votes = csr_matrix((weights[found].astype(np.float32), (rows, near.ids[found])), shape=shape) @ self.pairs_
        np.minimum(votes.data, 1, out=votes.data)  # a sum of shares may be rounded to just above 1
        return Ranking.from_csr(votes, k)

    def _state(self) -> State:
        return self.features_.state("tfidf") | {"lists": self.lists_.lists, "pairs": self.pairs_}

    def _restore(self, state: State) -> None:
        self.features_ = DocumentFeatures(self.tfidf).restore("tfidf", state)
        self.lists_ = InvertedLists(state["lists"], np.arange(state["lists"].shape[1], dtype=np.int32))
        self.pairs_ = state["pairs"]
        self.last_ = Last()
