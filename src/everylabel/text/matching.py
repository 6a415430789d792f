"""Label texts matched with documents, word for word: what can be said of a document without a single labelled pair.

A label has several texts (name, alternatives, description), and the one that matches best counts. Only words and word
pairs that occur in some label's text are looked at, in their base forms. Cost: fit O(characters of the documents),
rank O(characters + labels' texts that share a word) a document, a label that is added O(texts of all added ones).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_matrix, hstack

from everylabel import checks
from everylabel.data.dataset import Documents, LabelSet
from everylabel.errors import ConfigError, DataError
from everylabel.linear.nearest import InvertedLists
from everylabel.run import QUIET, Run
from everylabel.text.lemmas import check_language, lemmatised, stop_words
from everylabel.text.tfidf import LONGEST_NGRAM, Tfidf, TfidfConfig, in_language
from everylabel.types import Csr, FloatArray, IntArray, LongArray, Ranking
from everylabel.vectors import mean_of_two, unit_rows

if TYPE_CHECKING:
    from everylabel.text.views import Views


@dataclass(kw_only=True, frozen=True)
class MatchConfig:
    """How words are read. Defaults: chosen on dev documents (`python -m benchmarks.run.choices`)."""

    language: str = "en"  # whose base forms, function words and pieces of words; "none": words as they are
    ngrams: int = 2
    title_weight: float = 0.25  # of a match in the title, beside one in title and text together

    def check(self) -> None:
        check_language(self.language)
        if not 1 <= self.ngrams <= LONGEST_NGRAM:
            raise ConfigError(f"match.ngrams must be from 1 to {LONGEST_NGRAM}; got {self.ngrams}")
        if self.title_weight < 0:
            raise ConfigError(f"match.title_weight must not be negative; got {self.title_weight}")


def label_texts(labels: LabelSet) -> tuple[list[str], IntArray]:
    """Each label's name, alternatives, description and what is read of its translations (`LabelSet.read_languages`),
    and the label that each of them belongs to."""
    texts, owners = labels.texts()
    return list(texts), owners


def text_of(labels: LabelSet, at: int) -> str:
    """Name, alternative names and description of one label, one a line."""
    return "\n".join(labels.texts_of(at))


def require_texts(documents: Documents) -> None:
    if documents.is_bag_of_words:
        raise DataError(
            "label texts can only be compared with texts, and these documents are a bag of words; give documents with "
            "texts, or choose a method that learns from labelled documents (everylabel methods)"
        )


class Added(NamedTuple):
    """Labels that came after the fit: the words that only they have, and the lists of their texts, by the words of the
    fit and then by these."""

    words: Tfidf
    lists: InvertedLists


class LabelMatcher:
    """TF-IDF: the cosine of document and label text. With `bm25` (k1 and b) the document's counts saturate BM25's way.

    BM25 ranks documents for one query; here labels, the queries, are ranked for one document, and a long one must not
    win by its length nor one of common words: so it is the cosine with the label's idf vector, too.
    Learned, and never changed: `words_` (vocabulary and idf), `lists_` (of the label texts), `mean_length_`, `added_`.
    """

    def __init__(self, config: MatchConfig, bm25: tuple[float, float] | None = None) -> None:
        self.config = config
        self.bm25 = bm25
        self.added_: Added | None = None

    def fit(self, views: Views, labels: LabelSet, run: Run = QUIET) -> Self:
        """Rare words of the documents count more; of the labels' texts where there are no documents."""
        require_texts(views.documents)
        texts, owners = label_texts(labels)
        own = lemmatised(texts, self.config.language)
        vocabulary = self._vocabulary().fit(own)
        read = views.lemmatised(self.config.language) if len(views) else None
        seen = vocabulary.transform(own) if read is None else read.words(vocabulary, run)
        corpus = own if read is None else read.full_texts
        df = np.bincount(seen.indices, minlength=vocabulary.n_terms)
        self.words_ = vocabulary.weighed_by(np.log((1 + len(corpus)) / (1 + df)) + 1)
        self.mean_length_ = float(np.mean([len(text) for text in corpus]))
        self.lists_ = InvertedLists.of(self.words_.transform(own), owners)
        return self

    def with_labels(self, labels: LabelSet, first: int) -> LabelMatcher:
        """One more that knows the labels from place `first` on, all that came after the fit. O(their texts).

        How rare a word is that only they have is not known: it counts as the rarest.
        """
        texts, owners = label_texts(labels.subset(range(first, len(labels))))
        own = lemmatised(texts, self.config.language)
        words = self.words_.beyond(own)
        wider = LabelMatcher(self.config, self.bm25)
        wider.words_, wider.lists_, wider.mean_length_ = self.words_, self.lists_, self.mean_length_
        parts = [_weights(vocabulary, vocabulary.counts(own)) for vocabulary in (self.words_, words)]
        vectors = unit_rows(hstack(parts, format="csr"))
        wider.added_ = Added(words, InvertedLists.of(vectors, owners + np.int32(first)))
        return wider

    def rank(self, views: Views, k: int) -> Ranking:
        """Scores from 0 to 1; labels that share no word with the document are not ranked."""
        require_texts(views.documents)
        read = views.lemmatised(self.config.language)
        if self.added_ is None:
            found = self.lists_.nearest(self._vectors(read), k)
        else:
            known, new = self._wider_vectors(read)
            both = self.lists_.nearest(known, k), self.added_.lists.nearest(hstack([known, new], format="csr"), k)
            ids, scores = (np.concatenate(parts, axis=1) for parts in zip(*both, strict=True))
            found = Ranking.best_of(ids, scores, k)
        return Ranking(found.ids, np.minimum(found.scores, 1))

    def rank_added(self, views: Views, k: int) -> Ranking:
        """As `rank`, of the added labels only."""
        assert self.added_ is not None
        require_texts(views.documents)
        vectors = hstack(self._wider_vectors(views.lemmatised(self.config.language)), format="csr")
        found = self.added_.lists.nearest(vectors, k)
        return Ranking(found.ids, np.minimum(found.scores, 1))

    def shares(self, views: Views, documents: LongArray, labels: LongArray) -> FloatArray:
        """(pairs, 2): how much of one of a label's texts is in the document, and in its title; from 0 to 1, rare words
        and pairs of words count more. `documents` ascending. O(words of the documents and of the labels' texts)."""
        read = views.lemmatised(self.config.language)
        found = np.empty((len(labels), 2), np.float32)
        first = int(self.lists_.owners[-1]) + 1 if self.added_ is not None else int(labels.max(initial=0)) + 1
        old, new = np.flatnonzero(labels < first), np.flatnonzero(labels >= first)
        for column, known in enumerate((read.words(self.words_), read.title_words(self.words_))):
            found[old, column] = self.lists_.shares(known, documents[old], labels[old])
            if self.added_ is not None and len(new):
                texts = (read.full_texts, read.documents.titles)[column]
                both = hstack([known, self.added_.words.counts(texts)], format="csr")
                found[new, column] = self.added_.lists.shares(both, documents[new], labels[new])
        return found

    def rarity(self, word: str) -> float:
        """The idf of a base form, the rarest word's being 1; 0 of one that no label has."""
        vocabularies = [self.words_] if self.added_ is None else [self.words_, self.added_.words]
        found = [words.idf_[column] for words in vocabularies for column in words.counts([word]).indices]
        return float(found[0] / self.words_.rarest) if found else 0.0

    def state(self, prefix: str) -> dict[str, Any]:
        state = {f"{prefix}/{key}": value for key, value in self.words_.state().items()}
        state |= self.lists_.state(prefix) | {f"{prefix}/mean_length": self.mean_length_}
        if self.added_ is not None:
            state |= {f"{prefix}/added/{key}": value for key, value in self.added_.words.state().items()}
            state |= self.added_.lists.state(f"{prefix}/added")
        return state

    def restore(self, prefix: str, state: dict[str, Any]) -> Self:
        self.words_ = self._restored_words(prefix, state)
        self.lists_ = InvertedLists.restored(prefix, state)
        self.mean_length_ = state[f"{prefix}/mean_length"]
        if f"{prefix}/added/owners" in state:
            own = f"{prefix}/added"
            self.added_ = Added(self._restored_words(own, state), InvertedLists.restored(own, state))
        return self

    def check(self, n_labels: int) -> None:
        """Of one that was restored: its lists are of its words, and lead to labels."""
        self.words_.check()
        self.lists_.check(self.words_.n_terms, n_labels)
        last = [int(self.lists_.owners[-1]), *(() if self.added_ is None else (int(self.added_.lists.owners[-1]),))]
        checks.require(last[-1] == n_labels - 1 and last == sorted(last), "labels without a text to be found by")
        checks.number(self.mean_length_, "mean length of texts", least=0)
        if self.added_ is not None:
            self.added_.words.check()
            self.added_.lists.check(self.words_.n_terms + self.added_.words.n_terms, n_labels)

    def _restored_words(self, prefix: str, state: dict[str, Any]) -> Tfidf:
        words = {key: state[f"{prefix}/{key}"] for key in ("ngrams", "names", "idf", "hashes")}
        return self._vocabulary().restore(words)

    def _vocabulary(self) -> Tfidf:
        stop = stop_words(self.config.language)
        words = TfidfConfig(ngrams=self.config.ngrams, min_df=1, max_df=1.0, stop_words=stop)
        return Tfidf(config=in_language(words, self.config.language))

    def _title_weight(self, read: Views) -> np.float32:
        return np.float32(self.config.title_weight if read.has_titles else 0)

    def _vectors(self, read: Views) -> Csr:
        weight = self._title_weight(read)
        if self.bm25 is not None:
            (found,) = self._saturated(read, weight, [self.words_])
            return unit_rows(found)
        vectors = read.words(self.words_)
        return vectors if weight == 0 else mean_of_two(vectors, read.title_words(self.words_), weight)

    def _wider_vectors(self, read: Views) -> tuple[Csr, Csr]:
        """By the words of the fit, and by those that only added labels have; both parts of one vector."""
        assert self.added_ is not None
        vocabularies, weight = [self.words_, self.added_.words], self._title_weight(read)
        if self.bm25 is not None:
            return _of_one_length(*self._saturated(read, weight, vocabularies))
        known, new = _of_one_length(*(_weights(words, words.counts(read.full_texts)) for words in vocabularies))
        if weight == 0:
            return known, new
        titles = _of_one_length(*(_weights(words, words.counts(read.documents.titles)) for words in vocabularies))
        known, new = (mean_of_two(full, title, weight) for full, title in zip((known, new), titles, strict=True))
        return known, new

    def _saturated(self, read: Views, weight: np.float32, vocabularies: Sequence[Tfidf]) -> list[Csr]:
        """BM25F: the counts of both fields are added with their weights, and saturate together."""
        assert self.bm25 is not None
        k1, b = self.bm25
        full, found = read.full_texts, []
        lengths = np.array([len(text) for text in full], np.float32) / max(self.mean_length_, 1)
        for words in vocabularies:
            counts = words.counts(full)
            if weight > 0:
                counts = csr_matrix(counts + words.counts(read.documents.titles) * weight)
            room = np.repeat(k1 * (1 - b + b * lengths), np.diff(counts.indptr)).astype(np.float32)
            counts.data = counts.data / (counts.data + room) * words.idf_[counts.indices].astype(np.float32)
            found.append(counts)
        return found


def _weights(words: Tfidf, counts: Csr) -> Csr:
    """As `Tfidf.transform` weighs, before rows get a length of 1."""
    counts.data = ((1 + np.log(counts.data.astype(np.float64))) * words.idf_[counts.indices]).astype(np.float32)
    return counts


def _of_one_length(known: Csr, new: Csr) -> tuple[Csr, Csr]:
    """Two parts of each row, together of length 1."""
    both = unit_rows(hstack([known, new], format="csr"))
    n = known.shape[1]
    return both[:, :n], both[:, n:]
