"""Linear rankers on TF-IDF: `svm`, and `xr-linear`, the same down a tree of labels.

XR-Linear (Yu et al., PECOS: Prediction for Enormous and Correlated Output Spaces, 2022) is what MatchXML and
XR-Transformer are without their neural parts.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np

from everylabel.data.dataset import Dataset, LabelSet
from everylabel.errors import ConfigError
from everylabel.linear.ranker import LinearRanker
from everylabel.linear.solver import Features, SolverConfig
from everylabel.methods.base import Method, State
from everylabel.methods.facts import Facts, Work, compound_language
from everylabel.methods.rare import check_rare_weight, favour_rare
from everylabel.methods.traits import BAGS_OF_WORDS, method
from everylabel.run import QUIET, Run
from everylabel.states import add_prefix, strip_prefix
from everylabel.text.features import DocumentFeatures, check_reading
from everylabel.text.tfidf import TfidfConfig, in_language
from everylabel.text.views import Views
from everylabel.tree.build import LabelTree, build_tree, flat_tree, pifa
from everylabel.types import Csr, IntArray, LongArray, Ranking

# Labels with documents, and words of a document, from which on and up to which nine tenths of the weights are left out:
# with definitions of a line nothing is lost (benchmarks.run.fewer_weights), with abstracts (tibkat-de) ten points are.
FEWER_WEIGHTS_FROM, SHORT, FEWER_WEIGHTS = 100_000, 30, 0.012


@method("svm", "one linear classifier per label against all documents: the flat variant of xr-linear")
class Svm(Method):
    """One classifier a label against all documents. Fit O(documents x words x labels), rank O(words x labels)."""

    traits = replace(
        BAGS_OF_WORDS,
        why="one linear classifier a label",
        quick=True,
        worth=31,
        better_than="xr-linear",
        most_of_budget=0.25,
    )

    tfidf: TfidfConfig = field(default_factory=TfidfConfig)
    language: str = "none"  # whose base forms and pieces of words; "none": words as they are
    solver: SolverConfig = field(default_factory=SolverConfig)
    rare_weight: float = 0.0  # how much of a label's frequency is taken away, see rare.py

    @classmethod
    def cost(cls, facts: Facts) -> Work:
        return Work(solving=facts.n_seen * (2e-9 * facts.read_words + 6e-7 * facts.n_docs))

    @classmethod
    def fit_memory(cls, facts: Facts) -> float:
        """The words of the documents, and the classifiers' weights, twice while they are put together."""
        beyond = max(0, facts.n_seen - FEWER_WEIGHTS_FROM) if facts.words <= SHORT else 0
        return 3e8 + 60 * facts.pieces * facts.kept_words + 12_000 * (facts.n_seen - beyond) + 1_500 * beyond

    @classmethod
    def settings_for(cls, facts: Facts) -> dict[str, Any]:
        fewer = facts.n_seen > FEWER_WEIGHTS_FROM and facts.words <= SHORT
        return {**compound_language(facts), **({"solver": {"prune": FEWER_WEIGHTS}} if fewer else {})}

    def check(self) -> None:
        check_reading(self.tfidf, self.language)
        self.solver.check()
        check_rare_weight(self.rare_weight)

    def _fit(self, dataset: Dataset, run: Run) -> None:
        read = Views.in_run(dataset.documents, run).read_in(self.language)
        features, X = read.fitted_tfidf(in_language(self.tfidf, self.language), run)
        self.texts_ = self._trained(features, X, dataset.required_pairs, seen_labels(dataset), run)

    def fitted_on(self, features: DocumentFeatures, rows: Csr, pairs: Csr, labels: LabelSet, counts: LongArray) -> Self:
        """The next model, with the same settings, of documents that were read by these features. Cost: a fit's."""
        model = self.model_._copy_with(labels, counts)
        model.texts_ = model._trained(features, rows, pairs, in_order_of_ids(counts, labels), QUIET)
        return model

    def _trained(self, features: DocumentFeatures, X: Csr, pairs: Csr, labels: IntArray, run: Run) -> TextRanker:
        tree = self._tree(X, pairs, labels, run)
        return TextRanker(features, self._ranker().fit(Features.of(X), pairs, tree, run))

    def _tree(self, X: Csr, pairs: Csr, labels: IntArray, run: Run) -> LabelTree:  # noqa: ARG002
        return flat_tree(labels)

    def _ranker(self) -> LinearRanker:
        return LinearRanker(solver=self.solver, random_state=self.random_state)

    def _rank(self, views: Views, k: int) -> Ranking:
        deep = self.selected_ is not None  # its labels may be below any branch
        rank = partial(self.texts_.rank, views.read_in(self.language), deep=deep)
        return favour_rare(rank, self.counts_, self.rare_weight, k)

    @property
    def base_form_language(self) -> str:
        return super().base_form_language if self.language == "none" else self.language

    def _state(self) -> State:
        return self.texts_.state()

    def _restore(self, state: State) -> None:
        self.texts_ = TextRanker(DocumentFeatures(in_language(self.tfidf, self.language)), self._ranker()).restore(
            state
        )

    def _check_contents(self, n_labels: int) -> None:
        self.texts_.features.check()
        self.texts_.ranker.check(self.texts_.features.n_columns, n_labels)


