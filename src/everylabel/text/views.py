"""Documents as methods see them: TF-IDF, base forms, tokens, vectors and neighbours, computed once for all who ask.

`Views(documents)` belongs to one call: what is computed goes with it, and nothing is kept of a request. In a fit all
jobs on the same documents share one (`Views.in_run`). A view is found by what defines it: the settings that it is
fitted with, or the arrays of the vectoriser, the tokeniser or the encoder that make it; a loaded model has each of
these once. Threads may ask at the same time: the first one computes, the others wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from threading import Lock as Gate
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from everylabel.data.dataset import Documents
from everylabel.forks import Lock
from everylabel.run import QUIET, Run
from everylabel.text.features import DocumentFeatures
from everylabel.text.hashed import HashedTexts, hashed_texts
from everylabel.text.lemmas import lemmatised
from everylabel.text.scripts import says_nothing
from everylabel.text.tfidf import Tfidf, TfidfConfig
from everylabel.types import Csr, FloatArray, LongArray, Ranking

if TYPE_CHECKING:
    from everylabel.encoders.base import Encoder, Tokens

R = TypeVar("R")


class _Made:
    """A view, or the error of who tried to make it. Others wait at the gate until it is there; some twenty are made for
    a text, and a `Future` takes many times as long."""

    __slots__ = ("error", "gate", "value")

    def __init__(self) -> None:
        self.gate = gate = Gate()
        gate.acquire()
        self.value: Any = None
        self.error: BaseException | None = None

    def result(self) -> Any:
        if self.gate.locked():
            with self.gate:  # which is opened for good
                pass
        if self.error is None:
            return self.value
        try:
            raise self.error
        finally:
            del self  # see `once`


class Views:
    """The documents themselves are `documents`."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents  # of views that are made of others: theirs, and `documents` when somebody looks
        self._known: dict[Hashable, _Made] = {}
        self._lock = Lock()

    @classmethod
    def of(cls, texts: Views | Documents | Iterable[str]) -> Views:
        return texts if isinstance(texts, Views) else cls(Documents.of(texts))

    @classmethod
    def in_run(cls, documents: Documents, run: Run) -> Views:
        """Those of all jobs of this run that read the same documents."""
        if run.shared is None:
            return cls(documents)
        found: Views = run.shared.setdefault(id(documents), cls(documents))  # they keep the documents, and so the id
        return found

    def __len__(self) -> int:
        return len(self._documents)

    @property
    def documents(self) -> Documents:
        return self._documents

    @property
    def has_titles(self) -> bool:
        return any(self.documents.titles)

    @property
    def are_bags_of_words(self) -> bool:
        return self.documents.features is not None

    def once(self, key: Hashable, make: Callable[[], R]) -> R:
        """What `make` returns, computed by the first who asks for the key. Its error is everybody's."""
        known, mine = self._known.get(key), False
        if known is None:
            with self._lock:
                mine = key not in self._known
                known = self._known.setdefault(key, _Made())
        if mine:
            try:
                known.value = make()
            except BaseException as error:
                with self._lock:
                    self._known.pop(key)  # an interrupt is no answer: who asks again computes
                known.error = error
            finally:
                known.gate.release()
        try:
            found: R = known.result()
            return found
        finally:
            del known  # an error knows this frame; if the frame knew the error, both would outlive the call

    def of_all(self, key: Hashable, make: Callable[[], R]) -> R:
        """As `once`, of what does not depend on the documents' order."""
        return self.once(key, make)

    @property
    def full_texts(self) -> list[str]:
        return self.once("full texts", lambda: self.documents.full_texts)

    @property
    def silent(self) -> NDArray[np.bool_]:
        """Documents without a letter, a digit or an emoji."""
        made = self.once("silent", lambda: np.fromiter(map(says_nothing, self.full_texts), np.bool_, len(self)))
        return np.zeros(len(self), np.bool_) if self.are_bags_of_words else made

    def tfidf(self, features: DocumentFeatures) -> Csr:
        return self.once(("tf-idf", features.key), lambda: self._tfidf(features))

    def fitted_tfidf(self, config: TfidfConfig, run: Run = QUIET) -> tuple[DocumentFeatures, Csr]:
        """Features that are fitted on these documents, and the documents by them."""
        return self.once(("fitted tf-idf", config), lambda: self._fitted_tfidf(config, run))

    def words(self, vocabulary: Tfidf, run: Run = QUIET) -> Csr:
        """Title and text by a vocabulary of one field."""
        return self.once(("words", vocabulary.key), lambda: self._words(vocabulary, run))

    def title_words(self, vocabulary: Tfidf) -> Csr:
        return self.once(("title words", vocabulary.key), lambda: self._title_words(vocabulary))

    def lemmatised(self, language: str) -> Views:
        """In base forms; a bag of words as it is."""
        if self.documents.is_bag_of_words:
            return self
        return self.once(("lemmas", language), lambda: self._lemmatised(language))

    def read_in(self, language: str) -> Views:
        """As classifiers and neighbours read: as they are, or in base forms where a language is given."""
        return self if language == "none" else self.lemmatised(language)

    def titles_only(self) -> Views:
        """The titles as texts, read as they were for all who ask for titles. Not kept here, as `taken`."""
        return _Titles(self)

    def tokens(self, encoder: Encoder, run: Run = QUIET) -> Tokens:
        """As the encoder reads whole documents. Encoders with the same tokeniser and limit share them."""
        key = ("tokens", encoder.tokenizer.json, encoder.config.kind, encoder.config.max_tokens)
        return self.once(key, lambda: self._tokens(encoder, run))

    def vectors(self, encoder: Encoder, run: Run = QUIET, *, keep: bool = False) -> FloatArray:
        """Unit rows, by an encoder that is trained no more. `keep`: see `Encoder.encode`."""
        key = ("vectors", encoder.fingerprint, encoder.config)
        return self.once(key, lambda: self._vectors(encoder, run, keep))

    def ranking(self, key: Hashable, rank: Callable[[Views], Ranking]) -> Ranking:
        """What `rank` says of each document, whatever the others are: found by `key`."""
        return self.once(key, lambda: rank(self))

    def taken(self, rows: LongArray) -> Views:
        """These documents in this order: what is read of them is read of all, and taken. Not kept here: all are kept
        by those that are taken, and must go with them."""
        return self if np.array_equal(rows, np.arange(len(self))) else _Taken(self, rows)

    def _tfidf(self, features: DocumentFeatures) -> Csr:
        return features.transform(self.documents)

    def _fitted_tfidf(self, config: TfidfConfig, run: Run) -> tuple[DocumentFeatures, Csr]:
        features = DocumentFeatures(config)
        found = features.fit_transform(self.documents, run)
        return features, found

    def _words(self, vocabulary: Tfidf, run: Run) -> Csr:
        return vocabulary.transform(self.full_texts, run)

    def _title_words(self, vocabulary: Tfidf) -> Csr:
        return vocabulary.transform(self.documents.titles)

    def _lemmatised(self, language: str) -> Views:
        return _Lemmatised(self.documents, language)

    def _tokens(self, encoder: Encoder, run: Run) -> Tokens:
        return encoder.tokenize(self.full_texts, run=run)

    def _vectors(self, encoder: Encoder, run: Run, keep: bool) -> FloatArray:
        if encoder.config.kind == "static" and encoder.config.passages == "first":
            return encoder.encode_tokens(self.tokens(encoder, run), run=run)
        return encoder.encode(self.full_texts, keep=keep, run=run)


