"""Compiled prediction: a beam search down the tree, with the weights of each level as inverted lists (lists.py).

Where the beam covers
a good part of a level, the lists are walked whole: one pass over memory for all nodes. Where it covers little, the part
of each list that belongs to a branch is found by bisection. The cheaper one is chosen for each document and level.
Cost of a document: O(words x min(list length, beam x (log(list length) + branch))) a level.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from everylabel.heaps import push, sort_heap
from everylabel.linear.vector import prefetch

_SLOPE = np.float32(4)
_SLACK = np.float32(1e-3)  # more than rounding can do, unless a float32 is this near to 0 or 1:
_TINY, _NEARLY_ONE = np.float32(1e-30), np.float32(0.9995)  # there, labels that tie must not be passed over
_AHEAD = 6  # lists between the one that is walked and the one that is fetched
_BISECTION = 40  # cost of one bisection in units of one list entry (measured)


@njit(nogil=True, cache=True, inline="always")
def probability(margin: Any) -> Any:
    """A margin as a number in 0..1; the slope was chosen on dev: as good as PECOS's cubed hinge, without ties at 1."""
    return np.float32(1) / (np.float32(1) + np.exp(-_SLOPE * margin))


@njit(nogil=True, cache=True, inline="always")
def _lowest_useful(worst: Any, scale: Any) -> Any:
    """The margin below which scale * probability(margin) cannot beat `worst`; most labels stop here, without an exp."""
    if worst < _TINY:
        return np.float32(-np.inf)
    if worst > scale:
        return np.float32(np.inf)
    share = min(worst / scale, _NEARLY_ONE)
    return np.float32(np.log(share / (1 - share)) / _SLOPE - _SLACK)


@njit(nogil=True, cache=True, inline="always")
def first_not_below(nodes: Any, low: Any, high: Any, node: Any) -> Any:
    while low < high:
        middle = (low + high) >> 1
        if nodes[middle] < node:
            low = middle + 1
        else:
            high = middle
    return low


@njit(nogil=True, cache=True, inline="always")
def _walk_list(lists: Any, row: Any, value: Any, totals: Any) -> None:
    starts, nodes, weights, _ = lists
    for e in range(starts[row], starts[row + 1]):
        totals[nodes[e]] += value * np.float32(weights[e])


@njit(nogil=True, cache=True, inline="always")
def _walk_branch(lists: Any, row: Any, value: Any, first: Any, last: Any, totals: Any) -> None:
    starts, nodes, weights, _ = lists
    end = starts[row + 1]
    e = first_not_below(nodes, starts[row], end, first)
    while e < end and nodes[e] < last:
        totals[nodes[e]] += value * np.float32(weights[e])
        e += 1


@njit(nogil=True, cache=True, inline="always")
def _announce(lists: Any, row: Any) -> None:
    """Have the head of a list fetched: at its end the processor cannot guess where to look next."""
    starts, nodes, weights, _ = lists
    prefetch(nodes, starts[row])
    prefetch(weights, starts[row])


@njit(nogil=True, cache=True)
def _score_level(
    document: Any, lists: Any, level: Any, n_nodes: Any, children: Any, beam_ids: Any, n_beam: Any, totals: Any
) -> None:
    """Margins of the children of the beam's nodes, into `totals` (places of other nodes may hold anything)."""
    columns, values, dense, n_sparse, bias = document
    starts, scales = lists[0], lists[3]
    n_levels = len(scales)
    scale = scales[level]
    bias_row = (n_sparse + len(dense)) * n_levels + level
    entries, covered = 0, 0
    for i in range(len(columns)):
        row = columns[i] * n_levels + level
        entries += starts[row + 1] - starts[row]
    for b in range(n_beam):
        covered += children[beam_ids[b] + 1] - children[beam_ids[b]]
    by_branch = entries * (covered / n_nodes) + _BISECTION * n_beam * len(columns)
    if entries + n_nodes <= by_branch:
        totals[:n_nodes] = 0
        for i in range(len(columns)):
            if i + _AHEAD < len(columns):
                _announce(lists, columns[i + _AHEAD] * n_levels + level)
            _walk_list(lists, columns[i] * n_levels + level, scale * values[i], totals)
        for i in range(len(dense)):
            _walk_list(lists, (n_sparse + i) * n_levels + level, scale * dense[i], totals)
        _walk_list(lists, bias_row, scale * bias, totals)
        return
    for b in range(n_beam):
        first, last = children[beam_ids[b]], children[beam_ids[b] + 1]
        totals[first:last] = 0
        for i in range(len(columns)):
            _walk_branch(lists, columns[i] * n_levels + level, scale * values[i], first, last, totals)
        for i in range(len(dense)):
            _walk_branch(lists, (n_sparse + i) * n_levels + level, scale * dense[i], first, last, totals)
        _walk_branch(lists, bias_row, scale * bias, first, last, totals)


@njit(nogil=True, cache=True)
def beam_search(
    indptr: Any,
    indices: Any,
    values: Any,
    dense: Any,
    n_sparse: Any,
    bias: Any,
    lists: Any,
    children: Any,
    level_starts: Any,
    names: Any,
    beam: Any,
    out_ids: Any,
    out_scores: Any,
) -> None:
    """The best labels of each document, by the product of the probabilities along the path from the root.

    `lists` are as in lists.py, the bias being the last column; `children` are all levels' of the tree, level t's at
    level_starts[t]. `names` gives what each place of the last level is called in the output (ties go to
    the lower name). Rows of the output that find fewer labels keep their padding.
    """
    n_levels = len(level_starts) - 1
    widest = 0
    for t in range(n_levels):
        widest = max(widest, children[level_starts[t + 1] - 1])
    totals = np.empty(widest, np.float32)  # as many as labels: what is read of it is set before
    beam_ids = np.zeros(max(beam, 1), np.int32)
    beam_scores = np.ones(max(beam, 1), np.float32)
    next_ids = np.zeros(max(beam, 1), np.int32)
    next_scores = np.zeros(max(beam, 1), np.float32)
    for d in range(len(indptr) - 1):
        row = slice(indptr[d], indptr[d + 1])
        document = (indices[row], values[row], dense[d], n_sparse, bias)
        n_beam = 1
        beam_ids[0], beam_scores[0] = 0, 1
        for t in range(n_levels):
            level = children[level_starts[t] : level_starts[t + 1]]
            _score_level(document, lists, t, level[-1], level, beam_ids, n_beam, totals)
            last = t == n_levels - 1
            ids = out_ids[d] if last else next_ids
            scores = out_scores[d] if last else next_scores
            size = 0
            for b in range(n_beam):
                limit = np.float32(-np.inf) if size < len(ids) else _lowest_useful(scores[0], beam_scores[b])
                for node in range(level[beam_ids[b]], level[beam_ids[b] + 1]):
                    if totals[node] < limit:
                        continue
                    score = beam_scores[b] * probability(totals[node])
                    size = push(ids, scores, size, names[node] if last else np.int32(node), score)
                    if size == len(ids):
                        limit = _lowest_useful(scores[0], beam_scores[b])
            sort_heap(ids, scores, size)  # the beam too: what its best node finds spares much of the others' work
            if not last:
                beam_ids, next_ids = next_ids, beam_ids
                beam_scores, next_scores = next_scores, beam_scores
                n_beam = size
