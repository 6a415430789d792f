"""Compiled loops over tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from everylabel.text.kernels import START, finish, mix


@njit(nogil=True, cache=True)
def distinct_tokens(ids: Any, offsets: Any, n_ids: Any) -> Any:
    """(ids, counts, offsets) of each row's distinct tokens, in the order they first come. O(tokens + n_ids)."""
    n_rows = len(offsets) - 1
    seen = np.zeros(n_ids, np.int32)
    out_ids = np.empty(len(ids), np.int32)
    counts = np.empty(len(ids), np.int32)
    out_offsets = np.zeros(n_rows + 1, np.int64)
    end = 0
    for row in range(n_rows):
        first = end
        for at in range(offsets[row], offsets[row + 1]):
            token = ids[at]
            if token < 0 or token >= n_ids:  # of another tokeniser: anything might be overwritten
                raise IndexError("a token that has no row")
            if seen[token] == 0:
                out_ids[end] = token
                end += 1
            seen[token] += 1
        for at in range(first, end):
            counts[at] = seen[out_ids[at]]
            seen[out_ids[at]] = 0
        out_offsets[row + 1] = end
    return out_ids[:end], counts[:end], out_offsets


@njit(nogil=True, cache=True)
def token_weights(counts: Any, offsets: Any, chances: Any, dropout: Any) -> Any:
    """1 + ln(count); with `chances` (one a token) 0 for tokens that are dropped, and more for those that stay.

    A text keeps all of its tokens rather than none.
    """
    weights = np.empty(len(counts), np.float32)
    for row in range(len(offsets) - 1):
        kept = 0
        for at in range(offsets[row], offsets[row + 1]):
            weights[at] = 1.0 + np.log(np.float32(counts[at]))
            kept += len(chances) > 0 and chances[at] >= dropout
        if kept > 0:
            for at in range(offsets[row], offsets[row + 1]):
                weights[at] *= np.float32(1 / (1 - dropout)) if chances[at] >= dropout else np.float32(0)
    return weights


@njit(nogil=True, cache=True, fastmath=True)
def sum_bags(ids: Any, weights: Any, offsets: Any, first: Any, last: Any, table: Any, out: Any) -> None:
    """out[row] = the weighted sum of the row's tokens' vectors, for rows from `first` to `last`."""
    dim = table.shape[1]
    for row in range(first, last):
        for at in range(offsets[row], offsets[row + 1]):
            weight, token = weights[at], ids[at]
            if weight != 0:
                for d in range(dim):
                    out[row, d] += weight * table[token, d]


# Without reassociation: weight x (factor x number) is rounded as if the table had been multiplied by its factors.
@njit(nogil=True, cache=True, fastmath={"contract", "nnan", "ninf", "nsz"})
def sum_factored_bags(
    ids: Any,
    weights: Any,
    offsets: Any,
    first: Any,
    last: Any,
    dense: Any,
    signs: Any,
    n_signs: Any,
    lengths: Any,
    factors: Any,
    own_rows: Any,
    own_row: Any,
    out: Any,
) -> None:
    """`sum_bags` of the table whose rows are factors x (dense, lengths x signs); signs are bits of 32-bit words.

    Tokens that have a row of their own count with that.
    """
    n_dense, n_words = dense.shape[1], n_signs // 32
    for row in range(first, last):
        own, lexical = out[row, :n_dense], out[row, n_dense:]
        for at in range(offsets[row], offsets[row + 1]):
            weight, token = weights[at], ids[at]
            if weight != 0 and len(own_row) and own_row[token] >= 0:
                trained = own_rows[own_row[token]]
                for d in range(out.shape[1]):
                    out[row, d] += weight * trained[d]
            elif weight != 0:
                factor, vector, words = factors[token], dense[token], signs[token]
                for d in range(n_dense):
                    own[d] += weight * (factor * vector[d])
                length = factor * lengths[token]
                for w in range(n_words):  # 32 at a time: the compiler makes vectors of them
                    word, part = words[w], lexical[32 * w : 32 * w + 32]
                    for j in range(32):
                        part[j] += weight * (length if (word >> np.uint32(j)) & np.uint32(1) else -length)
                for j in range(n_signs - 32 * n_words):
                    positive = (words[n_words] >> np.uint32(j)) & np.uint32(1)
                    lexical[32 * n_words + j] += weight * (length if positive else -length)


@njit(nogil=True, cache=True)
def by_token(ids: Any, weights: Any, offsets: Any, n_ids: Any) -> Any:
    """(tokens, rows, weights, offsets): the distinct tokens in order, and the rows of each as tokens of a bag.

    The way back of `sum_bags` is `sum_bags` of these. O(tokens + n_ids); tokens of weight 0 are left out.
    """
    begins = np.zeros(n_ids + 1, np.int64)
    for at in range(len(ids)):
        if weights[at] != 0:
            begins[ids[at] + 1] += 1
    tokens = np.flatnonzero(begins[1:])
    begins = np.cumsum(begins)
    out_offsets = np.append(begins[tokens], begins[-1])
    rows, out_weights = np.empty(begins[-1], np.int32), np.empty(begins[-1], np.float32)
    for row in range(len(offsets) - 1):
        for at in range(offsets[row], offsets[row + 1]):
            if weights[at] != 0:
                place = begins[ids[at]]
                rows[place], out_weights[place] = row, weights[at]
                begins[ids[at]] += 1
    return tokens, rows, out_weights, out_offsets


@njit(nogil=True, cache=True)
def hash_runs(codes: Any, offsets: Any, spaces: Any, most: Any) -> Any:
    """What stands between white space in each text, at most so many: its hash, where it begins and ends, where each
    text's begin, and whether a text has more."""
    n_texts = len(offsets) - 1
    hashes, spans = np.empty(len(codes) // 2 + n_texts, np.uint64), np.empty((len(codes) // 2 + n_texts, 2), np.int64)
    begins, more = np.zeros(n_texts + 1, np.int64), np.zeros(n_texts, np.bool_)
    n = 0
    for t in range(n_texts):
        first, i, end = n, offsets[t], offsets[t + 1]
        while True:
            while i < end and spaces[codes[i]]:
                i += 1
            if i == end or n - first == most:
                break
            begin, h = i, START
            while i < end and not spaces[codes[i]]:
                h = mix(h, np.uint64(codes[i]))
                i += 1
            hashes[n], spans[n, 0], spans[n, 1] = finish(h), begin, i
            n += 1
        begins[t + 1], more[t] = n, i < end
    return hashes[:n], spans[:n], begins, more
