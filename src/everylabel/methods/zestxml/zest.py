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
- From `MANY_LABELS` labels on the table and what a document looks at are bounded; of more than 500,000 documents so
  many are learned from (bounds.py).
Cost: fit pairs x label words x document words for the associations, by blocks; a pass over the pairs costs pairs x
label words x `entries`, on one core. A document: the entries of its words, and the labels of the label words that they
lead to; with many labels at most 1,000 a word and 100,000 in all, however many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack

from everylabel import checks
from everylabel.data.dataset import Dataset, LabelSet, contains
from everylabel.data.splits import in_order_of_ids, ranks
from everylabel.errors import ConfigError
from everylabel.methods.base import Method, State
from everylabel.methods.facts import MANY_LABELS, Facts, Work
from everylabel.methods.traits import PAIRS_AND_TEXTS, method
from everylabel.methods.zestxml.bounds import (
    FEATURES_TO_LEARN_FROM,
    MOST_DOCUMENTS,
    MOST_ENTRIES,
    MOST_FEATURES_OF_A_WORD,
    MOST_LABEL_WORDS,
    MOST_PAIRS,
    MOST_TRUE_LABELS,
    MOST_WORDS_OF_A_LABEL,
    TO_LEARN_FROM,
    sampled_documents,
)
from everylabel.methods.zestxml.ranking import RankingTables
from everylabel.methods.zestxml.table import (
    START,
    Table,
    associated,
    by_document_words,
    in_matrix,
    is_same_word,
    parts,
    same_words,
    with_bounded_columns,
)
from everylabel.run import Run
from everylabel.states import add_prefix, strip_prefix
from everylabel.text.features import DocumentFeatures
from everylabel.text.lemmas import check_language, lemmatised, stop_words
from everylabel.text.matching import label_texts
from everylabel.text.tfidf import Tfidf, TfidfConfig, in_language
from everylabel.text.views import Views
from everylabel.types import Csr, IntArray, Ranking
from everylabel.vectors import largest_of_rows, side_by_side, unit_rows