class _Taken(Views):
    """Some rows of other views."""

    def __init__(self, whole: Views, rows: LongArray) -> None:
        super().__init__(whole._documents)
        self._whole, self._rows = whole, rows

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def documents(self) -> Documents:
        return self.once("documents", lambda: self._whole.documents.subset(self._rows))

    @property
    def are_bags_of_words(self) -> bool:
        return self._whole.are_bags_of_words

    def of_all(self, key: Hashable, make: Callable[[], R]) -> R:
        return self._whole.of_all(key, make) if self._all else self.once(key, make)

    @property
    def _all(self) -> bool:
        return np.array_equal(np.sort(self._rows), np.arange(len(self._whole)))

    def ranking(self, key: Hashable, rank: Callable[[Views], Ranking]) -> Ranking:
        ids, scores = self._whole.ranking(key, rank)
        return Ranking(ids[self._rows], scores[self._rows])

    def _tfidf(self, features: DocumentFeatures) -> Csr:
        return self._whole.tfidf(features)[self._rows]

    def _fitted_tfidf(self, config: TfidfConfig, run: Run) -> tuple[DocumentFeatures, Csr]:
        if not self._all:
            return super()._fitted_tfidf(config, run)  # other documents have a vocabulary of their own
        features, found = self._whole.fitted_tfidf(config, run)
        return features, found[self._rows]

    def _words(self, vocabulary: Tfidf, run: Run) -> Csr:
        return self._whole.words(vocabulary, run)[self._rows]

    def _title_words(self, vocabulary: Tfidf) -> Csr:
        return self._whole.title_words(vocabulary)[self._rows]

    def _lemmatised(self, language: str) -> Views:
        return _Taken(self._whole.lemmatised(language), self._rows)

    def _tokens(self, encoder: Encoder, run: Run) -> Tokens:
        return self._whole.tokens(encoder, run).take(self._rows)

    def _vectors(self, encoder: Encoder, run: Run, keep: bool) -> FloatArray:
        found: FloatArray = self._whole.vectors(encoder, run, keep=keep)[self._rows]
        return found


