"""Compiled search of label texts by their tokens (tokens.py): products of queries with tokens, and a pass over texts.

A text's score is one sum in the order of its columns, and a token's product one dot product, whether a query is asked
alone or beside others: so a ranking does not depend on what else is searched, and equal texts stand by id.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from everylabel.encoders.kernels import sum_factored_bags
from everylabel.heaps import push
from everylabel.index.kernels import dot
from everylabel.small_tables import FREE, find_place, n_places

TOGETHER = 8  # queries whose products with a token stand side by side: a register of float32
_NEXT = np.float32(0.8)  # of a gain: so far down all lists are walked before the next ones
_NOTHING = np.float32(1e-3)  # of the largest gain


@njit(nogil=True, cache=True)
def token_rows(tokens: Any, first: Any, last: Any, table: Any, out: Any) -> None:
    """out[i]: the vector of tokens[first + i]. `table`: the parts of a `TokenTable`."""
    ones, places = np.ones(last - first, np.float32), np.arange(last - first + 1)
    out[:] = 0
    sum_factored_bags(tokens[first:last], ones, places, 0, last - first, *table, out)


@njit(nogil=True, cache=True)
def _sums_of_signs(query: Any, n_bytes: Any) -> Any:
    """(bytes, 256): what the numbers of a query add up to where a 0 takes one away; beyond its end they are 0."""
    found = np.empty((n_bytes, 256), np.float32)
    for byte in range(n_bytes):
        own = np.zeros(8, np.float32)
        part = query[8 * byte : 8 * byte + 8]
        own[: len(part)] = part
        found[byte, 0] = -own.sum()
        for bits in range(1, 256):
            j = 0
            while not (bits >> j) & 1:
                j += 1
            found[byte, bits] = found[byte, bits & (bits - 1)] + np.float32(2) * own[j]
    return found


@njit(nogil=True, cache=True)
def token_products(queries: Any, tokens: Any, table: Any, out: Any) -> None:
    """out[i, q]: the product of query q with the vector of tokens[i]. O(tokens x (dense dimensions + bytes of signs)).

    `table`: the parts of a `TokenTable`; `out` has a column for one query, TOGETHER for more.
    """
    dense, signs, _, lengths, factors, own_rows, own_row = table
    n_dense, n_bytes, n_queries = dense.shape[1], 4 * signs.shape[1], len(queries)
    own, lexical = queries[:, :n_dense].copy(), queries[:, n_dense:]
    sums = np.zeros((n_bytes, 256, out.shape[1]), np.float32)
    for q in range(n_queries):
        sums[:, :, q] = _sums_of_signs(lexical[q], n_bytes)
    totals = np.zeros(TOGETHER, np.float32)
    for i in range(len(tokens)):
        token = tokens[i]
        if len(own_row) and own_row[token] >= 0:
            for q in range(n_queries):
                out[i, q] = dot(own_rows[own_row[token]], queries[q])
            continue
        totals[:] = 0
        words = signs[token]
        if n_queries == 1:
            total = np.float32(0)
            for byte in range(n_bytes):
                total += sums[byte, (words[byte >> 2] >> np.uint32(8 * (byte & 3))) & np.uint32(255), 0]
            totals[0] = total
        else:
            for byte in range(n_bytes):
                some = sums[byte, (words[byte >> 2] >> np.uint32(8 * (byte & 3))) & np.uint32(255)]
                for q in range(TOGETHER):
                    totals[q] += some[q]
        for q in range(n_queries):
            out[i, q] = factors[token] * (dot(dense[token], own[q]) + lengths[token] * totals[q])


@njit(nogil=True, cache=True)
def text_lengths(texts: Any, divisors: Any, rows: Any, bias: Any, first: Any, last: Any, out: Any) -> None:
    """out[t]: how long bias + the weighted sum of text t's rows / divisors[t] is; for texts from `first` to `last`."""
    starts, columns, weights = texts
    total = np.empty(rows.shape[1], np.float32)
    for text in range(first, last):
        total[:] = bias
        for at in range(starts[text], starts[text + 1]):
            own, weight = rows[columns[at]], weights[at] / divisors[text]
            for d in range(len(total)):
                total[d] += weight * own[d]
        out[text] = np.sqrt(dot(total, total))


@njit(nogil=True, cache=True)
def best_for_one(products: Any, part: Any, ids: Any, scores: Any, size: Any) -> Any:
    """The labels with the best texts, into a heap; returns how many there are in it. O(tokens of all texts)."""
    labels, begins, starts, columns, weights = part
    least = scores[0] if size == len(ids) else np.float32(-np.inf)
    at = 0
    for i in range(len(labels)):
        best = np.float32(-np.inf)
        for text in range(begins[i], begins[i + 1]):
            total, end = np.float32(0), starts[text + 1]
            while at < end:
                total += weights[at] * products[columns[at]]
                at += 1
            best = max(best, total)
        if best >= least:  # an equal one may be of use, by its id
            size = push(ids, scores, size, labels[i], best)
            if size == len(ids):
                least = scores[0]
    return size


