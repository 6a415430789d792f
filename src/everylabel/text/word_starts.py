"""Texts found by the beginning of any of their words: a suffix array that has the beginnings of words only.

All texts, in one spelling (small letters, no accents, words with one space between them), stand one after the other in
a buffer, and the places where a word begins are sorted by what follows. In scripts without spaces each character begins
one. A query is two binary searches, and a look at each place between them: what begins with "s" may be hundreds of
thousands. Cost: O(bytes + words log words) to build, 12 bytes a word and 12 a text beside their bytes.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everylabel.types import IntArray, LongArray

SORTED_BYTES = 64  # of what follows a place, by which places are sorted; what is longer is compared place by place
AT_ONCE = 1 << 14  # texts that are spelled at a time
EXACT, BEGINNING, WORD, WORDS = range(4)  # how well a text fits, the best first
_ACCENTS = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u1ab0-\u1aff"
    "\u1dc0-\u1dff\u200c-\u200f\u20d0-\u20ff\ufe20-\ufe2f\xad]+"
)
_BETWEEN = re.compile(r"(?:[^\w\n]|_)+")
_AROUND = re.compile(" ?\n ?")
_ALIKE = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "\u0131": "i", "æ": "ae", "œ": "oe", "þ": "th"}
)
_END, _SPACE = 10, 32  # a line break stands after each text, and in none
_INSIDE = np.uint32(1 << 31)  # added to the score of a word that does not begin its text


class Fit(NamedTuple):
    """A text that fits a query."""

    text: int
    quality: int


def spelled(texts: str) -> str:
    """Small letters without accents, words with one space between them; lines stay lines."""
    if not texts.isascii():
        plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", texts).casefold())
        texts = _ACCENTS.sub("", plain).translate(_ALIKE)
    return _AROUND.sub("\n", _BETWEEN.sub(" ", texts.casefold())).strip(" ")


class WordStarts:
    """Text i is data[starts[i] : starts[i + 1] - 1]; a line break follows it. Never changed.

    `scores`: of each sorted place, how good it is to find: beginnings of texts before other words, then by the rank of
    the text's owner.
    """

    def __init__(self, data: bytes, starts: LongArray, owners: IntArray, ranks: IntArray) -> None:
        """`owners` and `ranks` of each text; an owner's texts have one rank, the best is 0."""
        self.data, self.starts, self.owners = data, starts, owners
        buffer = np.frombuffer(data, np.uint8)
        places = _beginnings(buffer)
        texts = (np.searchsorted(starts, places, side="right") - 1).astype(np.int32)
        order = _sorted(buffer, places, starts[texts + 1] - 1)
        places = places[order]
        self.places: LongArray | IntArray = places.astype(np.int32) if len(data) < 1 << 31 else places
        self.texts: IntArray = texts[order]
        self.scores = ranks[self.texts].astype(np.uint32)
        self.scores[self.places != starts[self.texts]] |= _INSIDE

    @classmethod
    def of(cls, texts: Iterable[str], owners: IntArray, ranks: IntArray) -> WordStarts:
        parts: list[bytes] = []
        ends: list[NDArray[np.int64]] = []
        n_bytes = 0
        for some in _chunks(texts):
            part = spelled("\n".join(text.replace("\n", " ") for text in some)).encode("utf-8", "replace") + b"\n"
            ends.append(np.flatnonzero(np.frombuffer(part, np.uint8) == _END) + 1 + n_bytes)
            n_bytes += len(part)
            parts.append(part)
        return cls(b"".join(parts), np.concatenate([np.zeros(1, np.int64), *ends]), owners, ranks)

    def best(self, query: str, limit: int) -> list[Fit]:
        """The best texts of so many owners, one each: by how well a text fits, then by the owner's rank."""
        asked = " ".join(spelled(query.replace("\n", " ")).split()).encode("utf-8", "replace")
        found: dict[int, Fit] = {}  # by owner
        if not asked or limit < 1:
            return []
        for text, quality in self._beginning_with(asked, limit):
            found.setdefault(int(self.owners[text]), Fit(text, quality))
        if len(found) < limit and b" " in asked:
            for text in self._with_all(asked.split(), limit):
                found.setdefault(int(self.owners[text]), Fit(text, WORDS))
        return list(found.values())[:limit]

    def _beginning_with(self, asked: bytes, limit: int) -> Iterator[Fit]:
        """Texts that are the query, that begin with it, and with a word that does: at least those of `limit` owners."""
        first, last = self._range(asked)
        rows = np.arange(first, last) if len(asked) > SORTED_BYTES else None
        if rows is not None:
            size = len(asked)
            same = [self.data[self.places[i] : self.places[i] + size] == asked for i in rows]
            rows = rows[np.array(same, np.bool_)]
            ended = rows[self.starts[self.texts[rows] + 1] - 1 - self.places[rows] == size]
        else:
            ended = np.arange(first, self._range(asked + b"\n")[1])  # which stand first
        exact = ended[self.scores[ended] < _INSIDE]
        for i in self._by_score(exact, limit):
            yield Fit(int(self.texts[i]), EXACT)
        for i in self._by_score(slice(first, last) if rows is None else rows, limit + len(exact[:limit])):
            yield Fit(int(self.texts[i]), BEGINNING if self.scores[i] < _INSIDE else WORD)

    def _by_score(self, rows: slice | LongArray, limit: int) -> list[int]:
        """Sorted places among these, the best first; those of at least `limit` owners, if there are as many."""
        scores, first = self.scores[rows], rows.start if isinstance(rows, slice) else 0
        asked = 4 * limit
        while True:
            if asked >= len(scores):
                some = np.arange(len(scores))
            else:  # by the value of the last one: ten times as fast as argpartition
                some = np.flatnonzero(scores <= np.partition(scores, asked)[asked])
            some = some[np.argsort(scores[some], kind="stable")]
            found = some + first if isinstance(rows, slice) else rows[some]
            if asked >= len(scores) or len(np.unique(self.owners[self.texts[found]])) >= limit:
                return [int(i) for i in found]
            asked *= 4

    def _with_all(self, words: list[bytes], limit: int) -> list[int]:
        """Texts that have a word that begins so for each of these, by the rank of the owner."""
        ranges = sorted((self._range(word[:SORTED_BYTES]) for word in set(words)), key=lambda own: own[1] - own[0])
        first, last = ranges[0]
        rows = np.arange(first, last)
        for first, last in ranges[1:]:
            has = np.zeros(len(self.starts), np.bool_)
            has[self.texts[first:last]] = True
            rows = rows[has[self.texts[rows]]]
        return [int(self.texts[i]) for i in self._by_score(rows, limit)]

    def _range(self, asked: bytes) -> tuple[int, int]:
        """The first and last of the sorted places whose text goes on so, as far as they are sorted."""
        asked = asked[:SORTED_BYTES]
        size = len(asked)

        def beginning(i: int) -> bytes:
            place = int(self.places[i])
            return self.data[place : place + size]

        every = range(len(self.places))
        first = bisect_left(every, asked, key=beginning)
        return first, bisect_right(every, asked, lo=first, key=beginning)


