"""The compiled parts of the blend: the table of candidates, and the trees' sum for each row.

Serial: documents and rows are worked on on all cores at once. No array is as long as the vocabulary: a label of a
document is found by a small hash table, so that a million labels cost no more than a thousand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from everylabel.small_tables import FREE, find_place, n_places

_DE_BRUIJN = np.uint32(0x077CB531)  # by which a number with one bit is told by its five highest
_PLACE_OF_BIT = np.zeros(32, np.int64)
for _bit in range(32):
    _PLACE_OF_BIT[((0x077CB531 << _bit) & 0xFFFFFFFF) >> 27] = _bit


@njit(nogil=True, cache=True)
def choose(
    ids: Any,
    firsts: Any,
    first_doc: Any,
    last_doc: Any,
    counts: Any,
    best: Any,
    best_unseen: Any,
    more: Any,
    labels: Any,
) -> Any:
    """The candidates of each document, sorted, into the rows of `labels`; returns how many each has.

    `ids` (documents, all experts' ranks side by side; expert e's are the columns firsts[e]:firsts[e + 1]). `more`
    (documents, any number): labels that are candidates besides; -1: none.
    """
    n_experts = len(firsts) - 1
    n_found = np.zeros(last_doc - first_doc, np.int64)
    keys = np.full(n_places(2 * labels.shape[1]), FREE, np.int32)
    for d in range(first_doc, last_doc):
        row = labels[d - first_doc]
        n = 0
        for e in range(n_experts):
            unseen = 0
            for c in range(firsts[e], firsts[e + 1]):
                label = ids[d, c]
                if label < 0:
                    continue
                wanted = c - firsts[e] < best
                if counts[label] <= 0:
                    unseen += 1
                    wanted = wanted or unseen <= best_unseen
                if wanted:
                    at = find_place(keys, label)
                    if keys[at] == FREE:
                        keys[at] = label
                        row[n] = label
                        n += 1
        for c in range(more.shape[1]):
            label = more[d, c]
            if label >= 0:
                at = find_place(keys, label)
                if keys[at] == FREE:
                    keys[at] = label
                    row[n] = label
                    n += 1
        keys[:] = FREE
        row[:n] = np.sort(row[:n])
        n_found[d - first_doc] = n
    return n_found


@njit(nogil=True, cache=True)
def describe(
    ids: Any,
    scores: Any,
    firsts: Any,
    able: Any,
    first_doc: Any,
    n_found: Any,
    labels: Any,
    counts: Any,
    name_lengths: Any,
    depth: Any,
    first_ranks: Any,
    best_unseen: Any,
    columns: Any,
) -> None:
    """The columns of all candidates, in the order of candidates.EXPERT_COLUMNS and SHARED_COLUMNS."""
    n_experts = len(firsts) - 1
    n_shared = 3 * n_experts
    widest = 0
    for e in range(n_experts):
        widest = max(widest, firsts[e + 1] - firsts[e])
    size = n_places(widest + 1)
    keys = np.full(size, FREE, np.int32)
    places = np.zeros(size, np.int32)
    among = np.zeros(size, np.int32)
    agreed = np.log1p(np.float64(first_ranks))
    last = np.log1p(np.float64(depth))
    n_able = 0
    for e in range(n_experts):
        n_able += able[e]
    row0 = 0
    for i in range(len(n_found)):
        d = first_doc + i
        n = n_found[i]
        agreement = np.zeros(n, np.int64)
        lowest = np.full(n, np.inf)
        total = np.zeros(n)
        asked = np.zeros(n, np.int64)
        unseen_total = np.zeros(n)
        for e in range(n_experts):
            keys[:] = FREE
            listed = 0
            for c in range(firsts[e], firsts[e + 1]):
                label = ids[d, c]
                if label < 0:
                    continue
                at = find_place(keys, label)
                keys[at], places[at], among[at] = label, c - firsts[e], listed
                if counts[label] <= 0:
                    listed += 1
            for j in range(n):
                label = labels[i, j]
                out = columns[row0 + j]
                at = find_place(keys, label)
                there = keys[at] == label
                rank = last
                if there:
                    place = places[at]
                    rank = np.log1p(np.float64(place))
                    score = scores[d, firsts[e] + place]
                    out[3 * e], out[3 * e + 1], out[3 * e + 2] = score, rank, score - scores[d, firsts[e]]
                else:
                    out[3 * e] = out[3 * e + 1] = out[3 * e + 2] = np.nan
                if rank < agreed:
                    agreement[j] += 1
                lowest[j] = min(lowest[j], rank)
                if there or able[e] or counts[label] > 0:
                    total[j] += rank
                    asked[j] += 1
                if able[e] and counts[label] <= 0:
                    unseen_rank = among[at] if there else max(listed, best_unseen)
                    unseen_total[j] += np.log1p(np.float64(unseen_rank))
        most = 0
        for j in range(n):
            most += agreement[j] > n_experts / 2
        for j in range(n):
            label = labels[i, j]
            out = columns[row0 + j]
            seen = max(counts[label], 0)
            out[n_shared] = np.log1p(np.float64(seen))
            out[n_shared + 1] = 1.0 if seen == 0 else 0.0
            out[n_shared + 2] = agreement[j]
            out[n_shared + 3] = lowest[j]
            out[n_shared + 4] = total[j] / max(asked[j], 1)
            out[n_shared + 5] = name_lengths[label]
            out[n_shared + 6] = most
            unseen = counts[label] <= 0 and n_able > 0
            out[n_shared + 7] = unseen_total[j] / n_able if unseen else np.nan
        row0 += n


@njit(nogil=True, cache=True)
def leaves_from_the_left(firsts: Any, left: Any, right: Any, order: Any, below: Any) -> None:
    """The leaves of each tree as they stand from left to right, into `order` (trees, leaves); and which of them stand
    below the left child of each node, as bits, into `below`. Children come after their parents."""
    waiting = np.empty(64, np.int32)
    for t in range(len(firsts) - 1):
        first = firsts[t]
        n_nodes = firsts[t + 1] - first
        place = np.zeros(n_nodes + 1, np.int64)  # of each leaf
        n, size = 0, 1
        waiting[0] = 0 if n_nodes else -1
        while size:
            size -= 1
            node = waiting[size]
            if node < 0:
                order[t, n] = -1 - node
                place[-1 - node] = n
                n += 1
            else:
                waiting[size], waiting[size + 1] = right[first + node], left[first + node]
                size += 2
        every = np.zeros(n_nodes, np.uint32)  # leaves below each node
        for node in range(n_nodes - 1, -1, -1):
            for side in range(2):
                child = left[first + node] if side == 0 else right[first + node]
                bits = every[child] if child >= 0 else np.uint32(1) << np.uint32(place[-1 - child])
                if side == 0:
                    below[first + node] = bits
                every[node] |= bits


@njit(nogil=True, cache=True, inline="always")
def _left_over(row: Any, used: Any, starts: Any, thresholds: Any, table: Any, leaves: Any) -> None:
    """The leaves of each tree that are left for a row, as bits, into `leaves`."""
    nowhere = table.shape[1] - 1
    leaves[:] = np.uint32(0xFFFFFFFF)
    for i in range(len(used)):
        value = np.float64(row[used[i]])
        place = nowhere
        if not np.isnan(value):
            low, n = starts[i], starts[i + 1] - starts[i]
            while n > 1:  # without a branch that depends on the value
                half = n >> 1
                low += half * (thresholds[low + half - 1] < value)
                n -= half
            place = low - starts[i] + (thresholds[low] < value)
        left = table[i, place]
        for t in range(len(leaves)):
            leaves[t] &= left[t]


@njit(nogil=True, cache=True, inline="always")
def _first_leaf(bits: Any) -> Any:
    lowest = bits & np.uint32(~bits + np.uint32(1))
    return _PLACE_OF_BIT[np.uint32(lowest * _DE_BRUIJN) >> np.uint32(27)]


@njit(nogil=True, cache=True)
def find_leaves(columns: Any, used: Any, starts: Any, thresholds: Any, table: Any, out: Any) -> None:
    """The leaf of each row in each tree, from the left, into `out` (rows, trees). As `sum_trees`."""
    leaves = np.empty(out.shape[1], np.uint32)
    for row in range(len(columns)):
        _left_over(columns[row], used, starts, thresholds, table, leaves)
        for t in range(len(leaves)):
            out[row, t] = _first_leaf(leaves[t])


@njit(nogil=True, cache=True)
def sum_trees(columns: Any, used: Any, starts: Any, thresholds: Any, table: Any, values: Any, out: Any) -> None:
    """The sum of the trees' values for each row, in the order of the trees, as LightGBM adds them.

    No tree is walked down, which the processor could not foresee: a value of feature used[i] falls between two of the
    thresholds starts[i]:starts[i + 1], and table[i, that place] says for each tree which leaves are left then, as bits.
    The first of a tree's leaves that all features leave is the row's. A value that is not there has the last place.
    O(features x trees / 8) a row. The way is that of QuickScorer (Lucchese et al., 2015).
    """
    n_trees = table.shape[2]
    leaves = np.empty(n_trees, np.uint32)
    for row in range(len(columns)):
        _left_over(columns[row], used, starts, thresholds, table, leaves)
        total = 0.0
        for t in range(n_trees):
            total += values[t, _first_leaf(leaves[t])]
        out[row] = total