_ROUNDS = 2  # shortlists: of the associations, then of what was learned
_SAME_WORD = 2.0  # start of a label word's own entry; all others of it together have length 1
_NEGATIVES = 20  # of a document from the shortlist, and half as many at random
_PLAIN_SHARE = 0.5  # of the pairs, learned without the label's own feature
_RATE = 0.03
_UNTOUCHED = 1e-2  # the squares that Adagrad begins with
_DOCUMENTS_AT_A_TIME = 1 << 16  # whose shortlists are there at a time, in a fit
LARGEST_MARGIN = 1e6  # before it becomes a probability
_COST_POSITIVE = 2.0  # loss weight of true pairs


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
        reads_sentences=60,
    )

    tfidf: TfidfConfig = field(default_factory=TfidfConfig)
    language: str = "en"  # whose base forms and function words; "none": words as they are
    entries: int = 200  # document words for each label word
    epochs: int = 3  # passes over the pairs, for each of two shortlists

    @classmethod
    def cost(cls, facts: Facts) -> Work:
        """By the pairs that are learned from and how long documents are, and the labels where there are many: measured
        on eurlex57k, and on parts of tibkat-de and wordnet-reverse. Words that are not learned from are read, too."""
        of_document = min(facts.read_words / max(facts.n_docs, 1), 1_000)
        n_read = facts.n_labels if facts.many_labels else 0
        beyond = 1e-5 * facts.read_words if facts.n_labelled > MOST_DOCUMENTS else 0.0
        of_pair = 2e-4 + 2.4e-6 * of_document if facts.many_labels else 1.4e-4 + 0.9e-6 * of_document
        learning = min(facts.n_pairs, MOST_PAIRS) * of_pair
        return Work(reading=3e-5 * n_read + beyond, solving=learning + 3e-5 * n_read)

    @classmethod
    def fit_memory(cls, facts: Facts) -> float:
        """The words of the documents, some times over, and the table: 24 bytes for each of the entries of seen labels
        and of about as many words of theirs."""
        entries = min(2.0 * cls.entries * facts.n_seen, MOST_ENTRIES)
        return 3e8 + 90 * facts.pieces * facts.kept_words + 24 * entries + 2_000 * facts.n_labels

    @classmethod
    def settings_for(cls, facts: Facts) -> dict[str, Any]:
        """Of many labels half as many words each: less time and memory, and scores on tibkat-de that are as good; and
        more passes, which are quick with so few."""
        many = {"entries": cls.entries // 2, "epochs": cls.epochs + 2} if facts.many_labels else {}
        return {"language": facts.language} | many

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
        many = len(dataset.labels) > MANY_LABELS
        Z = self._label_features(ordered, read, many, run)
        rng = np.random.default_rng(self.random_state)
        X, label_words, pairs = self._learned_from(X, self._label_words(read), ordered.required_pairs, rng)
        X, n_words = hstack([X, label_words], format="csr"), X.shape[1]
        self.first_own_ = own = self.words_.n_terms  # the first label feature that is a label itself
        same = same_words(own, n_words, (Z.shape[1], X.shape[1])) * np.float32(_SAME_WORD)
        table = associated(X, pairs, Z, same, own, self.entries, run, MOST_ENTRIES if many else None)
        if many:
            table = with_bounded_columns(table, MOST_FEATURES_OF_A_WORD)
        for _ in range(_ROUNDS):
            table = self._learned(X, pairs, Z, table, n_words, many, rng, run)
        place = ranks(dataset.labels.ids)
        self.tables_ = RankingTables.of(by_document_words(table), Z[place], many)
        self.bias_ = table.bias
        itself = table.weights.data[is_same_word(table.weights, n_words)]
        self.new_word_: float = float(itself.mean()) if len(itself) else START

    def _learned_from(self, X: Csr, label_words: Csr, pairs: Csr, rng: np.random.Generator) -> tuple[Csr, Csr, Csr]:
        """The rows of the documents that the table is learned from: all, or a sample."""
        if X.shape[0] <= MOST_DOCUMENTS:
            return X, label_words, pairs
        rows = sampled_documents(pairs, MOST_DOCUMENTS, rng)
        return X[rows], label_words[rows], pairs[rows]

    def _label_features(self, dataset: Dataset, read: Views, many: bool, run: Run) -> Csr:
        """Labels x (words, then one feature for each seen label). How rare a word is goes by the documents."""
        labels = dataset.labels
        texts, owners = label_texts(labels)
        fields = self.features_.fields_
        ngrams = fields["all"].ngrams_ if fields else 1
        own = lemmatised(texts, self.language)
        self.words_ = self._vocabulary(ngrams).fit(own)
        if many:
            self.words_ = self._bounded(self.words_, own)
        if read.documents.features is None:
            df = np.bincount(read.words(self.words_, run).indices, minlength=self.words_.n_terms)
            self.words_ = self.words_.weighed_by(np.log((1 + len(read)) / (1 + df)) + 1)
        vectors = mean_of_texts(self.words_.transform(own), owners, many)
        seen = np.flatnonzero(dataset.counts)
        each = csr_matrix(
            (np.ones(len(seen), np.float32), (seen, np.arange(len(seen)))), shape=(len(labels), len(seen))
        )
        return hstack([vectors, each], format="csr", dtype=np.float32)

    def _bounded(self, words: Tfidf, texts: Sequence[str]) -> Tfidf:
        """A vocabulary of at most `MOST_LABEL_WORDS`: without pairs of words, then without those of few labels."""
        config, min_df = words.config, 1
        while words.n_terms > MOST_LABEL_WORDS:
            min_df *= 2 if words.ngrams_ == 1 else 1
            words = Tfidf(config=replace(config, ngrams=1, min_df=min_df)).fit(texts)
        words.config = replace(config, ngrams=words.ngrams_)  # as a restored one has it: a label that is added is rare
        return words

    def _vocabulary(self, ngrams: int | None = None) -> Tfidf:
        stop = (*self.tfidf.stop_words, *stop_words(self.language))
        words = replace(self.tfidf, ngrams=ngrams, min_df=1, max_df=1.0, stop_words=stop)
        return Tfidf(config=in_language(words, self.language))

    def _label_words(self, read: Views) -> Csr:
        """Documents x label words, also those that no training document has; none in a bag of words."""
        if read.are_bags_of_words:
            return csr_matrix((len(read), self.words_.n_terms), dtype=np.float32)
        return read.words(self.words_)

    def _learned(
        self, X: Csr, pairs: Csr, Z: Csr, table: Table, n_words: int, many: bool, rng: np.random.Generator, run: Run
    ) -> Table:
        """Weights after `epochs` passes over true pairs and the wrong labels that the table ranks highest."""
        from everylabel.linear.bilinear import learn_pairs

        labelled = np.flatnonzero(np.diff(pairs.indptr))
        candidates = self._candidates(X, pairs, Z, table, many, rng)
        weights = table.weights.copy()
        squares = np.full(weights.nnz, _UNTOUCHED, np.float32)
        bias = np.array([table.bias, 1.0])
        with run.task("label words", self.epochs) as advance:
            for _ in range(self.epochs):
                plain = rng.random(len(candidates[1])) < _PLAIN_SHARE
                learn_pairs(
                    labelled[rng.permutation(len(labelled))],
                    parts(X),
                    candidates,
                    plain,
                    self.words_.n_terms,
                    parts(Z),
                    parts(weights),
                    squares,
                    bias,
                    np.float32(_RATE),
                    X.shape[1],
                    _COST_POSITIVE,
                )
                advance(1)
        new = squares == np.float32(_UNTOUCHED)
        itself = is_same_word(weights, n_words)
        known = weights.data[itself & ~new]
        if len(known):
            weights.data[itself & new] = known.mean()
        return Table(weights, float(bias[0]))

    def _candidates(self, X: Csr, pairs: Csr, Z: Csr, table: Table, many: bool, rng: np.random.Generator) -> Any:
        """(indptr, labels, hits): each document's labels, the best wrong ones and some at random; all of them seen."""
        seen = np.unique(pairs.indices)
        n_true = int(np.diff(pairs.indptr).max())
        most = _NEGATIVES + (min(n_true, MOST_TRUE_LABELS) if many else n_true)
        words = by_document_words(table)
        if many:
            words = largest_of_rows(words, FEATURES_TO_LEARN_FROM)
        tables = RankingTables.of(words, Z[seen], many)
        rows, labels = [], []
        for first in range(0, X.shape[0], _DOCUMENTS_AT_A_TIME):
            block = slice(first, first + _DOCUMENTS_AT_A_TIME)
            found = tables.ranked(X[block], table.bias, min(len(seen), most), TO_LEARN_FROM)
            ids = np.where(found.ids >= 0, seen[found.ids], -1)
            wrong = np.where(contains(pairs[block], ids), -1, ids)
            place = np.where(wrong >= 0, np.cumsum(wrong >= 0, axis=1), 0)
            at = np.nonzero((place > 0) & (place <= _NEGATIVES))
            rows.append(first + at[0])
            labels.append(wrong[at])
        random = rng.choice(seen, (X.shape[0], max(1, _NEGATIVES // 2)))
        rows.append(np.repeat(np.arange(len(random)), random.shape[1]))
        labels.append(random.ravel())
        places = np.concatenate(rows), np.concatenate(labels)
        both = csr_matrix((np.ones(len(places[0]), np.float32), places), shape=pairs.shape) + pairs
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
        vectors = mean_of_texts(words.transform(own), owners, old.words_by_label is not None)
        # between the words of the fit and those that came later are the features of the fit's labels
        first, others = self.first_own_, csr_matrix((vectors.shape[0], old.table.shape[1] - known), dtype=np.float32)
        Z = hstack([vectors[:, :first], others, vectors[:, first:]], format="csr")
        self.words_ = words
        self.tables_ = old.with_labels(Z, n_new, self.new_word_)

    def _state(self) -> State:
        own = {
            "table": self.tables_.table,
            "labels_by_word": self.tables_.labels_by_word,
            "bias": self.bias_,
            "new_word": self.new_word_,
            "first_own": self.first_own_,
        }
        if self.tables_.words_by_label is not None:
            own["words_by_label"] = self.tables_.words_by_label
        return self.features_.state("tfidf") | add_prefix("words", self.words_.state()) | own

    def _restore(self, state: State) -> None:
        self.features_ = DocumentFeatures(in_language(self.tfidf, self.language)).restore("tfidf", state)
        self.words_ = self._vocabulary().restore(strip_prefix(state, "words"))
        self.tables_ = RankingTables(state["table"], state["labels_by_word"], state.get("words_by_label"))
        self.bias_, self.new_word_ = state["bias"], state["new_word"]
        self.first_own_ = state.get("first_own", self.words_.n_terms)  # older models do not say

    def _check_contents(self, n_labels: int) -> None:
        """From the words of a document to those of a label, and from these to the labels."""
        self.features_.check()
        self.words_.check()
        own = self.tables_
        checks.matrix(own.table, "table", self.features_.n_columns + self.words_.n_terms, own.labels_by_word.shape[0])
        checks.matrix(own.labels_by_word, "labels by word", None, n_labels)
        if own.words_by_label is not None:
            checks.matrix(own.words_by_label, "words by label", n_labels, own.labels_by_word.shape[0])
        checks.whole(self.first_own_, "words of the fit", most=self.words_.n_terms)
        checks.number(self.bias_, "bias", -LARGEST_MARGIN, LARGEST_MARGIN)
        checks.number(self.new_word_, "weight of a new word", -LARGEST_MARGIN, LARGEST_MARGIN)


def mean_of_texts(vectors: Csr, owners: IntArray, many: bool) -> Csr:
    """A label's vector, of length 1: the mean of its texts'; where there are many labels, of so many words."""
    of_label = csr_matrix((np.ones(len(owners), np.float32), (owners, np.arange(len(owners)))))
    mean = csr_matrix(unit_rows(of_label @ vectors))
    shorter = largest_of_rows(mean, MOST_WORDS_OF_A_LABEL) if many else mean
    return mean if shorter is mean else csr_matrix(unit_rows(shorter))
