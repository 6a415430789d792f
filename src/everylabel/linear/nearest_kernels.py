"""Compiled search in the inverted lists of nearest.py, and what is made of the rows that it finds.

For one vector nothing is as long as there are rows, unless its lists are: sums stand in a table as large as what they
touch (`small_tables`), in an array only where the lists touch a good part of all rows. And where a few rows are wanted
and lists are long, they are not walked to their end (`_best_by_bounds`): common words have the longest lists and the
smallest weights, and soon cannot bring a row among the best any more. Results are the same to the last bit, whichever
way is taken: sums are added up in the order of the vector's features.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from everylabel.heaps import push, sort_heap
from everylabel.linear.scoring import first_not_below
from everylabel.small_tables import FREE, find_place, n_places

_ROWS_AN_ENTRY = 8  # an array of all rows is as fast as a table from one entry for so many rows on (measured)
_LOOK_UP = 64  # cost of finding a row in a list by bisection, in units of one entry that is walked (measured)
_MANY_ROWS = 1 << 17  # below, an array of all rows is near enough to be as fast as anything
_LEAST_ENTRIES = 1 << 14  # of lists that are worth sorting by their length
_LARGEST = np.float32(65_535)  # of a compact weight


@njit(nogil=True, cache=True, inline="always")
def _just_below(score: Any) -> Any:
    """An equal score may be of use, by its id."""
    return np.nextafter(score, np.float32(0))


@njit(nogil=True, cache=True, inline="always")
def _value(values: Any, scales: Any, i: Any, feature: Any) -> Any:
    """What a list's weights are multiplied with."""
    return values[i] * scales[feature if len(scales) > 1 else 0]


@njit(nogil=True, cache=True)
def _best_of_all(features: Any, values: Any, lists: Any, owners: Any, totals: Any, ids: Any, scores: Any) -> Any:
    """By an array of all rows, 0 before and after. O(entries + rows)."""
    starts, rows, weights, scales = lists
    for i in range(len(features)):
        value = _value(values, scales, i, features[i])
        for e in range(starts[features[i]], starts[features[i] + 1]):
            totals[rows[e]] += value * np.float32(weights[e])
    size = 0
    best = least = np.float32(0)
    for row in range(len(owners)):
        best = max(best, totals[row])
        if row + 1 == len(owners) or owners[row + 1] != owners[row]:
            if best > least:
                size = push(ids, scores, size, np.int32(owners[row]), best)
                least = _just_below(scores[0]) if size == len(ids) else np.float32(0)
            best = np.float32(0)
    totals[:] = 0
    return size


@njit(nogil=True, cache=True, inline="always")
def _taken(keys: Any, totals: Any, row: Any) -> Any:
    """The sum of a row, 0 of one that is not touched; it is 0 from now on."""
    at = find_place(keys, row)
    found = totals[at]
    totals[at] = 0
    return found


@njit(nogil=True, cache=True)
def _best_of_touched(features: Any, values: Any, lists: Any, owners: Any, entries: Any, ids: Any, scores: Any) -> Any:
    """The same by a table of the rows that the lists touch. O(entries)."""
    starts, rows, weights, scales = lists
    places = n_places(entries)
    keys, totals = np.full(places, FREE, np.int32), np.zeros(places, np.float32)
    for i in range(len(features)):
        value = _value(values, scales, i, features[i])
        for e in range(starts[features[i]], starts[features[i] + 1]):
            at = find_place(keys, rows[e])
            keys[at] = rows[e]
            totals[at] += value * np.float32(weights[e])
    size, least = 0, np.float32(0)
    for at in range(places):
        if totals[at] > least:  # the best of its owner's rows is taken, and none of them again
            best, row = totals[at], np.int64(keys[at])
            owner = owners[row]
            totals[at] = 0
            other = row - 1
            while other >= 0 and owners[other] == owner:
                best = max(best, _taken(keys, totals, other))
                other -= 1
            other = row + 1
            while other < len(owners) and owners[other] == owner:
                best = max(best, _taken(keys, totals, other))
                other += 1
            size = push(ids, scores, size, np.int32(owner), best)
            least = _just_below(scores[0]) if size == len(ids) else np.float32(0)
    return size


@njit(nogil=True, cache=True)
def _wider(keys: Any, totals: Any, places: Any) -> Any:
    new_keys, new_totals = np.full(places, FREE, np.int32), np.zeros(places, np.float32)
    for at in range(len(keys)):
        if keys[at] != FREE:
            to = find_place(new_keys, keys[at])
            new_keys[to], new_totals[to] = keys[at], totals[at]
    return new_keys, new_totals


