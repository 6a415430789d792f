"""Keywords: the words by which a linear classifier knows a label, and the label's description that they make.

One linear SVM a label on TF-IDF of words in their base forms; a label's keywords are its largest positive weights.
A label's text is its name and its keywords, as many as fit, and beside them its given description. A label that nobody
has used has no weights: its alternative names stand in their place. Cost: the SVMs (linear/), a sort of their weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_matrix

from everylabel import checks
from everylabel.data.dataset import LabelSet, contains
from everylabel.errors import ConfigError, DataError
from everylabel.linear.ranker import LinearRanker
from everylabel.linear.solver import Features, SolverConfig
from everylabel.run import QUIET, Run
from everylabel.states import add_prefix, strip_prefix
from everylabel.text.lemmas import check_language
from everylabel.text.tfidf import Tfidf, TfidfConfig
from everylabel.text.views import Views
from everylabel.tree.build import build_tree, flat_tree, pifa
from everylabel.types import Csr, FloatArray, IntArray, LongArray, Ranking

ARITY = 16  # of the label tree, where there is one


@dataclass(kw_only=True, frozen=True)
class KeywordConfig:
    """How many keywords, and the SVM that they come from."""

    per_label: int = 20  # keywords of a label; 0: none, a label is its name
    language: str = "en"  # whose base forms; "none": words as they are
    min_df: int = 2  # documents that a word must occur in
    max_df: float = 0.7  # largest share of the documents that a word may occur in
    leaf_size: int = 0  # 0: each label against all documents; else against those of so many labels like it: faster
    solver: SolverConfig = field(default_factory=SolverConfig)

    def check(self) -> None:
        if self.per_label < 0 or self.leaf_size < 0 or self.leaf_size == 1:
            raise ConfigError(
                "keywords.per_label must not be negative, and keywords.leaf_size must be 0 (no tree) or at least 2; "
                f"got {self.per_label} and {self.leaf_size}"
            )
        if self.min_df < 1 or not 0 < self.max_df <= 1:
            raise ConfigError(
                "keywords.min_df must be at least 1, and keywords.max_df a share above 0 and at most 1; "
                f"got {self.min_df} and {self.max_df}"
            )
        check_language(self.language)
        self.solver.check()


class WordSvm:
    """Linear classifiers on words in their base forms. Learned: `tfidf_` and `ranker_`."""

    def __init__(self, config: KeywordConfig, random_state: int) -> None:
        self.config, self.random_state = config, random_state
        words = TfidfConfig(ngrams=1, min_df=config.min_df, max_df=config.max_df)
        self.tfidf_ = Tfidf(config=words)
        self.ranker_ = LinearRanker(solver=config.solver, matcher_negatives=False, random_state=random_state)

    def fit(self, views: Views, pairs: Csr, labels: IntArray, run: Run = QUIET) -> Features:
        """Classifiers of these labels, columns of `pairs`; the documents' features, which took time."""
        read = views.lemmatised(self.config.language).full_texts
        self.tfidf_.fit(read, run)
        if not self.tfidf_.n_terms:
            raise DataError(
                f"no word of the {len(views)} training documents is left to find keywords among: are their texts "
                "empty? Otherwise lower keywords.min_df (--set keywords.min_df=1) or raise keywords.max_df"
            )
        X = self.tfidf_.transform(read, run)
        tree = flat_tree(labels)
        if 0 < self.config.leaf_size < len(labels):
            rng = np.random.default_rng(self.random_state)
            vectors = pifa(X, pairs[:, labels])
            tree = build_tree(vectors, labels, leaf_size=self.config.leaf_size, arity=ARITY, rng=rng, run=run)
        features = Features.of(X)
        self.ranker_.fit(features, pairs, tree, run)
        return features

    def features(self, views: Views) -> Features:
        return Features.of(views.lemmatised(self.config.language).words(self.tfidf_))

    @property
    def words(self) -> list[str]:
        return self.tfidf_.names_

    def weights(self, n_labels: int) -> tuple[Csr, FloatArray]:
        """(labels x words, each label's constant); nothing for labels without a classifier. O(weights)."""
        tree = self.ranker_.tree_
        by_word = self.ranker_.weights(tree.depth - 1).tocoo()
        rows, words = tree.order[by_word.col], by_word.row
        matrix = csr_matrix((by_word.data, (rows, words)), shape=(n_labels, len(self.words) + 1), dtype=np.float32)
        constants = matrix[:, -1].toarray().ravel() * np.float32(self.config.solver.bias)
        return csr_matrix(matrix[:, :-1]), constants

    def state(self, prefix: str) -> dict[str, Any]:
        return add_prefix(f"{prefix}/tfidf", self.tfidf_.state()) | add_prefix(f"{prefix}/ranker", self.ranker_.state())

    def restore(self, prefix: str, state: dict[str, Any]) -> Self:
        self.tfidf_ = self.tfidf_.restore(strip_prefix(state, f"{prefix}/tfidf"))
        self.ranker_.restore(strip_prefix(state, f"{prefix}/ranker"))
        return self

    def check(self, n_labels: int) -> None:
        self.tfidf_.check()
        self.ranker_.check(self.tfidf_.n_terms, n_labels)


