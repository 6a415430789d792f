"""Labels of the most similar training documents, by the cosine of TF-IDF."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, vstack

from everylabel import checks
from everylabel.data.dataset import Dataset, LabelSet
from everylabel.errors import ConfigError
from everylabel.linear.nearest import InvertedLists
from everylabel.methods.base import Method, State
from everylabel.methods.evidence import Clue
from everylabel.methods.facts import Facts, Work, compound_language
from everylabel.methods.traits import BAGS_OF_WORDS, method
from everylabel.run import Run
from everylabel.text.features import DocumentFeatures, check_reading
from everylabel.text.tfidf import TfidfConfig, in_language
from everylabel.text.views import Views
from everylabel.types import Csr, LongArray, Ranking, Same
from everylabel.vectors import largest_of_rows


@method("knn", "labels of the most similar training documents")
class NearestNeighbours(Method):
    """Score = share of the neighbours' similarity that has the label. Rank O(words x documents with the word)."""

    traits = replace(BAGS_OF_WORDS, why="labels of similar documents", seconds=(3e-4, 2.5e-6), quick=True, worth=20)

    tfidf: TfidfConfig = field(default_factory=TfidfConfig)
    language: str = "none"  # whose base forms and pieces of words; "none": words as they are
    neighbours: int = 20
    power: float = 2.0  # of the similarity: how much more the nearest ones count
    words: int = 100  # of a text, the heaviest, by which neighbours are looked for; 0: all, which takes far longer

    @classmethod
    def cost(cls, facts: Facts) -> Work:
        return Work(reading=0.4e-6 * facts.read_words)

    @classmethod
    def fit_memory(cls, facts: Facts) -> float:
        """The words of the documents, also as lists of documents by word."""
        return 2e8 + 60 * facts.pieces * facts.kept_words + 24 * facts.n_pairs

    @classmethod
    def settings_for(cls, facts: Facts) -> dict[str, Any]:
        return compound_language(facts)

    def check(self) -> None:
        check_reading(self.tfidf, self.language)
        if self.neighbours < 1 or self.power < 0 or self.words < 0:
            raise ConfigError(
                "neighbours must be at least 1, power and words not negative; "
                f"got {self.neighbours}, {self.power} and {self.words}"
            )

    def _fit(self, dataset: Dataset, run: Run) -> None:
        views = Views.in_run(dataset.documents, run).read_in(self.language)
        self.features_, X = views.fitted_tfidf(in_language(self.tfidf, self.language), run)
        self.lists_ = views.once(("inverted lists", self.features_.key), lambda: InvertedLists.of(X, compact=True))
        self.pairs_ = dataset.required_pairs

    def with_documents(self, views: Views, pairs: Csr, labels: LabelSet, counts: LongArray) -> NearestNeighbours:
        """The next model, with more neighbours, and their words: a model of few documents knows few. The vocabulary
        of labels may have grown: neighbours cannot read labels, but documents of them may come. O(nnz of all training
        documents)."""
        old = self.model_
        model, read = old._copy_with(labels, counts), views.read_in(self.language)
        model.features_, rows = old.features_.grown(read.documents, old.rows)
        both = csr_matrix(vstack([rows, read.tfidf(model.features_)], format="csr"))
        model.lists_ = InvertedLists.of(both, compact=old.lists_.weights.dtype == np.uint16)
        known = old.pairs_
        widened = csr_matrix((known.data, known.indices, known.indptr), shape=(known.shape[0], len(labels)))
        model.pairs_ = csr_matrix(vstack([widened, pairs], format="csr"), dtype=np.float32)
        return model

    @property
    def rows(self) -> Csr:
        """The training documents by `features_`. A copy: O(nnz)."""
        return csr_matrix(self.model_.lists_.matrix.T)

    def nearest(self, views: Views) -> Ranking:
        """The most similar training documents: their numbers, and the similarity."""
        model = self.model_
        key = ("neighbours", Same(model.lists_.weights), model.features_.key, self.neighbours, self.words)
        return views.ranking(key, model._nearest)

    def evidence(self, views: Views, label: int) -> Iterator[Clue]:
        """Near training documents that have the label. O(their pairs): scipy's columns would cost O(labels)."""
        pairs, (ids, scores) = self.pairs_, self.nearest(views)
        for row, score in zip(ids[0].tolist(), scores[0].tolist(), strict=True):
            of_row = slice(pairs.indptr[row], pairs.indptr[row + 1])
            if row >= 0 and pairs.data[of_row][pairs.indices[of_row] == label].any():
                yield Clue("document", "", score, row)

    def _nearest(self, views: Views) -> Ranking:
        vectors = views.read_in(self.language).tfidf(self.features_)
        return self.lists_.nearest(largest_of_rows(vectors, self.words) if self.words else vectors, self.neighbours)

    def _rank(self, views: Views, k: int) -> Ranking:
        from everylabel.linear.nearest_kernels import votes_of_rows

        near = self.nearest(views)
        found = near.ids >= 0
        weights = np.where(found, np.maximum(near.scores, 0), 0) ** self.power
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
        pairs, ranking = self.pairs_, Ranking.empty(near.n_docs, min(k, self.pairs_.shape[1]))
        votes_of_rows(near.ids, weights.astype(np.float32), pairs.indptr, pairs.indices, pairs.data, *ranking)
        return ranking.top(k)

    @property
    def base_form_language(self) -> str:
        return super().base_form_language if self.language == "none" else self.language

    def _state(self) -> State:
        return self.features_.state("tfidf") | self.lists_.state("documents") | {"pairs": self.pairs_}

    def _restore(self, state: State) -> None:
        self.features_ = DocumentFeatures(in_language(self.tfidf, self.language)).restore("tfidf", state)
        self.lists_ = InvertedLists.restored("documents", state)
        self.pairs_ = state["pairs"]

    def _check_contents(self, n_labels: int) -> None:
        """Documents are found by their words, and have labels of the fit, or of all."""
        self.features_.check()
        checks.matrix(self.pairs_, "pairs", len(self.lists_.owners), None)
        n_documents, n_known = self.pairs_.shape
        checks.require(n_known <= n_labels, f"pairs of {n_known} labels for {n_labels}")
        self.lists_.check(self.features_.n_columns, n_documents)
