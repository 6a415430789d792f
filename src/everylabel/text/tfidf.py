"""TF-IDF of word n-grams: scikit-learn's `TfidfVectorizer`, value for value and column for column, on all cores.

What scikit-learn loses is read, too: scripts without spaces, emoji, marks (text/scripts.py), and, where a language asks
for it, pieces of words. Documents are read with one code point a letter (`composed`).

Counting is compiled (text/kernels.py) and works on hashes; the n-grams' strings are only made for the columns that
are kept. Cost: fit and transform O(characters x ngrams) each; memory O(distinct n-grams) in fit.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse import vstack as stack_rows

from everylabel import checks
from everylabel.errors import ConfigError
from everylabel.parallel import n_threads, parallel_map
from everylabel.run import QUIET, Run
from everylabel.text.lemmas import pieces_of
from everylabel.text.scripts import LETTER, MARK, code_points, find_words, joined, kinds
from everylabel.types import Csr, Same
from everylabel.vectors import csr_of

if TYPE_CHECKING:
    from everylabel.text.hashed import HashedTexts

_CHUNK = 2_000_000  # characters that one call of a kernel gets: large enough to hide its overhead
_SHARE = 50_000  # characters that are worth a core of their own
_AMPLE = 30_000_000  # characters of text from which on a corpus is not small
LONGEST_NGRAM = 32  # in words
_LARGEST_IDF = 1e3  # a billion documents give 22
Texts = Sequence[str]


@dataclass(kw_only=True, frozen=True)
class TfidfConfig:
    """Settings of the sparse features."""

    ngrams: int | None = None  # longest n-gram, in words; None: 1 in small corpora, 2 in large ones
    min_df: int | None = None  # documents that an n-gram must occur in; None: 1 in small corpora, up to 5 in large ones
    max_df: float = 0.5  # largest share of the documents that an n-gram may occur in
    sublinear: bool = True  # 1 + ln(tf) instead of tf
    title_weight: float = 0.5  # of the title as a field of its own, beside title and text as one field; 0: not
    stop_words: tuple[str, ...] = ()
    pieces: int = 0  # characters of the pieces of words that are features, too: of compounds and endings; 0: none

    def check(self) -> None:
        if self.ngrams is not None and self.ngrams > LONGEST_NGRAM:
            raise ConfigError(f"tfidf.ngrams must be at most {LONGEST_NGRAM}; got {self.ngrams}")
        if any(value is not None and value < 1 for value in (self.ngrams, self.min_df)):
            raise ConfigError(f"tfidf.ngrams and tfidf.min_df must be at least 1; got {self.ngrams} and {self.min_df}")
        if self.pieces < 0 or self.pieces == 1:
            raise ConfigError(f"tfidf.pieces must be 0, or 2 and more; got {self.pieces}")
        if not 0 < self.max_df <= 1:
            raise ConfigError(f"tfidf.max_df is a share of the documents, above 0 and at most 1; got {self.max_df}")
        if self.title_weight < 0:
            raise ConfigError(f"tfidf.title_weight must not be negative; got {self.title_weight}")


@dataclass(kw_only=True)
class Tfidf:
    """One field's vectoriser. Learned: `ngrams_` (the longest), `names_` (sorted; then those of `widened`), their
    `idf_` and `hashes_`. Once it is fitted it never changes."""

    config: TfidfConfig = field(default_factory=TfidfConfig)

    def fit(self, texts: Texts, run: Run = QUIET) -> Self:
        self.config.check()
        self.ngrams_, min_df = limits(self.config, texts)
        hashes, df, documents, spans = self._count(texts, run)
        keep = (df >= min_df) & (df <= self.config.max_df * len(texts))
        names = self._names(texts, documents[keep], spans[keep])
        order = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
        self.names_ = [names[i] for i in order]
        self.hashes_: NDArray[np.uint64] = hashes[keep][order]
        self.idf_: NDArray[np.float64] = idf_of(df[keep][order], len(texts))
        for made_of_it in ("_table", "rarest", "key"):
            self.__dict__.pop(made_of_it, None)
        return self

    def weighed_by(self, idf: NDArray[np.float64]) -> Tfidf:
        """The same vocabulary with other weights."""
        other = Tfidf(config=self.config)
        other.ngrams_, other.names_, other.hashes_, other.idf_ = self.ngrams_, self.names_, self.hashes_, idf
        other._table = self._table
        return other

    @property
    def n_terms(self) -> int:
        return len(self.hashes_)

    @cached_property
    def key(self) -> Hashable:
        """What decides how a text is read."""
        config = self.config
        return Same(self.hashes_), Same(self.idf_), self.ngrams_, config.sublinear, config.stop_words, config.pieces

    @cached_property
    def names_(self) -> list[str]:
        """Of a restored one: made when somebody looks at them, which ranking does not."""
        text = self._names_as_bytes.tobytes().decode("utf-8", "surrogatepass")
        return text.split("\n") if text else []

    def widened(self, texts: Texts) -> Tfidf:
        """With the n-grams of more texts, after those that are known, and as rare as the rarest of them."""
        own = Tfidf(config=replace(self.config, ngrams=self.ngrams_)).fit(texts)
        new = np.flatnonzero(~np.isin(own.hashes_, self.hashes_))
        wider = Tfidf(config=self.config)
        wider.ngrams_ = self.ngrams_
        wider.names_ = self.names_ + [own.names_[i] for i in new]
        wider.hashes_ = np.concatenate([self.hashes_, own.hashes_[new]])
        wider.idf_ = np.concatenate([self.idf_, np.full(len(new), self.idf_.max(initial=1.0))])
        return wider

    def grown(self, df: NDArray[np.int64], n_texts: int, n_before: int, others: Tfidf, df_others: Any) -> Tfidf:
        """As if more texts had been read, too, after so many before: `df` of them have each n-gram that is known, and
        `df_others` those of another vocabulary, which come after these. All are as rare as in both. O(terms)."""
        known = np.rint((1 + n_before) / np.exp(self.idf_ - 1)) - 1 + df  # documents of each, as idf was made of them
        other = Tfidf(config=self.config)
        other.ngrams_, other.hashes_ = self.ngrams_, np.concatenate([self.hashes_, others.hashes_])
        other.names_ = self.names_ + others.names_
        other.idf_ = idf_of(np.concatenate([known, df_others]), n_before + n_texts)
        return other

    def part(self, terms: NDArray[np.int64], idf: NDArray[np.float64]) -> Tfidf:
        """A vocabulary of these terms alone, in this order, with these weights. O(terms of it)."""
        other = Tfidf(config=self.config)
        other.ngrams_, other.hashes_, other.idf_ = self.ngrams_, self.hashes_[terms], idf
        names = self.names_ if len(terms) else []
        other.names_ = [names[i] for i in terms.tolist()]
        return other

    def beyond(self, texts: Texts) -> Tfidf:
        """A vocabulary of the n-grams of these texts that this one does not have, as rare as its rarest. O(texts)."""
        from everylabel.text import kernels

        own = Tfidf(config=replace(self.config, ngrams=self.ngrams_, min_df=1, max_df=1.0)).fit(texts)
        new = np.flatnonzero(~kernels.known(self._table, self.hashes_, own.hashes_))
        other = Tfidf(config=self.config)
        other.ngrams_, other.hashes_ = self.ngrams_, own.hashes_[new]
        other.names_ = [own.names_[i] for i in new]
        other.idf_ = np.full(len(new), self.rarest)
        return other

    def transform(self, texts: Texts, run: Run = QUIET) -> Csr:
        """Csr float32, rows of length 1 (0 where no word is known)."""
        return self._rows(texts, run, weighed=True)

    def counts(self, texts: Texts) -> Csr:
        """How often each n-gram occurs in each text: csr float32."""
        return self._rows(texts, QUIET, weighed=False)

    def transform_hashed(self, texts: HashedTexts) -> Csr:
        """As `transform`, of texts whose words are hashed; n-grams of words, but no pieces."""
        from everylabel.text import kernels

        indptr, columns, weights = self._count_hashed(texts)
        kernels.weigh(indptr, columns, weights, self.idf_, self.config.sublinear)
        return csr_of(weights, columns, indptr, (len(indptr) - 1, self.n_terms))

    def counts_hashed(self, texts: HashedTexts) -> Csr:
        """As `counts`, of texts whose words are hashed."""
        indptr, columns, counts = self._count_hashed(texts)
        return csr_of(counts, columns, indptr, (len(indptr) - 1, self.n_terms))

    def _count_hashed(self, texts: HashedTexts) -> Any:
        from everylabel.text import kernels
        from everylabel.text.hashed import LEFT_OUT

        return kernels.count_hashed(*texts, LEFT_OUT, self._stop_table, self.ngrams_, self._table, self.hashes_)

    def _rows(self, texts: Texts, run: Run, weighed: bool) -> Csr:
        from everylabel.text import kernels

        table, hashes = self._table, self.hashes_

        def work(chunk: Texts) -> Csr:
            indptr, columns, weights = kernels.count_terms(
                *_codes(chunk), kinds(), self._stop_table, self.ngrams_, self.config.pieces, table, hashes
            )
            if weighed:
                kernels.weigh(indptr, columns, weights, self.idf_, self.config.sublinear)
            return csr_of(weights, columns, indptr, (len(chunk), self.n_terms))

        with run.task("tf-idf: documents", len(texts)) as advance:
            parts = []
            for part in parallel_map(work, list(_chunks(texts, n_threads()))):
                parts.append(part)
                advance(part.shape[0])
        if not parts:
            return csr_matrix((0, self.n_terms), dtype=np.float32)
        return parts[0] if len(parts) == 1 else stack_rows(parts, format="csr")

    def fit_transform(self, texts: Texts, run: Run = QUIET) -> Csr:
        return self.fit(texts, run).transform(texts, run)

    def state(self) -> dict[str, Any]:
        text = self.__dict__.get("_names_as_bytes")
        if text is None:
            text = np.frombuffer("\n".join(self.names_).encode("utf-8", "surrogatepass"), np.uint8)
        return {"ngrams": self.ngrams_, "names": text, "idf": self.idf_, "hashes": self.hashes_}

    def restore(self, state: dict[str, Any]) -> Tfidf:
        """The one that is there already, where another part of the model has been restored from the same arrays."""
        self._names_as_bytes = state["names"]
        self.ngrams_, self.idf_, self.hashes_ = state["ngrams"], state["idf"], state["hashes"]
        return _restored.setdefault(self.key, self)

    def check(self) -> None:
        """Of one that was restored: a hash, a weight and a name for each term."""
        checks.whole(self.ngrams_, "ngrams", 1, LONGEST_NGRAM)
        checks.array(self.hashes_, "hashes of words", np.uint64, None)
        checks.array(self.idf_, "idf", np.float64, self.n_terms)
        checks.within(self.idf_, "idf", 0, _LARGEST_IDF)
        names = self._names_as_bytes
        checks.array(names, "names of words", np.uint8, None)
        checks.utf8(names, "names of words")
        n_names = int((names == ord("\n")).sum()) + (len(names) > 0)
        checks.require(n_names == self.n_terms, f"{n_names} names for {self.n_terms} words")
        checks.require(len(self._table) >= self.n_terms, "words without a place")  # made now: it fails now or never

    def _count(self, texts: Texts, run: Run) -> Any:
        """Hash, document frequency, and one occurrence (document, span) of every n-gram. One table a thread."""
        from everylabel.text import kernels

        share = -(-len(texts) // n_threads()) or 1
        with run.task("tf-idf: vocabulary", len(texts)) as advance:

            def work(start: int) -> Any:
                table: Any = (*_empty_table(1 << 16), 0)
                for chunk in _chunks(texts[start : start + share]):
                    codes, offsets = _codes(chunk)
                    arguments = (kinds(), self._stop_table, self.ngrams_, self.config.pieces)
                    table = kernels.count_documents(codes, offsets, start, *arguments, table)
                    start += len(chunk)
                    advance(len(chunk))
                used = np.flatnonzero(table[0])
                return tuple(part[used] for part in table[:4])

            tables = list(parallel_map(work, range(0, max(len(texts), 1), share)))
        hashes, first, inverse = np.unique(
            np.concatenate([table[0] for table in tables]), return_index=True, return_inverse=True
        )
        df, documents, spans = (np.concatenate([table[i] for table in tables]) for i in (1, 2, 3))
        return hashes, np.bincount(inverse, weights=df).astype(np.int64), documents[first], spans[first]

    def _names(self, texts: Texts, documents: Any, spans: Any) -> list[str]:
        stop = {word for text in self.config.stop_words for word in find_words(text.lower())}  # as in the table
        names = [""] * len(documents)
        current, lowered = -1, ""
        for i in np.argsort(documents, kind="stable"):
            if documents[i] != current:
                current = int(documents[i])
                lowered = texts[current].lower()
            start, end = map(int, spans[i])
            if end < 0:
                names[i] = _piece(lowered, start, -2 - end, self.config.pieces)
                continue
            words = find_words(lowered[start:end])
            names[i] = joined(words if not stop else [word for word in words if word not in stop])
        return names

    @cached_property
    def rarest(self) -> float:
        """The largest idf: looked for once, not for each word of an explanation."""
        return float(self.idf_.max(initial=1.0))

    @cached_property
    def _table(self) -> Any:
        from everylabel.text import kernels

        return kernels.hash_table(self.hashes_)

    @cached_property
    def _stop_table(self) -> Any:
        from everylabel.text import kernels

        table = _empty_table(16)
        codes, offsets = _codes(self.config.stop_words)
        none = np.zeros(16, np.uint64)
        return kernels.count_documents(codes, offsets, 0, kinds(), none, 1, 0, (*table, 0))[0]


# Of all models in this process, as long as one of them has it: a vocabulary's look-up table is made once.
_restored: WeakValueDictionary[Hashable, Tfidf] = WeakValueDictionary()


def idf_of(df: Any, n_texts: int) -> NDArray[np.float64]:
    """How rare n-grams are that so many of these texts have."""
    idf: NDArray[np.float64] = np.log((1 + n_texts) / (1 + df)) + 1
    return idf


def in_language(config: TfidfConfig, language: str) -> TfidfConfig:
    """With the pieces of words that the language asks for, unless others are configured."""
    return replace(config, pieces=config.pieces or pieces_of(language))


def limits(config: TfidfConfig, texts: Texts) -> tuple[int, int]:
    """The longest n-gram and the fewest documents of one: as configured, or by how much text there is.

    Chosen on held-out documents: with little text (the sample, cve-libraries, wordnet-reverse, 5,000 documents of
    eurlex57k) pairs of words are too rare to help, and rare words matter; with all 45,000 documents of eurlex57k
    pairs help, and words of fewer than 5 documents cost size and time for nothing.
    """
    ample = sum(map(len, texts)) // _AMPLE
    ngrams = min(2, 1 + ample) if config.ngrams is None else config.ngrams
    min_df = min(5, 1 + ample) if config.min_df is None else config.min_df
    return ngrams, min_df


def _empty_table(size: int) -> tuple[Any, ...]:
    return (
        np.zeros(size, np.uint64),
        np.zeros(size, np.int32),
        np.full(size, -1, np.int32),
        np.zeros((size, 2), np.int32),
    )


def _chunks(texts: Texts, n_parts: int = 1) -> Iterator[Texts]:
    """At least so many parts, if there is work enough for them."""
    most = _CHUNK
    if n_parts > 1 and len(texts) > 1:
        most = min(_CHUNK, max(_SHARE, sum(map(len, texts)) // n_parts + 1))
    start = size = 0
    for i, text in enumerate(texts):
        size += len(text)
        if size >= most:
            yield texts[start : i + 1]
            start, size = i + 1, 0
    if start < len(texts):
        yield texts[start:]


def _codes(texts: Texts) -> tuple[Any, Any]:
    return code_points([text.lower() for text in texts])


def _piece(text: str, first: int, end: int, size: int) -> str:
    """A piece as it is written, "wind-", "-kraf-" or "-lage"; one of a word's beginning begins before it."""
    inside = first >= 0 and kinds()[ord(text[first])] in (LETTER, MARK)
    return "-" * inside + text[first + (not inside) : min(first + size, end)] + "-" * (first + size <= end)