@method("xr-linear", "linear ranker down a tree of labels, on TF-IDF: strong, fast, for any number of labels")
class XrLinear(Svm):
    """Fit O(documents x words x labels / leaves), rank O(words x beam x log labels); see linear/ and tree/.

    Deviations:
    - Chosen on the development split of eurlex57k, other than in PECOS: positives weigh twice as much as negatives,
      leaves are wide (400 labels), the title is one more field of features.
    - Weights are pruned by what they do to a margin, and a margin becomes a probability by a sigmoid.
    """

    traits = replace(BAGS_OF_WORDS, why="linear classifiers down a tree of labels", quick=True, worth=30)

    leaf_size: int = 400  # labels that are siblings at the bottom of the tree
    arity: int = 16  # branches of a node further up
    beam: int = 10  # branches followed at each level
    matcher_negatives: bool = False  # also train against documents that the search sends astray

    @classmethod
    def cost(cls, facts: Facts) -> Work:
        return Work(solving=3e-6 * facts.read_words + 1e-4 * facts.n_seen)

    def check(self) -> None:
        super().check()
        if self.leaf_size < 2 or self.arity < 2 or self.beam < 1:
            raise ConfigError(
                f"leaf_size and arity must be at least 2 and beam at least 1; got {self.leaf_size}, {self.arity} "
                f"and {self.beam}"
            )

    def _tree(self, X: Csr, pairs: Csr, labels: IntArray, run: Run) -> LabelTree:
        if len(labels) <= self.leaf_size:
            return flat_tree(labels)
        rng = np.random.default_rng(self.random_state)
        shape = {"leaf_size": self.leaf_size, "arity": self.arity}
        return build_tree(pifa(X, pairs[:, labels]), labels, rng=rng, run=run, **shape)

    def _ranker(self) -> LinearRanker:
        beam, astray = self.beam, self.matcher_negatives
        return LinearRanker(solver=self.solver, beam=beam, matcher_negatives=astray, random_state=self.random_state)


@dataclass(frozen=True)
class TextRanker:
    """A linear ranker together with the features it reads."""

    features: DocumentFeatures
    ranker: LinearRanker

    def rank(self, views: Views, k: int, *, deep: bool = False) -> Ranking:
        """Nothing for a text without a known word: the classifiers' constants are the same whatever the text."""
        X = views.tfidf(self.features)
        return self.ranker.rank(Features.of(X), k, deep=deep).without(np.diff(X.indptr) == 0)

    def state(self) -> State:
        return self.features.state("tfidf") | add_prefix("ranker", self.ranker.state())

    def restore(self, state: State) -> Self:
        self.features.restore("tfidf", state)
        self.ranker.restore(strip_prefix(state, "ranker"))
        return self


def seen_labels(dataset: Dataset) -> IntArray:
    """Labels with at least one pair."""
    return in_order_of_ids(dataset.counts, dataset.labels)


def in_order_of_ids(counts: LongArray, labels: LabelSet) -> IntArray:
    """Those that are counted at all; by their ids, so that the order of the vocabulary does not matter."""
    seen = np.flatnonzero(counts > 0)
    ids = list(labels.ids)
    return np.array(sorted(seen, key=lambda label: ids[label]), np.int32)
