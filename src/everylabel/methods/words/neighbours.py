"""Labels of the most similar training documents, by the cosine of TF-IDF.

Documents that are learned later stand beside those of the fit, whose arrays every next model shares, until they are an
eighth of them (later.py): then all are put together once. Till then
- n-grams of the fit are as rare as they were at the fit, for all documents; new ones, of which there are some once ten
  documents have come, as they are in all documents. At the merge all are as rare as in all documents;
- the weights of later documents are as coarse as those of the fit.
When that is decides the number of documents alone, not that of calls: documents that are learned one by one, or in any
parts, give the same model as learned at once, to the bit. Features that came ready are not weighed: neighbours are
those of a fit on all documents, but for what compact lists round.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from everylabel import checks
from everylabel.data.dataset import Dataset, LabelSet
from everylabel.errors import ConfigError
from everylabel.linear.nearest import InvertedLists
from everylabel.methods.base import Method, State
from everylabel.methods.evidence import Clue
from everylabel.methods.facts import Facts, Work, compound_language
from everylabel.methods.traits import BAGS_OF_WORDS, method
from everylabel.methods.words.later import Later, most_later, rows_of_both
from everylabel.run import Run
from everylabel.states import add_prefix, strip_prefix
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
        self.later_: Later | None = None

    def with_documents(self, views: Views, pairs: Csr, labels: LabelSet, counts: LongArray) -> NearestNeighbours:
        """The next model, with more neighbours, and their words: a model of few documents knows few. The vocabulary
        of labels may have grown: neighbours cannot read labels, but documents of them may come. O(words of these
        documents + of those that came since all were put together last); every `most_later` documents O(nnz of all)."""
        model, documents, first = self.model_._copy_with(labels, counts), views.read_in(self.language).documents, 0
        while first < len(documents):
            later = model.later_ or Later.none(model.features_, model.lists_)
            most = most_later(model.pairs_.shape[0])
            last = min(first + max(most - len(later), 0), len(documents))
            some = documents if last - first == len(documents) else documents.subset(np.arange(first, last))
            model.later_, first = later.with_documents(some, pairs[first:last]), last
            if len(model.later_) >= most:
                model = model.merged()
        if model.later_ is not None:
            model.later_.grown  # noqa: B018 - made now, not by the first who asks for neighbours
        return model

    def merged(self) -> NearestNeighbours:
        """The next model, with all documents put together: the same documents, n-grams as rare as in all. O(nnz)."""
        old = self.model_
        if old.later_ is None:
            return old
        model = old._copy()
        model.features_, model.lists_, model.pairs_ = old.later_.merged(old.pairs_)
        model.later_ = None
        return model

    @property
    def n_documents(self) -> int:
        later = self.model_.later_
        return int(self.model_.pairs_.shape[0]) + (0 if later is None else len(later))

    @property
    def n_pairs(self) -> int:
        """Of documents and labels."""
        later = self.model_.later_
        return int(self.model_.pairs_.nnz) + (0 if later is None else int(later.pairs.nnz))

    @property
    def rows(self) -> Csr:
        """The training documents by `features_`, of a model that is `merged`. A copy: O(nnz)."""
        return csr_matrix(self.model_.lists_.matrix.T)

    def nearest(self, views: Views) -> Ranking:
        """The most similar training documents: their numbers, and the similarity."""
        model = self.model_
        what = Same(model.lists_.weights), Same(model.later_), model._reading.key
        return views.ranking(("neighbours", *what, self.neighbours, self.words), model._nearest)

    def evidence(self, views: Views, label: int) -> Iterator[Clue]:
        """Near training documents that have the label. O(their pairs): scipy's columns would cost O(labels)."""
        ids, scores = self.nearest(views)
        for row, score in zip(ids[0].tolist(), scores[0].tolist(), strict=True):
            pairs, own = self.pairs_, row
            if self.later_ is not None and row >= pairs.shape[0]:
                pairs, own = self.later_.pairs, row - pairs.shape[0]
            of_row = slice(pairs.indptr[own], pairs.indptr[own + 1])
            if row >= 0 and pairs.data[of_row][pairs.indices[of_row] == label].any():
                yield Clue("document", "", score, row)

    @property
    def _reading(self) -> DocumentFeatures:
        """What documents are read by."""
        return self.features_ if self.later_ is None else self.later_.read.reading

    def _nearest(self, views: Views) -> Ranking:
        vectors = views.read_in(self.language).tfidf(self._reading)
        lists = self.lists_ if self.later_ is None else self.later_.grown
        return lists.nearest(largest_of_rows(vectors, self.words) if self.words else vectors, self.neighbours)

    def _rank(self, views: Views, k: int) -> Ranking:
        from everylabel.linear.nearest_kernels import votes_of_rows

        near = self.nearest(views)
        found = near.ids >= 0
        weights = np.where(found, np.maximum(near.scores, 0), 0) ** self.power
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
        ids, pairs = near.ids, self.pairs_
        if self.later_ is not None:
            ids, pairs = rows_of_both(pairs, self.later_.pairs, ids)
        ranking = Ranking.empty(near.n_docs, min(k, pairs.shape[1]))
        votes_of_rows(ids, weights.astype(np.float32), pairs.indptr, pairs.indices, pairs.data, *ranking)
        return ranking.top(k)

    @property
    def base_form_language(self) -> str:
        return super().base_form_language if self.language == "none" else self.language

    def _state(self) -> State:
        later = {} if self.later_ is None else add_prefix("later", self.later_.state())
        return self.features_.state("tfidf") | self.lists_.state("documents") | {"pairs": self.pairs_} | later

    def _restore(self, state: State) -> None:
        self.features_ = DocumentFeatures(in_language(self.tfidf, self.language)).restore("tfidf", state)
        self.lists_ = InvertedLists.restored("documents", state)
        self.pairs_ = state["pairs"]
        later: State = strip_prefix(state, "later")
        self.later_ = Later.restored(self.features_, self.lists_, later) if later else None

    def _check_contents(self, n_labels: int) -> None:
        """Documents are found by their words, and have labels of the fit, or of all."""
        self.features_.check()
        checks.matrix(self.pairs_, "pairs", len(self.lists_.owners), None)
        n_documents, n_known = self.pairs_.shape
        checks.require(n_known <= n_labels, f"pairs of {n_known} labels for {n_labels}")
        self.lists_.check(self.features_.n_columns, n_documents)
        if self.later_ is not None:
            owners = self.lists_.owners
            checks.require(np.array_equal(owners, np.arange(n_documents)), "a document is not its own")
            self.later_.check(n_labels)
