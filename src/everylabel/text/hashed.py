"""Texts as the hashes of their words' base forms: what TF-IDF counts, without a string for each word.

The base form of a word is looked up by the word's hash, in one compiled pass that needs no interpreter's lock: while
words were looked up one by one, all other requests of a server waited for it. The words, their base forms and all
counts are those of `lemmas.lemmatised`. Where texts or base forms are of scripts without spaces there is no such view
of them, and the strings are counted. A word that is met for the first time is looked up as a string.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from everylabel.text.hash_table import Hashes, HashTable
from everylabel.text.lemmas import codes_of, lemmas_of
from everylabel.text.scripts import code_points, composed, is_plain, kinds
from everylabel.types import LongArray

# In place of a base form's hash: it is no word, several words, or has to be read as a string.
LEFT_OUT, SEVERAL, SPELLED = np.uint64(1), np.uint64(2), np.uint64(3)
MOST_TEXTS = 1_024  # of more, such as a corpus, the strings are read: hashes would stay in memory
MOST_WORDS = 1_000_000  # of a language


class HashedTexts(NamedTuple):
    """Text i has the words hashes[begins[i]:begins[i + 1]]; LEFT_OUT is none."""

    hashes: Hashes
    begins: LongArray


def hashed_texts(texts: Sequence[str], language: str) -> HashedTexts | None:
    """None: their strings must be read. O(characters)."""
    if len(texts) > MOST_TEXTS or not (codes := codes_of(language)):
        return None
    lowered = [composed(text.replace("_", " ")).lower() for text in texts]
    if not all(map(is_plain, lowered)):
        return None
    return _base_forms(codes).of(lowered)


@lru_cache(maxsize=16)
def _base_forms(codes: tuple[str, ...]) -> _BaseForms:
    return _BaseForms(codes)


class _BaseForms:
    """The hash of a word -> that of its base form. Threads may ask at the same time."""

    def __init__(self, codes: tuple[str, ...]) -> None:
        self._codes = codes
        self._known = HashTable(MOST_WORDS)
        self._several: dict[int, Hashes] = {}  # of those whose base form is several words

    def of(self, lowered: Sequence[str]) -> HashedTexts | None:
        from everylabel.text import kernels

        codes, offsets = code_points(lowered)
        hashes, spans, begins = kernels.hash_words(codes, offsets, kinds())

        def learn(places: LongArray) -> Hashes:
            words = [codes[start:end].tobytes().decode("utf-32-le") for start, end in spans[places].tolist()]
            return self._read(words, hashes[places])

        found = self._known.look_up(hashes, learn)
        if (found == SPELLED).any():
            return None
        return self._with_several(hashes, HashedTexts(found, begins))

    def _read(self, words: list[str], hashes: Hashes) -> Hashes:
        """What stands for the base form of each, as strings have it."""
        from everylabel.text import kernels

        lemmas = lemmas_of(self._codes)
        forms = [lemmas[word].lower() for word in words]
        plain = np.array(list(map(is_plain, forms)))
        readable = [form if own else "" for form, own in zip(forms, plain, strict=True)]
        found, _, begins = kernels.hash_words(*code_points(readable), kinds())
        sizes = np.diff(begins)
        for i in np.flatnonzero(sizes > 1):
            self._several[int(hashes[i])] = found[begins[i] : begins[i + 1]].copy()
        only = np.append(found, LEFT_OUT)[np.minimum(begins[:-1], len(found))]
        return np.select([~plain, sizes > 1, sizes == 0], [SPELLED, SEVERAL, LEFT_OUT], only)

    def _with_several(self, hashes: Hashes, texts: HashedTexts) -> HashedTexts:
        """Each word whose base form is several words becomes these."""
        places = np.flatnonzero(texts.hashes == SEVERAL)
        if not len(places):
            return texts
        forms = [self._several[word] for word in hashes[places].tolist()]
        sizes = np.ones(len(hashes), np.int64)
        sizes[places] = list(map(len, forms))
        ends = np.concatenate([[0], np.cumsum(sizes)])
        found = np.repeat(texts.hashes, sizes)
        found[found == SEVERAL] = np.concatenate(forms)
        return HashedTexts(found, ends[texts.begins])
