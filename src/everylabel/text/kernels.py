"""Compiled counting of word n-grams. A word is what `text.scripts` says: as in scikit-learn's default, or a character.

Characters of a script without spaces have n-grams of at least their `reach`, within one run of them. `pieces` are the
runs of so many characters of a word, its ends included: features beside the n-grams. An n-gram is known by a 64-bit
hash of its characters: with a million distinct n-grams the chance that any two collide is below 1 in 10 million, and no
string is made while counting. Texts come as one array of code points with offsets. All tables are open addressing with
linear probing; a hash of 0 marks a free place. Cost: O(characters x (ngrams + pieces)).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from everylabel.text.scripts import LETTER, MARK, UNSPACED

FREE = np.uint64(0)
_MOST_STEPS = 32  # of a hash to its place, on average; those of words take one
START = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_PIECE = np.uint64(0x94D049BB133111EB)  # a piece is no word, though the letters be the same
_END = np.uint64(0x110000)  # of a word, on either side
_S32, _S29 = np.uint64(32), np.uint64(29)


@njit(nogil=True, cache=True, inline="always")
def mix(h: Any, value: Any) -> Any:
    h = (h ^ value) * START
    return h ^ (h >> _S32)


@njit(nogil=True, cache=True, inline="always")
def finish(h: Any) -> Any:
    h = (h ^ (h >> _S29)) * _MIX
    h ^= h >> _S32
    return h if h != FREE else START


@njit(nogil=True, cache=True)
def place(keys: Any, h: Any) -> Any:
    """Where the hash is in the table, or the free place where it would go."""
    mask = np.uint64(len(keys) - 1)
    at = h & mask
    while keys[at] != FREE and keys[at] != h:
        at = (at + np.uint64(1)) & mask
    return np.int64(at)


@njit(nogil=True, cache=True)
def words(codes: Any, start: Any, end: Any, kinds: Any, stop: Any, hashes: Any, spans: Any) -> Any:
    """Hash, and (start, end, reach) of each word of one text that is not in the table of stop words; how many."""
    n = 0
    i = start
    while i < end:
        while i < end and (kinds[codes[i]] == 0 or kinds[codes[i]] == MARK):
            i += 1
        first = i
        reach = 1
        h = START
        if i < end and kinds[codes[i]] >= UNSPACED:
            reach = 2 + kinds[codes[i]] - UNSPACED
            h = mix(h, np.uint64(codes[i]))
            i += 1
            while i < end and kinds[codes[i]] == MARK:
                h = mix(h, np.uint64(codes[i]))
                i += 1
        else:
            while i < end and (kinds[codes[i]] == LETTER or kinds[codes[i]] == MARK):
                h = mix(h, np.uint64(codes[i]))
                i += 1
            if i - first < 2:
                continue
        h = finish(h)
        if stop[place(stop, h)] == h:
            continue
        hashes[n] = h
        spans[n, 0], spans[n, 1], spans[n, 2] = first, i, reach
        n += 1
    return n


@njit(nogil=True, cache=True, inline="always")
def _last(i: Any, n: Any, ngrams: Any, spans: Any) -> Any:
    """Where the n-grams that begin with word i end at the latest: the word behind."""
    last = min(i + ngrams, n)
    if spans[i, 2] > ngrams:
        while last < min(i + spans[i, 2], n) and spans[last, 2] > 1 and spans[last, 0] == spans[last - 1, 1]:
            last += 1
    return last


@njit(nogil=True, cache=True, inline="always")
def _piece(codes: Any, first: Any, size: Any, start: Any, end: Any) -> Any:
    """The hash of the characters from `first` on; one before the word's start or behind its end is its end."""
    h = _PIECE
    for i in range(first, first + size):
        h = mix(h, np.uint64(codes[i]) if start <= i < end else _END)
    return finish(h)


@njit(nogil=True, cache=True, inline="always")
def _n_pieces(span: Any, size: Any) -> Any:
    """Of a word whose reach is 1: with both ends it is longer by two. None of one that is a single piece."""
    n = span[1] - span[0] + 3 - size
    return n if size > 0 and span[2] == 1 and n > 1 else 0


@njit(nogil=True, cache=True, inline="always")
def _extend(gram: Any, word: Any) -> Any:
    """The n-gram with one word more; FREE is the n-gram of no word."""
    if gram == FREE:
        return word
    return finish(mix(gram * _MIX, word))  # times something first: a plain xor would not see the words' order


@njit(nogil=True, cache=True)
def _grown(keys: Any, df: Any, last: Any, spans: Any) -> Any:
    size = 2 * len(keys)
    new_keys = np.zeros(size, np.uint64)
    new_df = np.zeros(size, np.int32)
    new_last = np.full(size, -1, np.int32)
    new_spans = np.zeros((size, 2), np.int32)
    for i in range(len(keys)):
        if keys[i] != FREE:
            at = place(new_keys, keys[i])
            new_keys[at], new_df[at], new_last[at] = keys[i], df[i], last[i]
            new_spans[at, 0], new_spans[at, 1] = spans[i, 0], spans[i, 1]
    return new_keys, new_df, new_last, new_spans


