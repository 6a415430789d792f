"""The compiled part of exact search: what passes the matrix product's scores is scored again, and the best are kept.

A matrix product adds up in an order that depends on the place of a vector and on the size of the batch, so that equal
vectors get scores that differ in the last digits. Here its scores only decide what is worth looking at; the score that
counts is a dot product in one order. So a ranking does not depend on what else is searched, and equal vectors stand by
id. The product is ours, nine tenths as fast as BLAS on one core: BLAS has threads of its own, which get into each
other's way where several parts of a batch are ranked side by side.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from everylabel.heaps import push, sort_heap
from everylabel.linear.vector import prefetch

_FEW = 100
_BLOCK = 64  # vectors: 256 KB of 1,024 dimensions
_LINE = 16  # numbers that memory gives at a time
_AHEAD = 2  # vectors between the one that is read and the one that is fetched


@njit(nogil=True, cache=True, inline="always")
def _fetch(vectors: Any, v: Any) -> None:
    """Have a vector brought near: the processor cannot guess which one comes next, and would wait for each of them."""
    vector = vectors[v]
    for i in range(0, len(vector), _LINE):
        prefetch(vector, i)


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def dot(a: Any, b: Any) -> Any:
    """Vectorised: the order of the sum is another than from left to right, and always the same."""
    total = np.float32(0)
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@njit(nogil=True, cache=True)
def products(queries: Any, vectors: Any) -> Any:
    """As a matrix product, for few queries: as fast as memory is, where BLAS's threads wait for each other."""
    result = np.empty((len(queries), len(vectors)), np.float32)
    products_of(queries, vectors, 0, len(vectors), result)
    return result


@njit(nogil=True, cache=True)
def products_of(queries: Any, vectors: Any, first: Any, last: Any, result: Any) -> None:
    """The same for the vectors from `first` to `last`, into their columns of the result."""
    for v in range(first, last):
        for q in range(len(queries)):
            result[q, v] = dot(queries[q], vectors[v])


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def rough_products(queries: Any, vectors: Any, first: Any, last: Any, result: Any) -> None:
    """As `products_of`, for many queries: four of them with two vectors at a time, which stay in registers, and a block
    of vectors that stays in the cache. Sums in any order."""
    dim, many = queries.shape[1], len(queries) // 4 * 4
    for begin in range(first, last, _BLOCK):
        end = min(begin + _BLOCK, last)
        paired = begin + (end - begin) // 2 * 2
        for q in range(0, many, 4):
            q0, q1, q2, q3 = queries[q], queries[q + 1], queries[q + 2], queries[q + 3]
            for v in range(begin, paired, 2):
                v0, v1 = vectors[v], vectors[v + 1]
                a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = np.float32(0)
                for i in range(dim):
                    x, y = v0[i], v1[i]
                    a0 += q0[i] * x
                    a1 += q1[i] * x
                    a2 += q2[i] * x
                    a3 += q3[i] * x
                    b0 += q0[i] * y
                    b1 += q1[i] * y
                    b2 += q2[i] * y
                    b3 += q3[i] * y
                result[q, v], result[q + 1, v], result[q + 2, v], result[q + 3, v] = a0, a1, a2, a3
                result[q, v + 1], result[q + 1, v + 1], result[q + 2, v + 1], result[q + 3, v + 1] = b0, b1, b2, b3
        for v in range(begin, end):
            for q in range(many if v < paired else 0, len(queries)):
                result[q, v] = dot(queries[q], vectors[v])


@njit(nogil=True, cache=True)
def keep_best(
    queries: Any, vectors: Any, ids: Any, rough: Any, slack: Any, sizes: Any, out_ids: Any, out_scores: Any
) -> None:
    """Push the vectors of one block to the queries' heaps. `rough` (queries, vectors) is right to within `slack`.

    O(queries x vectors) comparisons, and a dot product for each of the about k that pass: of one block the k best by
    `rough` show how low a score can be of use, of many blocks also those that are there already.
    """
    for q in range(len(queries)):
        heap_ids, heap_scores, size = out_ids[q], out_scores[q], sizes[q]
        k = len(heap_ids)
        limit = heap_scores[0] - slack if size == k else np.float32(-np.inf)
        if _FEW <= k < len(vectors):  # the few best are found as fast without
            limit = max(limit, np.partition(rough[q], len(vectors) - k)[len(vectors) - k] - 2 * slack)
        for v in range(len(vectors)):
            if rough[q, v] >= limit:
                size = push(heap_ids, heap_scores, size, ids[v], dot(queries[q], vectors[v]))
                if size == k:
                    limit = max(limit, heap_scores[0] - slack)
        sizes[q] = size


@njit(nogil=True, cache=True)
def best_owners(queries: Any, vectors: Any, begins: Any, rough: Any, slack: Any, out_ids: Any, out_scores: Any) -> None:
    """The owners of the best vectors: owner o has those from begins[o] to begins[o + 1], and its best one counts.

    As `keep_best` for one block of all vectors; a dot product for each of the about k owners that can be of use.
    """
    n_owners, k = len(begins) - 1, out_ids.shape[1]
    best = np.empty(n_owners, np.float32)
    useful, owners = np.empty(len(vectors), np.int64), np.empty(len(vectors), np.int32)
    for q in range(len(queries)):
        for o in range(n_owners):
            top = np.float32(-np.inf)
            for v in range(begins[o], begins[o + 1]):
                top = max(top, rough[q, v])
            best[o] = top
        limit = np.float32(-np.inf)
        if k < n_owners:
            limit = np.partition(best, n_owners - k)[n_owners - k] - 2 * slack
        n_useful = 0
        for o in range(n_owners):
            if best[o] >= limit:
                for v in range(begins[o], begins[o + 1]):
                    if rough[q, v] >= best[o] - 2 * slack:
                        useful[n_useful], owners[n_useful] = v, o
                        n_useful += 1
        size = 0
        score = np.float32(-np.inf)
        for i in range(n_useful):
            if i + _AHEAD < n_useful:
                _fetch(vectors, useful[i + _AHEAD])
            score = max(score, dot(queries[q], vectors[useful[i]]))
            if i + 1 == n_useful or owners[i + 1] != owners[i]:
                size = push(out_ids[q], out_scores[q], size, owners[i], score)
                score = np.float32(-np.inf)
        sort_heap(out_ids[q], out_scores[q], size)


@njit(nogil=True, cache=True)
def sort_best(sizes: Any, out_ids: Any, out_scores: Any) -> None:
    """The heaps become rankings, best first."""
    for q in range(len(sizes)):
        sort_heap(out_ids[q], out_scores[q], sizes[q])


@njit(nogil=True, cache=True)
def first_of_each(ids: Any, scores: Any, out_ids: Any, out_scores: Any) -> None:
    """The first places of different ids in each row of a ranking, as many as there is room for.

    O(places): the ids of a row are in a hash table, whose places say for which row they are taken.
    """
    width = 16
    while width < 2 * ids.shape[1]:
        width *= 2
    mask = np.uint32(width - 1)
    known, row_of = np.zeros(width, np.int64), np.full(width, -1, np.int64)
    for row in range(len(ids)):
        size = 0
        for place in range(ids.shape[1]):
            own = ids[row, place]
            if size == out_ids.shape[1]:
                break
            if own < 0:
                continue
            at = (np.uint32(own) * np.uint32(2654435769) >> np.uint32(7)) & mask
            while row_of[at] == row and known[at] != own:
                at = (at + np.uint32(1)) & mask
            if row_of[at] != row:
                known[at], row_of[at] = own, row
                out_ids[row, size], out_scores[row, size] = own, scores[row, place]
                size += 1