@njit(nogil=True, cache=True)
def best_for_some(products: Any, part: Any, ids: Any, scores: Any, sizes: Any) -> None:
    """`best_for_one` for each row of `ids`; `products` has TOGETHER columns, and a token of a text is read once."""
    labels, begins, starts, columns, weights = part
    n_queries, k = ids.shape
    least = np.full(n_queries, -np.inf, np.float32)
    for q in range(n_queries):
        if sizes[q] == k:
            least[q] = scores[q, 0]
    totals, best = np.empty(TOGETHER, np.float32), np.empty(TOGETHER, np.float32)
    at = 0
    for i in range(len(labels)):
        best[:] = -np.inf
        for text in range(begins[i], begins[i + 1]):
            totals[:] = 0
            end = starts[text + 1]
            while at < end:
                own, weight = products[columns[at]], weights[at]
                for q in range(TOGETHER):
                    totals[q] += weight * own[q]
                at += 1
            for q in range(TOGETHER):
                best[q] = max(best[q], totals[q])
        for q in range(n_queries):
            if best[q] >= least[q]:
                sizes[q] = push(ids[q], scores[q], sizes[q], labels[i], best[q])
                if sizes[q] == k:
                    least[q] = scores[q, 0]


@njit(nogil=True, cache=True)
def by_column(starts: Any, columns: Any, weights: Any, before: Any, begins: Any, out: Any, out_weights: Any) -> None:
    """The rows of each column, heaviest first, equal ones in their order. O(entries x log(rows of a column))."""
    ends = begins[:-1].copy()
    for row in range(len(starts) - 1):
        for at in range(starts[row], starts[row + 1]):
            column = columns[at]
            if column >= before:
                out[ends[column]], out_weights[ends[column]] = row, weights[at]
                ends[column] += 1
    for column in range(len(begins) - 1):
        first, last = begins[column], begins[column + 1]
        order = np.argsort(-out_weights[first:last], kind="mergesort")
        out[first:last] = out[first:last][order]
        out_weights[first:last] = out_weights[first:last][order]


@njit(nogil=True, cache=True)
def _walked(products: Any, lists: Any, met: Any, keys: Any, sums: Any) -> Any:
    """What the texts gain that lists have at their heads, by a table; `met`: as many steps as it is long. Returns how
    many texts are in it."""
    begins, texts, weights, heads = lists
    gains = products * heads
    level, steps, n = gains.max(), 0, 0
    least = level * _NOTHING
    walked = np.zeros(len(gains), np.int32)
    while level > least and steps < len(met):
        level *= _NEXT
        for column in range(len(gains)):
            if gains[column] < level:
                continue
            product, at, end = products[column], begins[column] + walked[column], begins[column + 1]
            while at < end and weights[at] * product >= level and steps < len(met):
                place = find_place(keys, texts[at])
                if keys[place] == FREE:
                    keys[place], sums[place], met[n] = texts[at], np.float32(0), texts[at]
                    n += 1
                sums[place] += weights[at] * product
                at += 1
                steps += 1
            walked[column] = at - begins[column]
    return n


@njit(nogil=True, cache=True)
def best_of_lists(products: Any, part: Any, lists: Any, n_steps: Any, most: Any, ids: Any, scores: Any) -> Any:
    """As `best_for_one`, of the labels of those texts alone that gain most where lists begin (token_lists.py): `most`,
    and all that gain as much as the last of them. O(steps + columns)."""
    labels, begins, starts, columns, weights = part
    keys = np.full(n_places(n_steps), FREE, np.int32)
    sums, met = np.empty(len(keys), np.float32), np.empty(n_steps, np.int32)
    n = _walked(products, lists, met, keys, sums)
    gained = np.empty(n, np.float32)
    for i in range(n):
        gained[i] = sums[find_place(keys, met[i])]
    least = np.partition(gained, n - most)[n - most] if n > most else np.float32(0)
    chosen = np.sort(met[:n][gained >= least])
    size, label = 0, -1
    for i in range(len(chosen)):
        owner = np.searchsorted(begins, chosen[i], side="right") - 1
        if owner == label:
            continue
        label, best = owner, np.float32(-np.inf)
        for text in range(begins[label], begins[label + 1]):
            total = np.float32(0)
            for at in range(starts[text], starts[text + 1]):
                total += weights[at] * products[columns[at]]
            best = max(best, total)
        size = push(ids, scores, size, labels[label], best)
    return size
