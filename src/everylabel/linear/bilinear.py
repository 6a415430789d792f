"""The compiled part of a sparse bilinear model: score(x, z) = bias + the sum over (f, g) of x_f W_fg z_g.

W is kept by its label features g: a row of `w` lists the document features f that go with g, so that a pair costs the
lengths of its label features' rows, a bit looked at for each. Documents and labels are csr.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from everylabel.heaps import push, sort_heap
from everylabel.linear.scoring import _AHEAD, _NEARLY_ONE, _SLACK, _TINY
from everylabel.linear.vector import prefetch


@njit(nogil=True, cache=True)
def learn_pairs(
    order: Any,
    x: Any,
    pairs: Any,
    plain: Any,
    own: Any,
    z: Any,
    w: Any,
    squares: Any,
    bias: Any,
    lr: Any,
    n_features: Any,
    cost_positive: Any,
) -> Any:
    """One pass over the documents in this order: logistic loss, steps as in Adagrad. Returns the mean loss.

    `x`, `z` and `w` are (indptr, indices, values); w's values, `squares` (of the gradients so far) and `bias`
    (value, squares) change. `pairs` are (indptr, labels, hits) by document. Where `plain` of a pair is set, label
    features from `own` on are left out.
    """
    x_indptr, x_indices, x_values = x
    pair_indptr, pair_labels, pair_hits = pairs
    z_indptr, z_indices, z_values = z
    w_indptr, w_indices, w_values = w
    there = np.zeros(n_features, np.float32)
    is_there = np.zeros(n_features // 32 + 1, np.uint32)  # a bit each: rows of w are long, and few of their words are
    widest = _longest(z_indptr)
    found = np.empty(_longest(x_indptr) * widest + 1, np.int64)  # entries of w for words that the document has
    ends = np.empty(widest, np.int64)  # of what is found for each label feature
    loss = 0.0
    for d in order:
        for i in range(x_indptr[d], x_indptr[d + 1]):
            column = x_indices[i]
            there[column] = x_values[i]
            is_there[column >> 5] |= np.uint32(1) << np.uint32(column & 31)
        for p in range(pair_indptr[d], pair_indptr[d + 1]):
            label = pair_labels[p]
            begin = z_indptr[label]
            margin = bias[0]
            n: Any = 0
            for i in range(begin, z_indptr[label + 1]):
                g = z_indices[i]
                if not (plain[p] and g >= own):
                    first = n
                    for e in range(w_indptr[g], w_indptr[g + 1]):
                        found[n] = e
                        n += np.int64((is_there[w_indices[e] >> 5] >> np.uint32(w_indices[e] & 31)) & np.uint32(1))
                    for m in range(first, n):
                        e = found[m]
                        margin += z_values[i] * w_values[e] * there[w_indices[e]]
                ends[i - begin] = n
            sign = 1.0 if pair_hits[p] else -1.0
            cost = cost_positive if pair_hits[p] else 1.0
            loss += cost * np.log1p(np.exp(-sign * margin))
            step = -sign * cost / (1.0 + np.exp(sign * margin))
            bias[1] += step * step
            bias[0] -= lr * step / np.sqrt(bias[1])
            m = 0
            for i in range(begin, z_indptr[label + 1]):
                while m < ends[i - begin]:
                    e = found[m]
                    gradient = step * z_values[i] * there[w_indices[e]]
                    squares[e] += gradient * gradient
                    w_values[e] -= lr * gradient / np.sqrt(squares[e])
                    m += 1
        for i in range(x_indptr[d], x_indptr[d + 1]):
            there[x_indices[i]] = 0
            is_there[x_indices[i] >> 5] = 0
    return loss / max(len(pair_labels), 1)


@njit(nogil=True, cache=True)
def _longest(indptr: Any) -> Any:
    longest = 0
    for row in range(len(indptr) - 1):
        longest = max(longest, indptr[row + 1] - indptr[row])
    return longest


@njit(nogil=True, cache=True)
def associate(
    first: Any, last: Any, by_feature: Any, x: Any, mean: Any, chance: Any, least: Any, indices: Any, values: Any
) -> Any:
    """The document features that go most with each of the label features first..last, beyond chance, as many as there
    are columns in `indices`; returns how many each has. All of at least `least`; of equal ones the first.

    `by_feature` (label features x documents) and `x` (documents x features) are (indptr, indices, values). A sum is
    added up in the order of the documents, and features stand in the order in which a product of scipy has them.
    O(words of the documents of each label feature).
    """
    f_indptr, f_docs, f_values = by_feature
    x_indptr, x_indices, x_values = x
    most = indices.shape[1]
    sums = np.zeros(len(mean), np.float32)
    seen = np.zeros(len(mean), np.bool_)
    touched = np.empty(len(mean), np.int32)
    sizes = np.zeros(last - first, np.int64)
    for g in range(first, last):
        n = 0
        for i in range(f_indptr[g], f_indptr[g + 1]):
            doc, value = f_docs[i], f_values[i]
            for e in range(x_indptr[doc], x_indptr[doc + 1]):
                column = x_indices[e]
                if not seen[column]:
                    seen[column] = True
                    touched[n] = column
                    n += 1
                sums[column] += value * x_values[e]
        n_kept = 0
        for t in range(n - 1, -1, -1):  # the last one that came up is the first
            column = touched[t]
            found = sums[column] - mean[column] * chance[g]
            sums[column], seen[column] = found, False
            n_kept += found >= least
        kept = np.empty(n_kept, np.int32)
        at = 0
        for t in range(n - 1, -1, -1):
            if sums[touched[t]] >= least:
                kept[at] = touched[t]
                at += 1
        if n_kept > most:
            worst = np.partition(sums[kept], n_kept - most)[n_kept - most]
            n_above = 0
            for column in kept:
                n_above += sums[column] > worst
            equal = kept[sums[kept] == worst]
            last_equal = np.sort(equal)[most - n_above - 1]
            out = 0
            for column in kept:
                if sums[column] > worst or (sums[column] == worst and column <= last_equal):
                    kept[out] = column
                    out += 1
            n_kept = out
        for i in range(n_kept):
            indices[g - first, i], values[g - first, i] = kept[i], sums[kept[i]]
        sizes[g - first] = n_kept
        for t in range(n):
            sums[touched[t]] = 0
    return sizes


@njit(nogil=True, cache=True)
def rank_labels(first: Any, last: Any, x: Any, by_feature: Any, by_word: Any, bias: Any, out: Any) -> None:
    """The best labels of documents first..last by the logistic function of their scores, those that share something.

    `by_feature` is W by its document features, `by_word` the labels by their features: (indptr, indices, values) each.
    """
    x_indptr, x_indices, x_values = x
    w_indptr, w_indices, w_values = by_feature
    z_indptr, z_indices, z_values = by_word
    out_ids, out_scores, n_labels = out
    vector = np.zeros(len(z_indptr) - 1, np.float32)
    totals = np.zeros(n_labels, np.float32)
    touched = np.zeros(n_labels, np.bool_)
    shared, margins = np.empty(n_labels, np.int32), np.empty(n_labels, np.float32)
    k = out_ids.shape[1]
    for d in range(first, last):
        vector[:] = 0
        totals[:] = 0
        touched[:] = False
        end = x_indptr[d + 1]
        for i in range(x_indptr[d], end):
            if i + _AHEAD < end:
                prefetch(w_indices, np.int64(w_indptr[x_indices[i + _AHEAD]]))
                prefetch(w_values, np.int64(w_indptr[x_indices[i + _AHEAD]]))
            for e in range(w_indptr[x_indices[i]], w_indptr[x_indices[i] + 1]):
                vector[w_indices[e]] += x_values[i] * w_values[e]
        for g in range(len(vector)):
            if vector[g] != 0:
                for i in range(z_indptr[g], z_indptr[g + 1]):
                    totals[z_indices[i]] += vector[g] * z_values[i]
                    touched[z_indices[i]] = True
        n = 0
        for label in range(n_labels):
            if touched[label]:
                shared[n], margins[n] = label, totals[label] + bias
                n += 1
        lowest = np.float32(-np.inf)  # a margin below it cannot be of use: most labels stop here, without an exp
        if n > k:
            margin = np.partition(margins[:n], n - k)[n - k]
            if _TINY < logistic(margin) < _NEARLY_ONE:
                lowest = margin - _SLACK
        size = 0
        for i in range(n):
            if margins[i] >= lowest:
                size = push(out_ids[d], out_scores[d], size, shared[i], logistic(margins[i]))
        sort_heap(out_ids[d], out_scores[d], size)


@njit(nogil=True, cache=True)
def rank_shortlist(
    first: Any,
    last: Any,
    x: Any,
    by_feature: Any,
    heads: Any,
    by_label: Any,
    largest: Any,
    limits: Any,
    bias: Any,
    scratch: Any,
    out_ids: Any,
    out_scores: Any,
) -> None:
    """As `rank_labels`, without a look at labels and label features that a document does not lead to.

    `heads`: of each label feature the labels for which it counts most, `by_label` the features of each label, sorted.
    `limits`: label features whose heads are walked, entries of these, and labels that are then scored with all of
    their features. `largest`: the largest value in each head. `scratch`, all 0, is left so: (sums, whether there is
    one, their places) of label features, then of labels. O(entries of the words + the limits) a document.
    """
    x_indptr, x_indices, x_values = x
    w_indptr, w_indices, w_values = by_feature
    h_indptr, h_labels, h_values = heads
    z_indptr, z_indices, z_values = by_label
    most_features, most_visits, n_shortlist = limits
    vector, reached, features, totals, touched, labels = scratch
    for d in range(first, last):
        n_features = 0
        end = x_indptr[d + 1]
        for i in range(x_indptr[d], end):
            if i + _AHEAD < end:
                prefetch(w_indices, np.int64(w_indptr[x_indices[i + _AHEAD]]))
                prefetch(w_values, np.int64(w_indptr[x_indices[i + _AHEAD]]))
            for e in range(w_indptr[x_indices[i]], w_indptr[x_indices[i] + 1]):
                g = w_indices[e]
                if not reached[g]:
                    reached[g] = True
                    features[n_features] = g
                    n_features += 1
                vector[g] += x_values[i] * w_values[e]
        n = 0
        for g in _strongest(features[:n_features], vector, largest, h_indptr, most_features, most_visits):
            if vector[g] != 0:
                for i in range(h_indptr[g], h_indptr[g + 1]):
                    label = h_labels[i]
                    if not touched[label]:
                        touched[label] = True
                        labels[n] = label
                        n += 1
                    totals[label] += vector[g] * h_values[i]
        margins = np.empty(n, np.float32)
        for i in range(n):
            margins[i] = totals[labels[i]] + bias
            totals[labels[i]], touched[labels[i]] = 0, False
        lowest = np.float32(-np.inf)
        if n > n_shortlist:
            margin = np.partition(margins, n - n_shortlist)[n - n_shortlist]
            if _TINY < logistic(margin) < _NEARLY_ONE:
                lowest = margin - _SLACK
        size = 0
        for i in range(n):
            if margins[i] >= lowest:
                total = np.float32(0)
                for e in range(z_indptr[labels[i]], z_indptr[labels[i] + 1]):
                    total += vector[z_indices[e]] * z_values[e]
                size = push(out_ids[d], out_scores[d], size, labels[i], logistic(total + bias))
        sort_heap(out_ids[d], out_scores[d], size)
        for i in range(n_features):
            vector[features[i]], reached[features[i]] = 0, False


@njit(nogil=True, cache=True)
def _strongest(features: Any, vector: Any, largest: Any, starts: Any, most: Any, most_visits: Any) -> Any:
    """Those of the label features that can count most for a label, as many as the limits allow; in any order."""
    n, n_visits = len(features), 0
    for g in features:
        n_visits += starts[g + 1] - starts[g]
    if n <= most and n_visits <= most_visits:
        return features
    impacts = np.empty(n, np.float32)
    for i in range(n):
        impacts[i] = abs(vector[features[i]]) * largest[features[i]]
    kept = np.arange(n)
    if n > most:
        kept = np.flatnonzero(impacts >= np.partition(impacts, n - most)[n - most])[:most]
    kept = kept[np.argsort(-impacts[kept])]
    n_kept, n_visits = 0, 0
    for at in kept:
        n_visits += starts[features[at] + 1] - starts[features[at]]
        if n_visits > most_visits and n_kept > 0:
            break
        n_kept += 1
    return features[kept[:n_kept]]


@njit(nogil=True, cache=True, inline="always")
def logistic(margin: Any) -> Any:
    return np.float32(1) / (np.float32(1) + np.exp(-margin))