@njit(nogil=True, cache=True)
def _kth_best(keys: Any, totals: Any, k: Any) -> Any:
    """The k-th largest sum; 0 where there are fewer."""
    ids, scores = np.empty(k, np.int32), np.empty(k, np.float32)
    size, least = 0, np.float32(0)
    for at in range(len(keys)):
        if totals[at] > least:
            size = push(ids, scores, size, keys[at], totals[at])
            least = scores[0] if size == k else np.float32(0)
    return least


@njit(nogil=True, cache=True, inline="always")
def _weight_in(lists: Any, feature: Any, row: Any) -> Any:
    starts, rows, weights, _ = lists
    end = starts[feature + 1]
    e = first_not_below(rows, starts[feature], end, row)
    return np.float32(weights[e]) if e < end and rows[e] == row else np.float32(0)


@njit(nogil=True, cache=True)
def _exact(features: Any, values: Any, lists: Any, row: Any) -> Any:
    """The sum of one row, as `_best_of_all` adds it up."""
    total = np.zeros(1, np.float32)
    for i in range(len(features)):
        weight = _weight_in(lists, features[i], row)
        if weight > 0:
            total[0] += _value(values, lists[3], i, features[i]) * weight
    return total[0]


@njit(nogil=True, cache=True)
def _best_by_bounds(features: Any, values: Any, lists: Any, n_rows: Any, ids: Any, scores: Any) -> Any:
    """The same where each row is its own owner, weights are compact and values not negative; -1: it does not pay.

    MaxScore (Turtle and Flood, 1995), list by list: the shortest are walked first. When all that is left can bring no
    row among the best k that is not touched yet, those that are and may still get there are looked up in the lists that
    are left, and of those that do the sums are added up again, in their order. `error`: more than rounding can do.
    """
    starts, rows, weights, scales = lists
    n, k = len(features), len(ids)
    lengths, bounds = np.empty(n, np.int64), np.empty(n, np.float64)
    for i in range(n):
        lengths[i] = starts[features[i] + 1] - starts[features[i]]
        bounds[i] = _value(values, scales, i, features[i]) * _LARGEST
    order = np.argsort(lengths)
    rest, entries_left = bounds.sum(), lengths.sum()
    error = (n + 8) * 2.0**-22
    keys, totals = np.full(1024, FREE, np.int32), np.zeros(1024, np.float32)
    walked, looked_at, done = 0, 0, 0
    limit = 0.0
    while done < n:
        i = order[done]
        if _ROWS_AN_ENTRY * (walked + lengths[i]) > n_rows:
            return -1
        if 2 * (walked + lengths[i]) > len(keys):
            keys, totals = _wider(keys, totals, n_places(2 * (walked + lengths[i])))
        value = _value(values, scales, i, features[i])
        for e in range(starts[features[i]], starts[features[i] + 1]):
            at = find_place(keys, rows[e])
            keys[at] = rows[e]
            totals[at] += value * np.float32(weights[e])
        walked += lengths[i]
        entries_left -= lengths[i]
        rest -= bounds[i]
        done += 1
        if 2 * walked >= 3 * looked_at and entries_left >= walked:
            looked_at = walked
            limit = _kth_best(keys, totals, k) * (1 - error)
            if rest * (1 + error) < limit:
                candidates = 0
                for at in range(len(keys)):
                    candidates += (totals[at] + rest) * (1 + error) >= limit and totals[at] > 0
                if _LOOK_UP * candidates * (n - done) < entries_left:
                    break
    if done == n:
        rest, limit = 0.0, _kth_best(keys, totals, k) * (1 - error)
    size = 0
    for at in range(len(keys)):
        if totals[at] <= 0 or (totals[at] + rest) * (1 + error) < limit:
            continue
        most, left, row = np.float64(totals[at]), rest, keys[at]
        for j in range(done, n):
            i = order[j]
            most += _value(values, scales, i, features[i]) * _weight_in(lists, features[i], row)
            left -= bounds[i]
            if (most + left) * (1 + error) < limit:
                break
        if (most + max(left, 0.0)) * (1 + error) >= limit:
            score = _exact(features, values, lists, row)
            if score > 0:
                size = push(ids, scores, size, row, score)
            if size == k:
                limit = max(limit, scores[0] * (1 - error))
    return size


