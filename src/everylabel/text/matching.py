"""Label texts matched with documents, word for word: what can be said of a document without a single labelled pair.

A label has several texts (name, alternatives, description), and the one that matches best counts. Only words and word
pairs that occur in some label's text are looked at, in their base forms. Cost: fit O(characters of the documents),
rank O(characters + labels' texts) a document.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix

from everylabel.data.dataset import Documents, LabelSet
from everylabel.errors import ConfigError, DataError
from everylabel.linear.nearest import InvertedLists
from everylabel.text.lemmas import check_language, lemmatised, stop_words
from everylabel.text.tfidf import Tfidf, TfidfConfig
from everylabel.types import Csr, IntArray, Ranking
from everylabel.vectors import unit_rows


@dataclass(kw_only=True, frozen=True)
class MatchConfig:
    """How words are read. Defaults: chosen on dev documents (`python -m benchmarks.choices`)."""

    language: str = "en"  # whose base forms and function words; "none": words as they are
    ngrams: int = 2
    title_weight: float = 0.25  # of a match in the title, beside one in title and text together

    def check(self) -> None:
        check_language(self.language)
        if self.ngrams < 1:
            raise ConfigError(f"match.ngrams must be at least 1; got {self.ngrams}")
        if self.title_weight < 0:
            raise ConfigError(f"match.title_weight must not be negative; got {self.title_weight}")


def label_texts(labels: LabelSet) -> tuple[list[str], IntArray]:
    """Each label's name, alternatives and description, and the label that each of them belongs to."""
    texts = [
        [label.name, *label.alternatives, *([label.description] if label.description else [])]
        for label in labels.labels
    ]
    owners = np.repeat(np.arange(len(texts), dtype=np.int32), [len(own) for own in texts])
    return [text for own in texts for text in own], owners


def require_texts(documents: Documents) -> None:
    if documents.features is not None:
        raise DataError(
            "label texts can only be compared with texts, and these documents are a bag of words; give documents with "
            "texts, or choose a method that learns from labelled documents (everylabel methods)"
        )


class LabelMatcher:
    """TF-IDF: the cosine of document and label text. With `bm25` (k1 and b) the document's counts saturate BM25's way.

    BM25 ranks documents for one query; here labels, the queries, are ranked for one document, and a long one must not
    win by its length nor one of common words: so it is the cosine with the label's idf vector, too.
    Learned: `words_` (vocabulary and idf), `lists_` (of the label texts) and `mean_length_`.
    """

    def __init__(self, config: MatchConfig, bm25: tuple[float, float] | None = None) -> None:
        self.config = config
        self.bm25 = bm25

    def fit(self, documents: Documents, labels: LabelSet) -> Self:
        """Rare words of the documents count more; of the labels' texts where there are no documents."""
        require_texts(documents)
        texts, owners = label_texts(labels)
        own = lemmatised(texts, self.config.language)
        self.words_ = self._vocabulary().fit(own)
        corpus = self._read(documents.full_texts) if len(documents) else own
        seen = self.words_.transform(corpus)
        df = np.bincount(seen.indices, minlength=len(self.words_.names_))
        self.words_.idf_ = np.log((1 + len(corpus)) / (1 + df)) + 1
        self.mean_length_ = float(np.mean([len(text) for text in corpus]))
        self.lists_ = InvertedLists.of(self.words_.transform(own), owners)
        return self

    def extend(self, labels: LabelSet) -> None:
        """These labels from now on: those of the fit and new ones. O(all label texts).

        How rare a word of the new ones is in the documents is not known: it counts as the rarest.
        """
        texts, owners = label_texts(labels)
        own = lemmatised(texts, self.config.language)
        words = self._vocabulary().fit(own)
        known = dict(zip(self.words_.hashes_.tolist(), self.words_.idf_.tolist(), strict=True))
        rarest = max(known.values(), default=1.0)
        words.idf_ = np.array([known.get(term, rarest) for term in words.hashes_.tolist()], np.float64)
        self.words_, self.lists_ = words, InvertedLists.of(words.transform(own), owners)

    def rank(self, documents: Documents, k: int) -> Ranking:
        """Scores from 0 to 1; labels that share no word with the document are not ranked."""
        require_texts(documents)
        found = self.lists_.nearest(self._vectors(documents), k)
        return Ranking(found.ids, np.minimum(found.scores, 1))

    def state(self, prefix: str) -> dict[str, Any]:
        return {f"{prefix}/{key}": value for key, value in self.words_.state().items()} | {
            f"{prefix}/lists": self.lists_.lists,
            f"{prefix}/owners": self.lists_.owners,
            f"{prefix}/mean_length": self.mean_length_,
        }

    def restore(self, prefix: str, state: dict[str, Any]) -> Self:
        words = {key: state[f"{prefix}/{key}"] for key in ("ngrams", "names", "idf", "hashes")}
        self.words_ = self._vocabulary().restore(words)
        self.lists_ = InvertedLists(state[f"{prefix}/lists"], state[f"{prefix}/owners"])
        self.mean_length_ = state[f"{prefix}/mean_length"]
        return self

    def _vocabulary(self) -> Tfidf:
        stop = stop_words(self.config.language)
        return Tfidf(config=TfidfConfig(ngrams=self.config.ngrams, min_df=1, max_df=1.0, stop_words=stop))

    def _read(self, texts: Sequence[str]) -> list[str]:
        return lemmatised(texts, self.config.language)

    def _vectors(self, documents: Documents) -> Csr:
        full = self._read(documents.full_texts)
        weight = np.float32(self.config.title_weight if any(documents.titles) else 0)
        if self.bm25 is not None:
            return self._saturated(full, documents.titles, weight)
        vectors = self.words_.transform(full)
        if weight == 0:
            return vectors
        return csr_matrix(vectors + self.words_.transform(self._read(documents.titles)) * weight) / (1 + weight)

    def _saturated(self, full: list[str], titles: Sequence[str], weight: np.float32) -> Csr:
        """BM25F: the counts of both fields are added with their weights, and saturate together."""
        assert self.bm25 is not None
        k1, b = self.bm25
        counts = self.words_.counts(full)
        if weight > 0:
            counts = csr_matrix(counts + self.words_.counts(self._read(titles)) * weight)
        lengths = np.array([len(text) for text in full], np.float32) / max(self.mean_length_, 1)
        room = np.repeat(k1 * (1 - b + b * lengths), np.diff(counts.indptr)).astype(np.float32)
        counts.data = counts.data / (counts.data + room) * self.words_.idf_[counts.indices].astype(np.float32)
        return unit_rows(counts)
