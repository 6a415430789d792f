"""Compiled training of linear classifiers: dual coordinate descent for the L2-regularised squared hinge loss.

For each classifier, with y = +1 or -1:  min 0.5 |w|^2 + sum_i C_i max(0, 1 - y_i w.x_i)^2,  C_i by the sign of y_i.
The method is Hsieh et al. 2008 (liblinear's solver 1) on sixteen classifiers side by side, which share the documents
and the order in which they are visited, so that each value of a document is read once for all of them.
Cost of an epoch: O(values of the documents x classifiers / 16) vector operations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from everylabel.linear import LANES
from everylabel.linear.vector import load, multiply_add, store


@njit(nogil=True, cache=True, inline="always")
def _next_random(state: Any) -> Any:
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state


@njit(nogil=True, cache=True)
def _shuffle(items: Any, state: Any) -> Any:
    for i in range(len(items) - 1, 0, -1):
        state = _next_random(state)
        j = np.int64(state % np.uint64(i + 1))
        items[i], items[j] = items[j], items[i]
    return state


@njit(nogil=True, cache=True)
def _squared_lengths(indptr: Any, values: Any, dense: Any, bias: Any) -> Any:
    lengths = np.empty(len(indptr) - 1, np.float32)
    for i in range(len(lengths)):
        total = bias * bias
        for p in range(indptr[i], indptr[i + 1]):
            total += values[p] * values[p]
        for p in range(dense.shape[1]):
            total += dense[i, p] * dense[i, p]
        lengths[i] = total
    return lengths


@njit(nogil=True, cache=True)
def solve(
    rows: Any, y: Any, weights: Any, n_lanes: Any, n_features: Any, costs: Any, bias: Any, stop: Any, seed: Any
) -> Any:
    """Weights (n_features + dense columns + 1 for the bias, LANES) and the number of epochs.

    Row i has the sparse values at indptr[i]:indptr[i+1] and dense[i]; y is (n, LANES) of +1 and -1. Costs are of a
    positive and a negative; a positive's is multiplied by its weight, where `weights` (n, LANES) are given: None
    compiles to a loop without them. Stops when in no lane the projected gradients differ by more than the tolerance, as
    liblinear does, or after so many epochs.
    """
    indptr, indices, values, dense = rows
    cost_positive, cost_negative = costs
    tolerance, max_epochs = stop
    n = len(indptr) - 1
    n_dense = dense.shape[1]
    W = np.zeros((n_features + n_dense + 1, LANES), np.float32)
    alpha = np.zeros((n, LANES), np.float32)
    lengths = _squared_lengths(indptr, values, dense, bias)
    ridge_positive = np.float32(0.5 / cost_positive)
    ridge_negative = np.float32(0.5 / cost_negative)
    bias_row = n_features + n_dense
    order = np.arange(n)
    margins = np.zeros((1, LANES), np.float32)
    zero = np.zeros((1, LANES), np.float32)
    step = np.zeros((1, LANES), np.float32)
    highest = np.empty(LANES, np.float32)
    lowest = np.empty(LANES, np.float32)
    # below this, a step cannot matter for the stopping rule, and updating the weights is half of the work
    negligible = np.float32(0.05 * tolerance)
    state = np.uint64(seed * 2 + 1) * np.uint64(0x9E3779B97F4A7C15)
    epochs = 0
    for _ in range(max_epochs):
        epochs += 1
        state = _shuffle(order, state)
        highest[:] = -np.inf
        lowest[:] = np.inf
        for s in range(n):
            i = order[s]
            total = multiply_add(bias, load(W, bias_row), load(zero, 0))
            for p in range(indptr[i], indptr[i + 1]):
                total = multiply_add(values[p], load(W, np.int64(indices[p])), total)
            for p in range(n_dense):
                total = multiply_add(dense[i, p], load(W, n_features + p), total)
            store(margins, 0, total)
            largest = np.float32(0)
            for j in range(n_lanes):
                sign = np.float32(y[i, j])
                ridge = ridge_positive if sign > 0 else ridge_negative
                if weights is not None and sign > 0:
                    ridge = ridge_positive / weights[i, j]
                old = alpha[i, j]
                gradient = sign * margins[0, j] - np.float32(1) + old * ridge
                projected = gradient if old > 0 else min(gradient, np.float32(0))
                highest[j] = max(highest[j], projected)
                lowest[j] = min(lowest[j], projected)
                new = max(old - gradient / (lengths[i] + ridge), np.float32(0))
                step[0, j] = (new - old) * sign
                margins[0, j] = new
                largest = max(largest, abs(projected))
            if largest <= negligible:
                continue
            for j in range(n_lanes):
                alpha[i, j] = margins[0, j]
            change = load(step, 0)
            store(W, bias_row, multiply_add(bias, change, load(W, bias_row)))
            for p in range(indptr[i], indptr[i + 1]):
                f = np.int64(indices[p])
                store(W, f, multiply_add(values[p], change, load(W, f)))
            for p in range(n_dense):
                store(W, n_features + p, multiply_add(dense[i, p], change, load(W, n_features + p)))
        widest = np.float32(0)
        for j in range(n_lanes):
            widest = max(widest, highest[j] - lowest[j])
        if widest <= tolerance:
            break
    return W, epochs


@njit(nogil=True, cache=True)
def gather(indptr: Any, indices: Any, values: Any, rows: Any, counts: Any) -> Any:
    """The sub-matrix of some rows with its columns renumbered, most frequent first, so that hot weights lie together.

    `counts` is scratch of n_features zeros and is zero again on return. Returns indptr, indices, values, and the
    original column of each new one.
    """
    total = 0
    used = 0
    for r in rows:
        for p in range(indptr[r], indptr[r + 1]):
            if counts[indices[p]] == 0:
                used += 1
            counts[indices[p]] += 1
            total += 1
    columns = np.empty(used, np.int32)
    at = 0
    for r in rows:
        for p in range(indptr[r], indptr[r + 1]):
            f = indices[p]
            if counts[f] > 0:
                columns[at] = f
                at += 1
                counts[f] = -counts[f]
    frequency = np.empty(used, np.int32)
    for i in range(used):
        frequency[i] = counts[columns[i]]
    columns = columns[np.argsort(frequency, kind="mergesort")]
    for i in range(used):
        counts[columns[i]] = i
    new_indptr = np.zeros(len(rows) + 1, np.int64)
    new_indices = np.empty(total, np.int32)
    new_values = np.empty(total, np.float32)
    at = 0
    for i in range(len(rows)):
        for p in range(indptr[rows[i]], indptr[rows[i] + 1]):
            new_indices[at] = counts[indices[p]]
            new_values[at] = values[p]
            at += 1
        new_indptr[i + 1] = at
    for i in range(used):
        counts[columns[i]] = 0
    return new_indptr, new_indices, new_values, columns


@njit(nogil=True, cache=True)
def kept_weights(W: Any, n_lanes: Any, limits: Any) -> Any:
    """Weights larger than their row's limit times the square root of their lane's length: rows, lanes and values."""
    n_rows = W.shape[0]
    factors = np.zeros(n_lanes, np.float32)
    for f in range(n_rows - 1):  # the bias, the last row, is no part of the length
        for j in range(n_lanes):
            factors[j] += W[f, j] * W[f, j]
    factors = np.sqrt(np.sqrt(factors))
    total = 0
    for f in range(n_rows):
        for j in range(n_lanes):
            total += abs(W[f, j]) > limits[f] * factors[j]
    rows = np.empty(total, np.int32)
    lanes = np.empty(total, np.int32)
    kept = np.empty(total, np.float32)
    at = 0
    for f in range(n_rows):
        for j in range(n_lanes):
            if abs(W[f, j]) > limits[f] * factors[j]:
                rows[at], lanes[at], kept[at] = f, j, W[f, j]
                at += 1
    return rows, lanes, kept


@njit(nogil=True, cache=True)
def append_to_rows(rows: Any, nodes: Any, values: Any, at: Any, out_nodes: Any, out_values: Any) -> None:
    """Put each entry at its row's next free place, which moves on."""
    for i in range(len(rows)):
        place = at[rows[i]]
        out_nodes[place], out_values[place] = nodes[i], values[i]
        at[rows[i]] = place + 1


@njit(nogil=True, cache=True)
def put_level(indptr: Any, indices: Any, data: Any, scale: Any, first: Any, out_nodes: Any, out_weights: Any) -> None:
    """Each row's entries from its place `first` on, in steps of `scale`."""
    for row in range(len(indptr) - 1):
        shift = first[row] - indptr[row]
        for i in range(indptr[row], indptr[row + 1]):
            out_nodes[i + shift] = indices[i]
            out_weights[i + shift] = np.rint(data[i] / scale)