@njit(nogil=True, cache=True, inline="always")
def _noted(gram: Any, at: Any, document: Any, first: Any, last: Any, table: Any) -> Any:
    """One occurrence of an n-gram, in the table."""
    keys, df, seen, spans, used = table
    if keys[at] == FREE:
        if 2 * (used + 1) > len(keys):
            keys, df, seen, spans = _grown(keys, df, seen, spans)
            at = place(keys, gram)
        keys[at] = gram
        used += 1
    if seen[at] != document:
        seen[at] = document
        df[at] += 1
        spans[at, 0], spans[at, 1] = first, last
    return keys, df, seen, spans, used


@njit(nogil=True, cache=True)
def count_documents(
    codes: Any, offsets: Any, first_doc: Any, kinds: Any, stop: Any, ngrams: Any, pieces: Any, table: Any
) -> Any:
    """Add the texts' n-grams and pieces to a table of (hash, documents with it, last such document, span in that
    document). A piece's span begins where it does, which may be -1, and ends at -2 - its word's end."""
    hashes, spans = _rooms(offsets)
    for d in range(len(offsets) - 1):
        begin = offsets[d]
        n = words(codes, begin, offsets[d + 1], kinds, stop, hashes, spans)
        for i in range(n):
            gram = FREE
            for j in range(i, _last(i, n, ngrams, spans)):
                gram = _extend(gram, hashes[j])
                table = _noted(
                    gram, place(table[0], gram), first_doc + d, spans[i, 0] - begin, spans[j, 1] - begin, table
                )
            for first in range(spans[i, 0] - 1, spans[i, 0] - 1 + _n_pieces(spans[i], pieces)):
                gram = _piece(codes, first, pieces, spans[i, 0], spans[i, 1])
                at = place(table[0], gram)
                table = _noted(gram, at, first_doc + d, first - begin, -2 - (spans[i, 1] - begin), table)
    return table


@njit(nogil=True, cache=True)
def _rooms(offsets: Any) -> Any:
    """For the words of the longest text."""
    longest = 1
    for d in range(len(offsets) - 1):
        longest = max(longest, offsets[d + 1] - offsets[d])
    return np.empty(longest, np.uint64), np.empty((longest, 3), np.int64)


@njit(nogil=True, cache=True)
def hash_table(hashes: Any) -> Any:
    """A table from hash to its place in `hashes`: four bytes a place, since who looks compares with `hashes`, which a
    model shares with other processes."""
    size = 16
    while size < 2 * len(hashes) + 2:
        size *= 2
    table = np.full(size, -1, np.int32)
    mask = np.uint64(size - 1)
    steps = 0
    for i in range(len(hashes)):
        at = hashes[i] & mask
        while table[at] >= 0:
            at = (at + np.uint64(1)) & mask
            steps += 1
        if steps > _MOST_STEPS * (i + 16):  # made to be alike: it would take for ever
            raise ValueError("hashes of words that are all alike")
        table[at] = i
    return table


@njit(nogil=True, cache=True, inline="always")
def _number(table: Any, hashes: Any, h: Any) -> Any:
    """The place of a hash in `hashes`, by their `hash_table`; -1 where it is not among them."""
    mask = np.uint64(len(table) - 1)
    at = h & mask
    while table[at] >= 0 and hashes[table[at]] != h:
        at = (at + np.uint64(1)) & mask
    return table[at]


@njit(nogil=True, cache=True)
def known(table: Any, hashes: Any, asked: Any) -> Any:
    """Which of the hashes asked for are among `hashes`, by their `hash_table`."""
    found = np.zeros(len(asked), np.bool_)
    for i in range(len(asked)):
        found[i] = _number(table, hashes, asked[i]) >= 0
    return found


@njit(nogil=True, cache=True, inline="always")
def _known_grams(hashes: Any, first: Any, last: Any, table: Any, known: Any, found: Any, n_found: Any) -> Any:
    """The n-grams that begin with one word, and end before another: those that are known, into `found`; how many."""
    gram = FREE
    for j in range(first, last):
        gram = _extend(gram, hashes[j])
        number = _number(table, known, gram)
        if number >= 0:
            found[n_found] = number
            n_found += 1
    return n_found


