"""Compiled counting of word n-grams. A word is a run of two or more word characters, as in scikit-learn's default.

An n-gram is known by a 64-bit hash of its characters: with a million distinct n-grams the chance that any two collide
is below 1 in 10 million, and no string is made while counting. Texts come as one array of code points with offsets.
All tables are open addressing with linear probing; a hash of 0 marks a free place. Cost: O(characters x ngrams).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

FREE = np.uint64(0)
_MOST_STEPS = 32  # of a hash to its place, on average; those of words take one
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_S32, _S29 = np.uint64(32), np.uint64(29)


@njit(nogil=True, cache=True, inline="always")
def _mix(h: Any, value: Any) -> Any:
    h = (h ^ value) * _GOLDEN
    return h ^ (h >> _S32)


@njit(nogil=True, cache=True, inline="always")
def _finish(h: Any) -> Any:
    h = (h ^ (h >> _S29)) * _MIX
    h ^= h >> _S32
    return h if h != FREE else _GOLDEN


@njit(nogil=True, cache=True)
def place(keys: Any, h: Any) -> Any:
    """Where the hash is in the table, or the free place where it would go."""
    mask = np.uint64(len(keys) - 1)
    at = h & mask
    while keys[at] != FREE and keys[at] != h:
        at = (at + np.uint64(1)) & mask
    return np.int64(at)


@njit(nogil=True, cache=True)
def words(codes: Any, start: Any, end: Any, is_word: Any, stop: Any, hashes: Any, starts: Any, ends: Any) -> Any:
    """Hash, start and end of each word of one text that is not in the table of stop words; returns how many."""
    n = 0
    i = start
    while i < end:
        while i < end and not is_word[codes[i]]:
            i += 1
        first = i
        h = _GOLDEN
        while i < end and is_word[codes[i]]:
            h = _mix(h, np.uint64(codes[i]))
            i += 1
        if i - first < 2:
            continue
        h = _finish(h)
        if stop[place(stop, h)] == h:
            continue
        hashes[n], starts[n], ends[n] = h, first, i
        n += 1
    return n


@njit(nogil=True, cache=True, inline="always")
def _extend(gram: Any, word: Any) -> Any:
    """The n-gram with one word more; FREE is the n-gram of no word."""
    if gram == FREE:
        return word
    return _finish(_mix(gram * _MIX, word))  # times something first: a plain xor would not see the words' order


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


@njit(nogil=True, cache=True)
def count_documents(codes: Any, offsets: Any, first_doc: Any, is_word: Any, stop: Any, ngrams: Any, table: Any) -> Any:
    """Add the texts' n-grams to a table of (hash, documents with it, last such document, span in that document)."""
    keys, df, last, spans, used = table
    longest = 1
    for d in range(len(offsets) - 1):
        longest = max(longest, (offsets[d + 1] - offsets[d]) // 2 + 1)
    hashes = np.empty(longest, np.uint64)
    starts = np.empty(longest, np.int64)
    ends = np.empty(longest, np.int64)
    for d in range(len(offsets) - 1):
        n = words(codes, offsets[d], offsets[d + 1], is_word, stop, hashes, starts, ends)
        for i in range(n):
            gram = FREE
            for j in range(i, min(i + ngrams, n)):
                gram = _extend(gram, hashes[j])
                at = place(keys, gram)
                if keys[at] == FREE:
                    if 2 * (used + 1) > len(keys):
                        keys, df, last, spans = _grown(keys, df, last, spans)
                        at = place(keys, gram)
                    keys[at] = gram
                    used += 1
                if last[at] != first_doc + d:
                    last[at] = first_doc + d
                    df[at] += 1
                    spans[at, 0] = starts[i] - offsets[d]
                    spans[at, 1] = ends[j] - offsets[d]
    return keys, df, last, spans, used


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


@njit(nogil=True, cache=True)
def count_terms(codes: Any, offsets: Any, is_word: Any, stop: Any, ngrams: Any, table: Any, known: Any) -> Any:
    """Csr counts of the n-grams whose hashes are `known` in each text: indptr, columns (sorted) and counts."""
    n_docs = len(offsets) - 1
    longest, total = 1, 0
    for d in range(n_docs):
        length = (offsets[d + 1] - offsets[d]) // 2 + 1
        longest = max(longest, length)
        total += min(length, (offsets[d + 1] - offsets[d] + 1) // 3 + 1) * ngrams
    hashes = np.empty(longest, np.uint64)
    starts = np.empty(longest, np.int64)
    ends = np.empty(longest, np.int64)
    found = np.empty(longest * ngrams, np.int32)
    indptr = np.zeros(n_docs + 1, np.int64)
    columns = np.empty(total, np.int32)
    counts = np.empty(total, np.float32)
    out = 0
    for d in range(n_docs):
        n = words(codes, offsets[d], offsets[d + 1], is_word, stop, hashes, starts, ends)
        n_found = 0
        for i in range(n):
            gram = FREE
            for j in range(i, min(i + ngrams, n)):
                gram = _extend(gram, hashes[j])
                number = _number(table, known, gram)
                if number >= 0:
                    found[n_found] = number
                    n_found += 1
        row = np.sort(found[:n_found])
        for i in range(n_found):
            if i > 0 and row[i] == row[i - 1]:
                counts[out - 1] += 1
            else:
                columns[out], counts[out] = row[i], 1
                out += 1
        indptr[d + 1] = out
    return indptr, columns[:out].copy(), counts[:out].copy()


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