def hard_negatives(found: Ranking, pairs: Csr, n: int) -> IntArray:
    """Each document's first n ranked labels that are not its own; -1 where there are fewer. O(ranks log ranks)."""
    wrong = (found.ids >= 0) & ~contains(pairs, found.ids)
    first = np.argsort(~wrong, axis=1, kind="stable")[:, :n]
    ids = np.where(np.take_along_axis(wrong, first, 1), np.take_along_axis(found.ids, first, 1), -1)
    return np.pad(ids, ((0, 0), (0, n - ids.shape[1])), constant_values=-1).astype(np.int32)


def top_words(weights: Csr, n: int) -> Csr:
    """Each row's n largest positive weights, best first, equal ones in the order of the columns. O(nnz log nnz)."""
    rows = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))
    order = np.lexsort((weights.indices, -weights.data, rows))
    order = order[weights.data[order] > 0]
    counts = np.bincount(rows[order], minlength=weights.shape[0])
    place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    order = order[place < n]
    indptr = np.concatenate([[0], np.cumsum(np.minimum(counts, n))]).astype(np.int64)
    return csr_matrix((weights.data[order], weights.indices[order], indptr), shape=weights.shape)


class Keyword(NamedTuple):
    word: str
    weight: float  # of the SVM
    read: bool  # does it fit into the text that the encoder reads?


class Description(NamedTuple):
    id: str
    name: str
    text: str  # what the encoder reads
    keywords: list[Keyword]


@dataclass(frozen=True)
class Descriptions:
    """The labels' texts. `keywords` is labels x words, best first in each row; `read` says how many of them fit."""

    words: list[str]
    keywords: Csr
    read: IntArray

    @classmethod
    def made(
        cls, labels: LabelSet, words: list[str], keywords: Csr, count: Callable[[Sequence[str]], LongArray], room: int
    ) -> Descriptions:
        """Keywords are taken as long as the tokens of them and of the name are at most `room`."""
        at = np.unique(keywords.indices)
        lengths = np.zeros(len(words), np.int64)
        lengths[at] = count([words[i] for i in at])
        total = np.concatenate([[0], np.cumsum(lengths[keywords.indices])])
        used = total[1:] - np.repeat(total[keywords.indptr[:-1]], np.diff(keywords.indptr))
        fits = used + np.repeat(count(list(labels.names)), np.diff(keywords.indptr)) <= room
        before = np.concatenate([[0], np.cumsum(fits)])
        return cls(words, keywords, (before[keywords.indptr[1:]] - before[keywords.indptr[:-1]]).astype(np.int32))

    def check(self, n_labels: int) -> None:
        """Of those that were restored: as many words as there are, and no more read than there are in a row."""
        checks.matrix(self.keywords, "keywords", n_labels, len(self.words))
        lengths = np.diff(self.keywords.indptr)
        checks.indexes(self.read, "keywords that are read", int(lengths.max(initial=0)) + 1, n_labels)
        checks.require((self.read <= lengths).all(), "more keywords are read than there are")

    def texts(self, labels: LabelSet, used: Any) -> tuple[list[str], list[str]]:
        """Name and keywords, and the given description; `used` says which labels some document has."""
        names = [self._text(labels, label, bool(used[label])) for label in range(len(labels))]
        return names, list(labels.descriptions)

    def read_keywords(self) -> Csr:
        """Labels x words, only those that fit."""
        lengths = np.diff(self.keywords.indptr)
        place = np.arange(self.keywords.nnz) - np.repeat(self.keywords.indptr[:-1], lengths)
        keep = place < np.repeat(self.read, lengths)
        indptr = np.concatenate([[0], np.cumsum(self.read)])
        return csr_matrix((self.keywords.data[keep], self.keywords.indices[keep], indptr), shape=self.keywords.shape)

    def one(self, labels: LabelSet, label: int, used: bool) -> Description:
        row = slice(self.keywords.indptr[label], self.keywords.indptr[label + 1])
        found = zip(self.keywords.indices[row], self.keywords.data[row], strict=True)
        keywords = [
            Keyword(self.words[i], float(weight), bool(n < self.read[label])) for n, (i, weight) in enumerate(found)
        ]
        text = " ".join(filter(None, [self._text(labels, label, used), labels[label].description]))
        return Description(labels[label].id, labels[label].name, text, keywords)

    def with_more(self, n: int) -> Descriptions:
        """So many labels more, without keywords."""
        indptr = np.concatenate([self.keywords.indptr, np.full(n, self.keywords.indptr[-1])])
        shape = (self.keywords.shape[0] + n, self.keywords.shape[1])
        keywords = csr_matrix((self.keywords.data, self.keywords.indices, indptr), shape=shape)
        return Descriptions(self.words, keywords, np.concatenate([self.read, np.zeros(n, self.read.dtype)]))

    def without_keywords(self) -> Descriptions:
        return Descriptions(self.words, self.keywords, np.zeros_like(self.read))

    def _text(self, labels: LabelSet, i: int, used: bool) -> str:
        first = self.keywords.indptr[i]
        keywords = [self.words[word] for word in self.keywords.indices[first : first + self.read[i]]]
        return " ".join(filter(None, [labels.names[i], *keywords, *(() if used else labels.names_beside(i))]))
