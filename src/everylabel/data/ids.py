"""Where an id stands in a column of ids: sorted 64-bit hashes of them and their places, 12 bytes an id.

A dictionary of a million ids takes some 120 MB and a second to build; this takes 12 MB and a third of a second, can be
saved, and then is there at once. An id that is asked for alone costs some 10 microseconds, many together less than one
each: who asks for every label of every document makes a dictionary of it first (`to_dict`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everylabel import checks
from everylabel.data.columns import TextColumn
from everylabel.types import IntArray, LongArray

Hashes = NDArray[np.uint64]

_BLOCK = 1 << 18  # bytes that are hashed at a time


class SortedHashes(NamedTuple):
    """The hashes of some of the ids, sorted, and the place of each."""

    hashes: Hashes
    places: IntArray


class IdIndex(Mapping[str, int]):
    """A mapping of ids to places that never changes. Each id is there once, or `first_twice` finds one that is not."""

    def __init__(self, ids: TextColumn, runs: Sequence[SortedHashes]) -> None:
        self._ids, self._runs = ids, tuple(runs)

    @classmethod
    def of(cls, ids: TextColumn) -> IdIndex:
        """O(bytes + n log n)."""
        return cls(ids, [_run(ids, 0)])

    def extended(self, ids: TextColumn) -> IdIndex:
        """Of a longer column that begins as this one does. O(new ids), and now and then the merging of some runs."""
        runs = [*self._runs, _run(ids[len(self._ids) :], len(self._ids))]
        while len(runs) > 1 and 2 * len(runs[-1].hashes) >= len(runs[-2].hashes):
            runs[-2:] = [_merged(runs[-2:])]
        return IdIndex(ids, runs)

    def whole(self) -> SortedHashes:
        """As one run: what is saved."""
        return self._runs[0] if len(self._runs) == 1 else _merged(self._runs)

    def places(self, ids: Sequence[str]) -> LongArray:
        """The place of each, -1 for one that is not there."""
        asked = TextColumn.of(ids)
        found, wanted = np.full(len(asked), -1, np.int64), hashes_of(asked)
        for hashes, places in self._runs:
            if not len(hashes):
                continue
            at = np.minimum(np.searchsorted(hashes, wanted), len(hashes) - 1)
            rows = np.flatnonzero((hashes[at] == wanted) & (found < 0))
            candidates = places[at[rows]].astype(np.int64)
            equal = asked.take(rows).same(self._ids.take(candidates))
            found[rows[equal]] = candidates[equal]
            for row in rows[~equal].tolist():  # another id has the same hash: a matter of chance, 1 in 2^64
                found[row] = self.get(asked[row], -1)
        return found

    def first_twice(self) -> str | None:
        """The first id, from the beginning, that was there before."""
        hashes, places = self.whole()
        again = np.flatnonzero(hashes[1:] == hashes[:-1])
        seen: set[str] = set()
        for place in np.unique(np.concatenate([places[again], places[again + 1]])).tolist():
            found: str = self._ids[place]
            if found in seen:
                return found
            seen.add(found)
        return None

    def check(self) -> None:
        """Of one that was mapped: each place once, in the order of the hashes."""
        for hashes, places in self._runs:
            checks.array(hashes, "hashes of ids", np.uint64, len(self._ids))
            checks.ascending(hashes, "hashes of ids")
            checks.indexes(places, "places of ids", len(self._ids), len(self._ids))
            checks.once_each(places, "places of ids", len(self._ids))

    def to_dict(self) -> dict[str, int]:
        """For those who ask again and again; O(n) Python objects."""
        return dict(zip(self._ids, range(len(self._ids)), strict=True))

    def __getitem__(self, wanted: str) -> int:
        if isinstance(wanted, str):
            asked = hashes_of(TextColumn.of([wanted]))[0]
            for hashes, places in self._runs:
                at = int(np.searchsorted(hashes, asked))
                while at < len(hashes) and hashes[at] == asked:
                    if self._ids[places[at]] == wanted:
                        return int(places[at])
                    at += 1
        raise KeyError(wanted)

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)


def hashes_of(texts: TextColumn) -> Hashes:
    """The sum of the bytes, each times a number of its place, mixed with the length. O(bytes)."""
    data, offsets = texts.whole()
    sizes = np.diff(offsets)
    factors = _mixed(np.arange(1, int(sizes.max(initial=0)) + 1, dtype=np.uint64))
    sums = np.empty(len(sizes), np.uint64)
    first = 0
    while first < len(sizes):
        last = max(int(np.searchsorted(offsets, offsets[first] + _BLOCK, side="right")) - 1, first + 1)
        starts, own = offsets[first:last], sizes[first:last]
        inside = np.arange(offsets[first], offsets[last]) - np.repeat(starts, own)
        total = np.zeros(len(inside) + 1, np.uint64)
        np.cumsum(data[offsets[first] : offsets[last]] * factors[inside], out=total[1:])  # as 64 bits, which go round
        sums[first:last] = total[offsets[first + 1 : last + 1] - offsets[first]] - total[starts - offsets[first]]
        first = last
    return _mixed(sums + sizes.astype(np.uint64))


def _mixed(values: Hashes) -> Hashes:
    """splitmix64 (Steele et al. 2014): every bit of a value changes half of the bits of the result."""
    values = values * np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _run(ids: TextColumn, first: int) -> SortedHashes:
    hashes = hashes_of(ids)
    order = np.argsort(hashes)
    return SortedHashes(hashes[order], (order + first).astype(np.int32))


def _merged(runs: Sequence[SortedHashes]) -> SortedHashes:
    hashes, places = (np.concatenate(parts) for parts in zip(*runs, strict=True))
    order = np.argsort(hashes, kind="stable")  # which merges what is sorted already
    return SortedHashes(hashes[order], places[order])
