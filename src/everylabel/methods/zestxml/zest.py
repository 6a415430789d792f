"""ZestXML: words of a document matched with words of a label by a sparse table that is learned from pairs.

"Generalized Zero-Shot Extreme Multi-label Learning". score(x, l) = x W z_l for TF-IDF vectors of document and label; W
is sparse: the entries with the strongest association in X^T Y Z, then their weights are learned on positives and on
negatives from a shortlist. An unseen label is ranked by the words that it shares with seen ones.
Deviations:
- Association is what goes beyond chance (X is centred), not the plain product: else common words take all entries.
- A fixed number of document words for each label word, instead of a fixed number a document word.
- W always has the word itself, also one that no training document has; one that no seen label has, or that comes with
  a label that is added later, counts as much as the others on average.
- A label's vector is the mean of those of its name, alternatives and description, in base forms.
- Each seen label has one more feature, itself, so that it can have words of its own (the paper's data have it for all
  labels). Half of the pairs are learned without it, because unseen labels have only words.
- Negatives: the shortlist of the associations, then that of the learned weights, and random labels. Logistic loss by
  Adagrad, a few passes, instead of the paper's solver. No second classifier is mixed in.
Cost: fit pairs x label words x document words for the associations, by blocks; a pass over the pairs costs pairs x
label words x `entries`. A document: the entries of its words, and the labels of the label words that they lead to.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_matrix, hstack, identity, vstack

from everylabel import checks
from everylabel.data.dataset import Dataset, LabelSet, contains
from everylabel.data.splits import in_order_of_ids, ranks
from everylabel.errors import ConfigError
from everylabel.methods.base import Method, State
from everylabel.methods.facts import MANY_LABELS, Facts, Work
from everylabel.methods.traits import PAIRS_AND_TEXTS, method
from everylabel.parallel import for_each_part, parallel_map
from everylabel.run import QUIET, Run
from everylabel.states import add_prefix, strip_prefix
from everylabel.text.features import DocumentFeatures
from everylabel.text.lemmas import check_language, lemmatised, stop_words
from everylabel.text.matching import label_texts
from everylabel.text.tfidf import Tfidf, TfidfConfig, in_language
from everylabel.text.views import Views
from everylabel.types import Csr, IntArray, Ranking
from everylabel.vectors import side_by_side, unit_rows

_BLOCK = 256  # label features whose associations are there at a time
_LEAST = 1e-9  # an association below it is none
_START = 5.0  # margin of a perfect match before anything is learned
_START_OWN = 1.0  # of the label's own feature
_START_BIAS = -3.0
_ROUNDS = 2  # shortlists: of the associations, then of what was learned
_SAME_WORD = 2.0  # start of a label word's own entry; all others of it together have length 1
_NEGATIVES = 20  # of a document from the shortlist, and half as many at random
_PLAIN_SHARE = 0.5  # of the pairs, learned without the label's own feature
_RATE = 0.03
LARGEST_MARGIN = 1e6  # before it becomes a probability
_COST_POSITIVE = 2.0  # loss weight of true pairs


class Table(NamedTuple):
    """W by label features: csr (label features, document features), and the constant."""

    weights: Csr
    bias: float


@method(
    "zestxml",
    "which words of a document go with which words of a label, learned from pairs: labels without documents, too",
)
class ZestXml(Method):
    """Score = the logistic function of x W z. Ranks labels of which the document leads to some word."""

    traits = replace(
        PAIRS_AND_TEXTS,
        why="words of documents that go with words of labels",
        on_one_core=1.36,
        worth=60,
        most_labels=MANY_LABELS,
        reads_sentences=60,
    )

    tfidf: TfidfConfig = field(default_factory=TfidfConfig)
    language: str = "en"  # whose base forms and function words; "none": words as they are
    entries: int = 200  # document words for each label word
    epochs: int = 3  # passes over the pairs, for each of two shortlists

    @classmethod
    def cost(cls, facts: Facts) -> Work:
        return Work(solving=facts.n_pairs * (2e-4 + 1.3e-6 * min(facts.words, 1_000)))

    @classmethod
    def settings_for(cls, facts: Facts) -> dict[str, Any]:
        return {"language": facts.language}

    def check(self) -> None:
        self.tfidf.check()
        check_language(self.language)
        if self.entries < 1 or self.epochs < 1:
            raise ConfigError(f"entries and epochs must be at least 1; got {self.entries} and {self.epochs}")

    @property
    def base_form_language(self) -> str:
        return self.language

    def _fit(self, dataset: Dataset, run: Run) -> None:
        ordered = in_order_of_ids(dataset)
        views = Views.in_run(dataset.documents, run).taken(np.argsort(ranks(dataset.documents.ids)))
        read = views.lemmatised(self.language)
        self.features_, X = read.fitted_tfidf(in_language(self.tfidf, self.language), run)
        Z = self._label_features(ordered, read, run)
        X, n_words = hstack([X, self._label_words(read)], format="csr"), X.shape[1]
        own = self.words_.n_terms  # the first label feature that is a label itself
        same = same_words(own, n_words, (Z.shape[1], X.shape[1]))
        table = associated(X, ordered.required_pairs, Z, same * np.float32(_SAME_WORD), own, self.entries, run)
        rng = np.random.default_rng(self.random_state)
        for _ in range(_ROUNDS):
            table = self._learned(X, ordered.required_pairs, Z, table, same, own, rng, run)
        place = ranks(dataset.labels.ids)
        self.tables_ = RankingTables(by_document_words(table), csr_matrix(Z[place].T))
        self.bias_ = table.bias
        itself = table.weights.data[in_matrix(table.weights, same)]
        self.new_word_: float = float(itself.mean()) if len(itself) else _START

    def _label_features(self, dataset: Dataset, read: Views, run: Run) -> Csr:
        """Labels x (words, then one feature for each seen label). How rare a word is goes by the documents."""
        labels = dataset.labels
        texts, owners = label_texts(labels)
        fields = self.features_.fields_
        ngrams = fields["all"].ngrams_ if fields else 1
        own = lemmatised(texts, self.language)
        self.words_ = self._vocabulary(ngrams).fit(own)
        if read.documents.features is None:
            df = np.bincount(read.words(self.words_, run).indices, minlength=self.words_.n_terms)
            self.words_ = self.words_.weighed_by(np.log((1 + len(read)) / (1 + df)) + 1)
        vectors = mean_of_texts(self.words_.transform(own), owners)
        seen = np.flatnonzero(dataset.counts)
        each = csr_matrix(
            (np.ones(len(seen), np.float32), (seen, np.arange(len(seen)))), shape=(len(labels), len(seen))
        )
        return hstack([vectors, each], format="csr", dtype=np.float32)

    def _vocabulary(self, ngrams: int | None = None) -> Tfidf:
        stop = (*self.tfidf.stop_words, *stop_words(self.language))
        words = replace(self.tfidf, ngrams=ngrams, min_df=1, max_df=1.0, stop_words=stop)
        return Tfidf(config=in_language(words, self.language))

    def _label_words(self, read: Views) -> Csr:
        """Documents x label words, also those that no training document has; none in a bag of words."""
        if read.documents.features is not None:
            return csr_matrix((len(read), self.words_.n_terms), dtype=np.float32)
        return read.words(self.words_)

    def _learned(
        self, X: Csr, pairs: Csr, Z: Csr, table: Table, same: Csr, own: int, rng: np.random.Generator, run: Run
    ) -> Table:
        """Weights after `epochs` passes over true pairs and the wrong labels that the table ranks highest."""
        from everylabel.linear.bilinear import learn_pairs

        labelled = np.flatnonzero(np.diff(pairs.indptr))
        candidates = self._candidates(X, pairs, Z, table, rng)
        weights = table.weights.copy()
        squares = np.full(weights.nnz, 1e-2, np.float32)
        untouched = squares.copy()
        bias = np.array([table.bias, 1.0])
        with run.task("label words", self.epochs) as advance:
            for _ in range(self.epochs):
                plain = rng.random(len(candidates[1])) < _PLAIN_SHARE
                learn_pairs(
                    labelled[rng.permutation(len(labelled))],
                    parts(X),
                    candidates,
                    plain,
                    own,
                    parts(Z),
                    parts(weights),
                    squares,
                    bias,
                    np.float32(_RATE),
                    X.shape[1],
                    _COST_POSITIVE,
                )
                advance(1)
        new = squares == untouched
        itself = in_matrix(weights, same)
        known = weights.data[itself & ~new]
        if len(known):
            weights.data[itself & new] = known.mean()
        return Table(weights, float(bias[0]))

    def _candidates(self, X: Csr, pairs: Csr, Z: Csr, table: Table, rng: np.random.Generator) -> Any:
        """(indptr, labels, hits): each document's labels, the best wrong ones and some at random; all of them seen."""
        seen = np.unique(pairs.indices)
        most = _NEGATIVES + int(np.diff(pairs.indptr).max())
        tables = RankingTables(by_document_words(table), csr_matrix(Z[seen].T))
        found = tables.ranked(X, table.bias, min(len(seen), most))
        ids = np.where(found.ids >= 0, seen[found.ids], -1)
        wrong = np.where(contains(pairs, ids), -1, ids)
        place = np.where(wrong >= 0, np.cumsum(wrong >= 0, axis=1), 0)
        rows, columns = np.nonzero((place > 0) & (place <= _NEGATIVES))
        random = rng.choice(seen, (len(ids), max(1, _NEGATIVES // 2)))
        at = (
            np.concatenate([rows, np.repeat(np.arange(len(random)), random.shape[1])]),
            np.concatenate([wrong[rows, columns], random.ravel()]),
        )
        both = csr_matrix((np.ones(len(at[0]), np.float32), at), shape=pairs.shape) + pairs
        both.sort_indices()
        return both.indptr.astype(np.int64), both.indices, in_matrix(both, pairs)

    def _rank(self, views: Views, k: int) -> Ranking:
        read = views.lemmatised(self.language)
        X = side_by_side(read.tfidf(self.features_), self._label_words(read))
        return self.tables_.ranked(X, self.bias_, k)

    def _with_labels(self, labels: LabelSet, first: int) -> None:
        """By the words that they share with others, and by those that are new: O(their words + the table)."""
        texts, owners = label_texts(labels.subset(range(first, len(labels))))
        own = lemmatised(texts, self.language)
        words = self.words_.widened(own)
        known, n_new = self.words_.n_terms, words.n_terms - self.words_.n_terms
        old = self.tables_
        vectors = mean_of_texts(words.transform(own), owners)
        # between the words that were known and the new ones are the features of the fit's labels
        others = csr_matrix((vectors.shape[0], old.table.shape[1] - known), dtype=np.float32)
        Z = hstack([vectors[:, :known], others, vectors[:, known:]], format="csr")
        nowhere = csr_matrix((n_new, old.labels_by_word.shape[1]), dtype=np.float32)
        itself = identity(n_new, np.float32) * np.float32(self.new_word_)
        self.words_ = words
        self.tables_ = RankingTables(
            block_diag([old.table, itself], format="csr"),
            hstack([vstack([old.labels_by_word, nowhere]), Z.T], format="csr"),
        )

    def _state(self) -> State:
        own = {
            "table": self.tables_.table,
            "labels_by_word": self.tables_.labels_by_word,
            "bias": self.bias_,
            "new_word": self.new_word_,
        }
        return self.features_.state("tfidf") | add_prefix("words", self.words_.state()) | own

    def _restore(self, state: State) -> None:
        self.features_ = DocumentFeatures(in_language(self.tfidf, self.language)).restore("tfidf", state)
        self.words_ = self._vocabulary().restore(strip_prefix(state, "words"))
        self.tables_ = RankingTables(state["table"], state["labels_by_word"])
        self.bias_, self.new_word_ = state["bias"], state["new_word"]

    def _check_contents(self, n_labels: int) -> None:
        """From the words of a document to those of a label, and from these to the labels."""
        self.features_.check()
        self.words_.check()
        own = self.tables_
        checks.matrix(own.table, "table", self.features_.n_columns + self.words_.n_terms, own.labels_by_word.shape[0])
        checks.matrix(own.labels_by_word, "labels by word", None, n_labels)
        checks.number(self.bias_, "bias", -LARGEST_MARGIN, LARGEST_MARGIN)
        checks.number(self.new_word_, "weight of a new word", -LARGEST_MARGIN, LARGEST_MARGIN)


def mean_of_texts(vectors: Csr, owners: IntArray) -> Csr:
    """A label's vector, of length 1: the mean of its texts'."""
    of_label = csr_matrix((np.ones(len(owners), np.float32), (owners, np.arange(len(owners)))))
    return csr_matrix(unit_rows(of_label @ vectors))


def associated(X: Csr, pairs: Csr, Z: Csr, same: Csr, own: int, entries: int, run: Run = QUIET) -> Table:
    """The `entries` document features that go most with each label feature, beyond chance; and the word itself.

    O(words of the documents of each label feature), on all cores. Rows have length 1, then the start's
    scale; the labels' own features, from `own` on, begin low: they are to learn what the words do not say.
    """
    from everylabel.linear.bilinear import associate

    of_features = csr_matrix((pairs @ Z).T)  # label features x documents
    mean = np.asarray(X.mean(axis=0), np.float32).ravel()
    chance = np.asarray(of_features.sum(axis=1), np.float32).ravel()
    inputs = (parts(of_features), parts(X), mean, chance, np.float32(_LEAST))

    def work(first: int) -> Csr:
        last = min(first + _BLOCK, Z.shape[1])
        indices, values = np.empty((last - first, entries), np.int32), np.empty((last - first, entries), np.float32)
        sizes = associate(first, last, *inputs, indices, values)
        there = np.arange(entries) < sizes[:, None]
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        return csr_matrix((values[there], indices[there], indptr), shape=(last - first, X.shape[1]))

    with run.task("label words: associations", Z.shape[1]) as advance:
        blocks = []
        for block in parallel_map(work, range(0, Z.shape[1], _BLOCK)):
            blocks.append(block)
            advance(block.shape[0])
    weights = csr_matrix(unit_rows(vstack(blocks, format="csr")).maximum(same))
    weights.sort_indices()
    begins = np.where(np.arange(weights.shape[0]) < own, _START, _START_OWN)
    weights.data = (weights.data * np.repeat(begins, np.diff(weights.indptr))).astype(np.float32)
    return Table(weights, _START_BIAS)


def same_words(n: int, first: int, shape: tuple[int, int]) -> Csr:
    """Label features x document features, 1 where both are the same of the n label words, from column `first` on."""
    places = np.arange(n)
    return csr_matrix((np.ones(n, np.float32), (places, first + places)), shape=shape)


def by_document_words(table: Table) -> Csr:
    found = csr_matrix(table.weights.T)
    found.sort_indices()
    return found


@dataclass(frozen=True)
class RankingTables:
    """What ranking reads: `table` is W by document features, `labels_by_word` is Z transposed."""

    table: Csr
    labels_by_word: Csr

    def ranked(self, X: Csr, bias: float, k: int) -> Ranking:
        """On all cores."""
        from everylabel.linear.bilinear import rank_labels

        found = Ranking.empty(X.shape[0], k)
        out = (found.ids, found.scores, self.labels_by_word.shape[1])
        inputs = (parts(X), *self._parts, np.float32(bias))
        for_each_part(X.shape[0], lambda first, last: rank_labels(first, last, *inputs, out))
        return found

    @cached_property
    def _parts(self) -> tuple[Any, Any]:
        return parts(self.table), parts(self.labels_by_word)


def parts(matrix: Csr) -> tuple[Any, Any, Any]:
    """What a kernel reads; the values are the matrix's own."""
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False), matrix.data


def in_matrix(matrix: Csr, other: Csr) -> NDArray[np.bool_]:
    """For each entry of a matrix whether another one of the same shape has it. O(entries log entries)."""
    rows, others = (np.repeat(np.arange(m.shape[0], dtype=np.int64), np.diff(m.indptr)) for m in (matrix, other))
    width = matrix.shape[1]
    return np.isin(rows * width + matrix.indices, others * width + other.indices)