def _chunks(texts: Iterable[str]) -> Iterator[list[str]]:
    some: list[str] = []
    for text in texts:
        some.append(text)
        if len(some) == AT_ONCE:
            yield some
            some = []
    if some:
        yield some


def _beginnings(data: NDArray[np.uint8]) -> LongArray:
    """Where a word begins: after a space or line break, and each character of a script without spaces."""
    between = (data == _SPACE) | (data == _END)
    begins = ~between
    begins[1:] &= between[:-1]
    begins |= (data >= 0xE3) & (data <= 0xE9)  # kana and Han, by the first byte of a character
    following = np.append(data[1:], np.uint8(0))
    begins |= (data == 0xE0) & (following >= 0xB8) & (following <= 0xBB)  # Thai and Lao
    begins |= (data == 0xE1) & (
        ((following >= 0x80) & (following <= 0x82)) | ((following & 0xFE) == 0x9E)
    )  # Myanmar, Khmer
    return np.flatnonzero(begins)


def _sorted(data: NDArray[np.uint8], places: LongArray, ends: LongArray) -> LongArray:
    """The order of the places by the SORTED_BYTES bytes that follow, eight of them at a time."""
    padded = np.append(data, np.zeros(SORTED_BYTES + 8, np.uint8))
    eight = np.ndarray(len(padded) - 7, ">u8", padded, strides=(1,))  # the eight bytes from each place on, as a number
    left = ends - places
    order = np.argsort(keys := eight[places].astype(np.uint64), kind="stable")
    keys = keys[order]
    group = np.concatenate([[0], np.cumsum(keys[1:] != keys[:-1])]) if len(keys) else keys.astype(np.int64)
    for depth in range(8, SORTED_BYTES, 8):
        tied = np.zeros(len(group), np.bool_)
        tied[1:] = group[1:] == group[:-1]
        tied[:-1] |= tied[1:]
        rows = np.flatnonzero(tied)
        rows = rows[left[order[rows]] >= depth]  # of a group that goes on, as all of it does
        if not len(rows):
            break
        keys, own = eight[places[order[rows]] + depth].astype(np.uint64), group[rows]
        inside = np.lexsort((keys, own))
        order[rows] = order[rows][inside]
        keys = keys[inside]
        other = np.zeros(len(group), np.int64)
        other[rows[1:]] = (keys[1:] != keys[:-1]) & (own[1:] == own[:-1])
        group = group + np.cumsum(other)
    return order