@njit(nogil=True, cache=True)
def count_terms(
    codes: Any, offsets: Any, kinds: Any, stop: Any, ngrams: Any, pieces: Any, table: Any, known: Any
) -> Any:
    """Csr counts of the n-grams and pieces whose hashes are `known` in each text: indptr, columns (sorted), counts."""
    n_docs = len(offsets) - 1
    hashes, spans = _rooms(offsets)
    found = np.empty(1024, np.int32)
    indptr = np.zeros(n_docs + 1, np.int64)
    columns = np.empty(max(1024, len(codes) // 8), np.int32)
    counts = np.empty(len(columns), np.float32)
    out = 0
    for d in range(n_docs):
        n = words(codes, offsets[d], offsets[d + 1], kinds, stop, hashes, spans)
        n_found = 0
        for i in range(n):
            last, n_pieces = _last(i, n, ngrams, spans), _n_pieces(spans[i], pieces)
            if n_found + last - i + n_pieces > len(found):
                found = _with_room(found, n_found + last - i + n_pieces)
            n_found = _known_grams(hashes, i, last, table, known, found, n_found)
            for first in range(spans[i, 0] - 1, spans[i, 0] - 1 + n_pieces):
                gram = _piece(codes, first, pieces, spans[i, 0], spans[i, 1])
                number = _number(table, known, gram)
                if number >= 0:
                    found[n_found] = number
                    n_found += 1
        if out + n_found > len(columns):
            columns, counts = _with_room(columns, out + n_found), _with_room(counts, out + n_found)
        out = _counted(np.sort(found[:n_found]), columns, counts, out)
        indptr[d + 1] = out
    return indptr, columns[:out].copy(), counts[:out].copy()


@njit(nogil=True, cache=True, inline="always")
def _counted(row: Any, columns: Any, counts: Any, out: Any) -> Any:
    """A sorted row of columns, each once with how often it is there, from place `out` on; the place behind."""
    for i in range(len(row)):
        if i > 0 and row[i] == row[i - 1]:
            counts[out - 1] += 1
        else:
            columns[out], counts[out] = row[i], 1
            out += 1
    return out


@njit(nogil=True, cache=True)
def hash_words(codes: Any, offsets: Any, kinds: Any) -> Any:
    """The hash of each word of all texts, where it begins and ends, and where each text's words begin: as `words`
    finds them where no script is without spaces."""
    nothing = np.zeros(16, np.uint64)
    n_docs = len(offsets) - 1
    hashes, spans = np.empty(len(codes) // 2 + 1, np.uint64), np.empty((len(codes) // 2 + 1, 3), np.int64)
    begins = np.zeros(n_docs + 1, np.int64)
    for d in range(n_docs):
        first = begins[d]
        begins[d + 1] = first + words(codes, offsets[d], offsets[d + 1], kinds, nothing, hashes[first:], spans[first:])
    n = begins[n_docs]
    return hashes[:n], spans[:n, :2], begins


@njit(nogil=True, cache=True)
def look_up(keys: Any, values: Any, hashes: Any, out: Any) -> Any:
    """The values of hashes in an open table, into `out`; of one that is not there 0. How many are not."""
    n_missing = 0
    for i in range(len(hashes)):
        at = place(keys, hashes[i])
        if keys[at] == hashes[i]:
            out[i] = values[at]
        else:
            out[i] = FREE
            n_missing += 1
    return n_missing


@njit(nogil=True, cache=True)
def put(keys: Any, values: Any, hashes: Any, new: Any) -> None:
    """Into an open table that has room."""
    for i in range(len(hashes)):
        at = place(keys, hashes[i])
        keys[at], values[at] = hashes[i], new[i]


@njit(nogil=True, cache=True)
def count_hashed(hashes: Any, begins: Any, left_out: Any, stop: Any, ngrams: Any, table: Any, known: Any) -> Any:
    """As `count_terms`, of texts whose words are hashed already (`hash_words`); `left_out` is no word's hash."""
    n_docs = len(begins) - 1
    longest = 1
    for d in range(n_docs):
        longest = max(longest, begins[d + 1] - begins[d])
    kept = np.empty(longest, np.uint64)
    found = np.empty(longest * ngrams, np.int32)
    indptr = np.zeros(n_docs + 1, np.int64)
    columns = np.empty(max(1024, len(hashes)), np.int32)
    counts = np.empty(len(columns), np.float32)
    out = 0
    for d in range(n_docs):
        n = 0
        for i in range(begins[d], begins[d + 1]):
            h = hashes[i]
            if h != left_out and stop[place(stop, h)] != h:
                kept[n] = h
                n += 1
        n_found = 0
        for i in range(n):
            n_found = _known_grams(kept, i, min(i + ngrams, n), table, known, found, n_found)
        if out + n_found > len(columns):
            columns, counts = _with_room(columns, out + n_found), _with_room(counts, out + n_found)
        out = _counted(np.sort(found[:n_found]), columns, counts, out)
        indptr[d + 1] = out
    return indptr, columns[:out].copy(), counts[:out].copy()


@njit(nogil=True, cache=True)
def _with_room(values: Any, n: Any) -> Any:
    """The same values, and room for so many."""
    wider = np.empty(max(n, 2 * len(values)), values.dtype)
    wider[: len(values)] = values
    return wider


@njit(nogil=True, cache=True)
def weigh(indptr: Any, columns: Any, values: Any, idf: Any, sublinear: Any) -> Any:
    """Counts to tf-idf in place, each row of length 1."""
    for d in range(len(indptr) - 1):
        norm = 0.0
        for i in range(indptr[d], indptr[d + 1]):
            tf = 1.0 + np.log(np.float64(values[i])) if sublinear else np.float64(values[i])
            weight = tf * idf[columns[i]]
            values[i] = weight
            norm += weight * weight
        if norm > 0:
            scale = 1.0 / np.sqrt(norm)
            for i in range(indptr[d], indptr[d + 1]):
                values[i] *= scale
