"""What is known of words, by their hashes: read in one compiled pass by any number of threads, while it grows.

A word that is met for the first time stands in a dictionary until there are many of them; then they move into the next
table, which is another one: who reads keeps the old one, and nobody waits. Two words of the same 64-bit hash are taken
for one: with a million words the chance that any two are is below 1 in 10 million. Cost: O(words) a look-up, 32 to
64 bytes a word.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everylabel.forks import Lock
from everylabel.types import LongArray

Hashes = NDArray[np.uint64]
_LEAST_NEW = 1_024  # words that are worth a new table


class HashTable:
    """Hash -> a number above 0. With `most` words and more it begins anew."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._table = _empty(_LEAST_NEW)
        self._n_words = 0  # in the table
        self._new: dict[int, int] = {}  # beside it

    def look_up(self, hashes: Hashes, learn: Callable[[LongArray], Hashes]) -> Hashes:
        """The number of each. `learn(places)`: those of the words at these places, which are met for the first time."""
        from everylabel.text import kernels

        new, found = self._new, np.empty(len(hashes), np.uint64)  # first what is beside the table: it moves into it
        if not kernels.look_up(*self._table, hashes, found):
            return found
        missing = np.flatnonzero(found == 0)
        words, first = np.unique(hashes[missing], return_index=True)
        fresh = [place for word, place in zip(words.tolist(), first.tolist(), strict=True) if word not in new]
        if fresh:
            places = missing[fresh]
            self._add(dict(zip(hashes[places].tolist(), learn(places).tolist(), strict=True)), new)
        found[missing] = np.fromiter(map(new.__getitem__, hashes[missing].tolist()), np.uint64, len(missing))
        return found

    def _add(self, learned: dict[int, int], beside: dict[int, int]) -> None:
        """Also to what was `beside` the table when the caller looked: it may have moved since."""
        with self._lock:
            beside.update(learned)
            self._new.update(learned)
            if len(self._new) > max(_LEAST_NEW, self._n_words // 8):
                self._table, self._new = self._grown(), {}
                self._n_words = int((self._table[0] != 0).sum())

    def _grown(self) -> tuple[Hashes, Hashes]:
        from everylabel.text import kernels

        keys, values = self._table
        kept: Any = keys != 0 if self._n_words + len(self._new) <= self._most else np.zeros(len(keys), np.bool_)
        table = _empty(int(kept.sum()) + len(self._new))
        kernels.put(*table, keys[kept], values[kept])
        kernels.put(*table, *(np.array(list(part), np.uint64) for part in (self._new, self._new.values())))
        return table


def _empty(n: int) -> tuple[Hashes, Hashes]:
    """With room for so many, at most half full."""
    size = 16
    while size < 2 * n + 2:
        size *= 2
    return np.zeros(size, np.uint64), np.zeros(size, np.uint64)