class _Lemmatised(Views):
    """Documents in base forms: of few texts the hashes of these, which is what is counted; the strings themselves when
    somebody reads them. It is kept by the views of the documents, and so does not know them."""

    def __init__(self, documents: Documents, language: str) -> None:
        super().__init__(documents)  # as they are given
        self._language = language

    @property
    def documents(self) -> Documents:
        return self.once("documents", self._spelled_out)

    @property
    def has_titles(self) -> bool:
        titles = self._hashed_titles()
        return super().has_titles if titles is None else len(titles.hashes) > 0

    @property
    def are_bags_of_words(self) -> bool:
        return self._documents.features is not None

    def _spelled_out(self) -> Documents:
        given = self._documents
        texts, titles = (lemmatised(part, self._language) for part in (given.texts, given.titles))
        return Documents(given.ids, texts, titles, given.features, given.fields)

    def _hashed(self) -> HashedTexts | None:
        return self.once("hashed", lambda: hashed_texts(self._documents.full_texts, self._language))

    def _hashed_titles(self) -> HashedTexts | None:
        return self.once("hashed titles", lambda: hashed_texts(self._documents.titles, self._language))

    def _tfidf(self, features: DocumentFeatures) -> Csr:
        all_words, titles = self._hashed(), self._hashed_titles()
        if all_words is None or titles is None or features.config.pieces or not features.fields_:
            return super()._tfidf(features)
        return features.transform_hashed({"all": all_words, "title": titles})

    def _words(self, vocabulary: Tfidf, run: Run) -> Csr:
        hashed = None if vocabulary.config.pieces else self._hashed()
        return super()._words(vocabulary, run) if hashed is None else vocabulary.transform_hashed(hashed)

    def _title_words(self, vocabulary: Tfidf) -> Csr:
        hashed = None if vocabulary.config.pieces else self._hashed_titles()
        return super()._title_words(vocabulary) if hashed is None else vocabulary.transform_hashed(hashed)


class _Titles(Views):
    """The titles of other views as texts without a title."""

    def __init__(self, whole: Views) -> None:
        super().__init__(whole._documents)
        self._whole = whole

    def __len__(self) -> int:
        return len(self._whole)

    @property
    def documents(self) -> Documents:
        return self.once("documents", self._only_titles)

    @property
    def has_titles(self) -> bool:
        return False

    @property
    def are_bags_of_words(self) -> bool:
        return self._whole.are_bags_of_words

    def _only_titles(self) -> Documents:
        given = self._whole.documents
        return Documents(given.ids, given.titles, [""] * len(self), given.features, given.fields)

    def _words(self, vocabulary: Tfidf, run: Run) -> Csr:  # noqa: ARG002
        return self._whole.title_words(vocabulary)

    def _lemmatised(self, language: str) -> Views:
        return self._whole.lemmatised(language).titles_only()