@njit(nogil=True, cache=True)
def nearest_rows(
    indptr: Any, indices: Any, values: Any, lists: Any, owners: Any, bounded: Any, out_ids: Any, out_scores: Any
) -> None:
    """The owners of the rows behind inverted lists with the largest positive dot product with each vector.

    `owners` is sorted; the best of an owner's rows counts. All products of two features are above 0. Lists have one
    scale, or each its own. `bounded`: each row is its own owner, and weights are compact.
    """
    starts = lists[0]
    n_rows, k = len(owners), out_ids.shape[1]
    totals = np.empty(0, np.float32)
    for d in range(len(indptr) - 1):
        features, own = indices[indptr[d] : indptr[d + 1]], values[indptr[d] : indptr[d + 1]]
        ids, scores = out_ids[d], out_scores[d]
        entries, least = 0, np.float64(0)
        for i in range(len(features)):
            entries += starts[features[i] + 1] - starts[features[i]]
            least = min(least, own[i])
        size = -1
        long = entries > max(_LEAST_ENTRIES, _LOOK_UP * k * len(features))
        if bounded and long and least >= 0 and n_rows >= _MANY_ROWS:
            size = _best_by_bounds(features, own, lists, n_rows, ids, scores)
        if size < 0 and _ROWS_AN_ENTRY * entries < n_rows:
            size = _best_of_touched(features, own, lists, owners, entries, ids, scores)
        elif size < 0:
            if len(totals) == 0:
                totals = np.zeros(n_rows, np.float32)
            size = _best_of_all(features, own, lists, owners, totals, ids, scores)
        sort_heap(ids, scores, size)


@njit(nogil=True, cache=True)
def votes_of_rows(
    rows: Any, weights: Any, indptr: Any, indices: Any, values: Any, out_ids: Any, out_scores: Any
) -> None:
    """The columns of a csr matrix with the largest sum of weight x value over some of its rows, at most 1.

    `rows` and `weights` (documents, rows each); a row below 0 is none. Sums are added up in the order of the rows'
    numbers. O(entries of the rows x log entries) a document.
    """
    width = rows.shape[1]
    for d in range(len(rows)):
        order = np.sort(rows[d].astype(np.int64) * width + np.arange(width))  # by the row, and where it stands
        n = 0
        for key in order:
            if key >= 0:
                n += indptr[key // width + 1] - indptr[key // width]
        columns, votes = np.empty(n, np.int64), np.empty(n, np.float32)
        n = 0
        for key in order:
            if key >= 0:
                for e in range(indptr[key // width], indptr[key // width + 1]):
                    columns[n] = indices[e] * np.int64(len(columns)) + n
                    votes[n] = weights[d, key % width] * values[e]
                    n += 1
        columns = np.sort(columns)  # those of one column in the order of the rows
        size, total = 0, np.float32(0)
        for at in range(n):
            column = columns[at] // n
            total += votes[columns[at] % n]
            if at + 1 == n or columns[at + 1] // n != column:
                size = push(out_ids[d], out_scores[d], size, np.int32(column), min(total, np.float32(1)))
                total = np.float32(0)
        sort_heap(out_ids[d], out_scores[d], size)


@njit(nogil=True, cache=True)
def shares_of_rows(words: Any, documents: Any, owners: Any, begins: Any, rows: Any, out: Any) -> None:
    """Into `out`, for each pair of a document and an owner (sorted by documents): how much of a row the document has,
    the largest over the owner's rows. A row has a length of 1, so that a feature counts by its square.

    `words`, `rows`: csr parts of the documents (indptr, indices) and of the rows (indptr, indices, data); `begins`: of
    each owner's rows. O(words of the documents and of the rows).
    """
    indptr, features = words
    row_indptr, row_features, weights = rows
    last, keys = -1, np.full(16, FREE, np.int32)
    for pair in range(len(owners)):
        document = documents[pair]
        if document != last:
            keys = np.full(n_places(indptr[document + 1] - indptr[document]), FREE, np.int32)
            for at in range(indptr[document], indptr[document + 1]):
                keys[find_place(keys, features[at])] = features[at]
            last = document
        most = np.float32(0)
        for row in range(begins[owners[pair]], begins[owners[pair] + 1]):
            share = np.float32(0)
            for at in range(row_indptr[row], row_indptr[row + 1]):
                if keys[find_place(keys, row_features[at])] != FREE:
                    share += weights[at] * weights[at]
            most = max(most, share)
        out[pair] = most
