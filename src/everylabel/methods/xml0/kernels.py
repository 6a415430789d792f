"""The compiled searches of subsets.py. Serial: documents are searched on all cores at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_TIE = 1e-12  # cosines that differ by less are equal: rounding does as much


@njit(nogil=True, cache=True)
def inverse_root(squared: Any, nothing: Any) -> Any:
    """1 / length; 0 for a sum of no length, so that its cosine is 0."""
    return 1 / np.sqrt(squared) if squared > nothing else 0.0


@njit(nogil=True, cache=True)
def best_of_all(gram: Any, cross: Any, nothing: Any, members: Any) -> None:
    """Every subset of the n members for each label; of equal ones the smallest. 2^n x (labels + n^2).

    In the order of a Gray code one member comes or goes from a subset to the next, so that a label's numerator is one
    addition away.
    """
    n, n_labels = cross.shape
    sums, best, sizes = np.zeros(n_labels), np.full(n_labels, -np.inf), np.zeros(n_labels, np.int64)
    mask = size = 0
    for step in range(1, 1 << n):
        member = 0
        while not step >> member & 1:
            member += 1
        mask ^= 1 << member
        change = 1.0 if mask >> member & 1 else -1.0
        size += 1 if change > 0 else -1
        squared = 0.0
        for i in range(n):
            if mask >> i & 1:
                for j in range(n):
                    if mask >> j & 1:
                        squared += gram[i, j]
        inverse = inverse_root(squared, nothing)
        for label in range(n_labels):
            sums[label] += change * cross[member, label]
            cosine = sums[label] * inverse
            if cosine > best[label] - _TIE and (cosine > best[label] + _TIE or size < sizes[label]):
                best[label], sizes[label], members[label] = cosine, size, mask


@njit(nogil=True, cache=True)
def best_of_growth(gram: Any, cross: Any, nothing: Any, members: Any) -> None:
    """The member that leaves the best cosine is added, n times; the best stage counts. n^2 x labels."""
    n, n_labels = cross.shape
    shared = np.empty(n)
    for label in range(n_labels):
        shared[:] = 0
        product = squared = 0.0
        best = -np.inf
        mask = 0
        for _ in range(n):
            pick, reached = -1, -np.inf
            for i in range(n):
                if not mask >> i & 1:
                    inverse = inverse_root(squared + 2 * shared[i] + gram[i, i], nothing)
                    cosine = (product + cross[i, label]) * inverse
                    if cosine > reached:
                        pick, reached = i, cosine
            product += cross[pick, label]
            squared += 2 * shared[pick] + gram[pick, pick]
            mask |= 1 << pick
            for i in range(n):
                shared[i] += gram[i, pick]
            if reached > best + _TIE:
                best, members[label] = reached, mask


@njit(nogil=True, cache=True)
def cosines(members: Any, gram: Any, cross: Any, nothing: Any) -> Any:
    """The cosine of each label with its own subset, always added up in the same order. n^2 x labels."""
    found = np.empty(len(members))
    for label in range(len(members)):
        mask, product, squared = members[label], 0.0, 0.0
        for i in range(len(gram)):
            if mask >> i & 1:
                product += cross[i, label]
                squared += gram[i, i]
                for j in range(i):
                    if mask >> j & 1:
                        squared += 2 * gram[i, j]
        found[label] = min(max(product * inverse_root(squared, nothing), -1.0), 1.0)
    return found
