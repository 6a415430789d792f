"""Columns of texts: utf-8 bytes one after the other, and where each begins; a text is decoded when one looks at it.

A million texts are two arrays instead of a million Python objects, and a file that is memory-mapped is a column as it
is. 8 bytes a text beside its own; a text alone takes about a microsecond, all of them in order a tenth of that each.
A column never changes: parts of one and longer ones share its bytes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import index
from typing import Generic, Self, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from everylabel import checks
from everylabel.types import LongArray

Bytes: TypeAlias = NDArray[np.uint8]
Rows: TypeAlias = Sequence[int] | LongArray
Item = TypeVar("Item", covariant=True)
Part = TypeVar("Part", covariant=True)

_BLOCK = 1 << 20  # bytes that are moved at a time: what it takes beside them is some 30 times that
_AT_ONCE = 1 << 15  # texts that are decoded at a time when all are
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class _Part:
    """Text i is data[offsets[i]:offsets[i + 1]]; the first one need not begin at 0."""

    data: Bytes
    offsets: LongArray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def size(self) -> int:
        return int(self.offsets[-1] - self.offsets[0]) + self.offsets.nbytes


class Sliced(ABC, Generic[Item, Part]):
    """A place gives an item, a slice what is made of its part of the items."""

    @overload
    def __getitem__(self, at: int) -> Item: ...

    @overload
    def __getitem__(self, at: slice) -> Part: ...

    def __getitem__(self, at: int | slice) -> Item | Part:
        return self._slice(range(len(self))[at]) if isinstance(at, slice) else self._item(at)

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def _item(self, at: int) -> Item: ...

    @abstractmethod
    def _slice(self, rows: range) -> Part: ...


class TextColumn(Sliced[str, "TextColumn"], Sequence[str]):
    """A sequence of texts, halves of characters ("surrogates") included; equal to any other of the same texts.

    Made of few parts, so that a column with some texts more need not copy the others: each part is less than half as
    large as the one before it.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, data: Bytes, offsets: LongArray) -> None:
        self._set([_Part(data, offsets)])

    @classmethod
    def of(cls, texts: Iterable[str]) -> TextColumn:
        """O(characters); a column passes through."""
        if isinstance(texts, TextColumn):
            return texts
        texts = texts if isinstance(texts, (list, tuple)) else list(texts)
        joined = "".join(texts)
        if joined.isascii():
            data, sizes = joined.encode("ascii"), map(len, texts)
        else:
            encoded = [_encode(text) for text in texts]
            data, sizes = b"".join(encoded), map(len, encoded)
        # of a bytearray: an array that can be written to, as those from files are, so that kernels are compiled once
        return cls(np.frombuffer(bytearray(data), np.uint8), _ends(np.fromiter(sizes, np.int64, len(texts))))

    @classmethod
    def blank(cls, n: int) -> TextColumn:
        """n empty texts: all begin where the first does, which takes no memory."""
        return cls(np.empty(0, np.uint8), np.broadcast_to(np.zeros(1, np.int64), n + 1))

    @property
    def is_blank(self) -> bool:
        """Whether every text is empty."""
        return all(part.offsets[-1] == part.offsets[0] for part in self._parts)

    @classmethod
    def chained(cls, columns: Iterable[TextColumn]) -> TextColumn:
        """One after the other; nothing is copied."""
        chained = cls.of(())
        parts = [part for column in columns for part in column._parts if len(part)]
        chained._set(parts or chained._parts)
        return chained

    def extended(self, texts: Iterable[str]) -> TextColumn:
        """With more texts after these, which are shared with this column unless the new ones are as large."""
        longer = TextColumn.chained([self, TextColumn.of(texts)])
        parts = list(longer._parts)
        while len(parts) > 1 and 2 * parts[-1].size >= parts[-2].size:
            parts[-2:] = [_merged(parts[-2:])]
        longer._set(parts)
        return longer

    def take(self, rows: Rows) -> TextColumn:
        """These texts in this order. O(their bytes)."""
        at = checked_rows(rows, len(self))
        owner = np.searchsorted(np.array(self._firsts), at, side="right") - 1
        starts, sizes = np.empty(len(at), np.int64), np.empty(len(at), np.int64)
        owned = [np.flatnonzero(owner == p) for p in range(len(self._parts))]
        for part, first, own in zip(self._parts, self._firsts, owned, strict=True):
            local = at[own] - first
            starts[own] = part.offsets[local]
            sizes[own] = part.offsets[local + 1] - starts[own]
        offsets = _ends(sizes)
        data = np.empty(int(offsets[-1]), np.uint8)
        for part, own in zip(self._parts, owned, strict=True):
            _copy(part.data, starts[own], sizes[own], data, offsets[:-1][own])
        return TextColumn(data, offsets)

    def whole(self) -> tuple[Bytes, LongArray]:
        """The bytes and offsets as one array each, from 0 on: as they are saved. Copies only what is in parts."""
        part = self._parts[0] if len(self._parts) == 1 else _merged(self._parts)
        first, last = int(part.offsets[0]), int(part.offsets[-1])
        data = part.data if len(part.data) == last - first else part.data[first:last]
        return data, part.offsets if first == 0 else part.offsets - first

    def sizes(self) -> LongArray:
        """Bytes of each text."""
        return np.concatenate([np.diff(part.offsets) for part in self._parts])

    def occurrences(self, character: str) -> LongArray:
        """How often an ASCII character is in each text. O(bytes)."""
        counts = []
        for part in self._parts:
            first, last = part.offsets[0], part.offsets[-1]
            places = first + np.flatnonzero(part.data[first:last] == ord(character))  # no part of another character
            counts.append(np.diff(np.searchsorted(places, part.offsets)))
        return np.concatenate(counts)

    def same(self, other: TextColumn) -> NDArray[np.bool_]:
        """Which texts are equal, place by place, of two columns of one length. O(bytes)."""
        equal: NDArray[np.bool_] = np.asarray(self.sizes() == other.sizes())
        rows = np.flatnonzero(equal)
        (mine, offsets), (theirs, _) = (column.take(rows).whole() for column in (self, other))
        differ = np.searchsorted(offsets, np.flatnonzero(mine != theirs), side="right") - 1
        equal[rows[differ]] = False
        return equal

    def check(self, name: str) -> None:
        """Of one that was mapped: texts lie in its bytes, one after the other. O(bytes)."""
        for part in self._parts:
            checks.offsets(part.offsets, name, len(part.data))
            checks.utf8(part.data, name, part.offsets[:-1])

    def __len__(self) -> int:
        return self._n_texts

    def _item(self, at: int) -> str:
        row = index(at)
        if row < 0:
            row += self._n_texts
        if not 0 <= row < self._n_texts:
            raise IndexError(f"there are {self._n_texts} texts; got place {at}")
        p = bisect_right(self._firsts, row) - 1
        part, row = self._parts[p], row - self._firsts[p]
        return _decode(part.data[part.offsets[row] : part.offsets[row + 1]].tobytes())

    def __iter__(self) -> Iterator[str]:
        for part in self._parts:
            for first in range(0, len(part), _AT_ONCE):
                offsets = part.offsets[first : first + _AT_ONCE + 1].tolist()
                data = part.data[offsets[0] : offsets[-1]].tobytes()
                edges = pairwise(end - offsets[0] for end in offsets)
                if data.isascii():
                    text = data.decode("ascii")
                    yield from (text[start:end] for start, end in edges)
                else:
                    yield from (_decode(data[start:end]) for start, end in edges)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, TextColumn):
            if len(self) != len(other):
                return False
            (mine, offsets), (theirs, ends) = self.whole(), other.whole()
            return np.array_equal(offsets, ends) and np.array_equal(mine, theirs)
        if isinstance(other, (list, tuple)):
            return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))
        return NotImplemented

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:_SHOWN]))
        return f"TextColumn([{shown}{', ...' if len(self) > _SHOWN else ''}], {len(self):,} texts)"

    def _slice(self, rows: range) -> TextColumn:
        if rows.step != 1:
            return self.take(rows)
        found = []
        for part, first in zip(self._parts, self._firsts, strict=True):
            start, stop = (min(max(row - first, 0), len(part)) for row in (rows.start, max(rows.start, rows.stop)))
            found.append(_Part(part.data, part.offsets[start : stop + 1]))
        sliced = TextColumn(found[0].data, found[0].offsets)
        sliced._set([part for part in found if len(part)] or found[:1])
        return sliced

    def _set(self, parts: Sequence[_Part]) -> None:
        self._parts = tuple(parts)
        *self._firsts, self._n_texts = accumulate(map(len, parts), initial=0)


class TextLists(Sliced[tuple[str, ...], "TextLists"], Sequence[tuple[str, ...]]):
    """Several texts each, or none: list i is texts[offsets[i]:offsets[i + 1]]. 8 bytes a list beside its texts."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, texts: TextColumn, offsets: LongArray) -> None:
        self._texts, self._offsets = texts, offsets

    @classmethod
    def of(cls, lists: Iterable[Sequence[str]]) -> Self:
        lists = list(lists)
        sizes = np.fromiter(map(len, lists), np.int64, len(lists))
        return cls(TextColumn.of([text for own in lists for text in own]), _ends(sizes))

    @classmethod
    def blank(cls, n: int) -> TextLists:
        """n empty lists: no memory."""
        return cls(TextColumn.of(()), np.broadcast_to(np.zeros(1, np.int64), n + 1))

    @property
    def is_blank(self) -> bool:
        """Whether every list is empty."""
        return bool(self._offsets[-1] == self._offsets[0])

    def extended(self, lists: TextLists) -> TextLists:
        """The offsets are copied, the texts are not."""
        (texts, offsets), (more, ends) = self.whole(), lists.whole()
        return TextLists(texts.extended(more), np.concatenate([offsets, ends[1:] + offsets[-1]]))

    def take(self, rows: Rows) -> TextLists:
        at = checked_rows(rows, len(self))
        sizes = self._offsets[at + 1] - self._offsets[at]
        return TextLists(self._texts.take(ranges_of(self._offsets[at], sizes)), _ends(sizes))

    def whole(self) -> tuple[TextColumn, LongArray]:
        """The texts of all lists, and the offsets from 0 on."""
        first, last = int(self._offsets[0]), int(self._offsets[-1])
        texts = self._texts if len(self._texts) == last - first else self._texts[first:last]
        return texts, self._offsets if first == 0 else self._offsets - first

    def sizes(self) -> LongArray:
        return np.diff(self._offsets)

    def check(self, name: str) -> None:
        self._texts.check(name)
        checks.offsets(self._offsets, name, len(self._texts))

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def _item(self, at: int) -> tuple[str, ...]:
        row = range(len(self))[at]
        first, last = int(self._offsets[row]), int(self._offsets[row + 1])
        return tuple(self._texts[first:last]) if last > first else ()

    def _slice(self, rows: range) -> TextLists:
        if rows.step != 1:
            return self.take(rows)
        return TextLists(self._texts, self._offsets[rows.start : max(rows.start, rows.stop) + 1])

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        texts = iter(self.whole()[0])
        for size in self.sizes().tolist():
            yield tuple(next(texts) for _ in range(size))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TextLists):
            return list(self) == list(other) if isinstance(other, (list, tuple)) else NotImplemented
        (mine, offsets), (theirs, ends) = self.whole(), other.whole()
        return np.array_equal(offsets, ends) and mine == theirs

    def __repr__(self) -> str:
        return f"TextLists({list(self[:_SHOWN])}{'...' if len(self) > _SHOWN else ''}, {len(self):,} lists)"


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _ends(sizes: LongArray) -> LongArray:
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def checked_rows(rows: Rows, n: int) -> LongArray:
    """As an array, from 0 on; those below 0 count from the end."""
    if isinstance(rows, range):
        if rows and not all(-n <= end < n for end in (rows[0], rows[-1])):  # before so many numbers are made
            raise IndexError(f"there are {n} rows; got {rows[0]} to {rows[-1]}")
        at = np.arange(rows.start, rows.stop, rows.step, dtype=np.int64)
    else:
        at = np.asarray(rows, np.int64)
    if len(at) and (at.min() < -n or at.max() >= n):
        raise IndexError(f"there are {n} rows; got {at.min()} to {at.max()}")
    return np.where(at < 0, at + n, at)


def ranges_of(starts: LongArray, sizes: LongArray) -> LongArray:
    """starts[0], starts[0] + 1, ... so many of each."""
    ends = _ends(sizes)
    return np.repeat(starts - ends[:-1], sizes) + np.arange(ends[-1])


def _copy(source: Bytes, starts: LongArray, sizes: LongArray, target: Bytes, places: LongArray) -> None:
    """Pieces of the source to their places in the target, some at a time."""
    ends = _ends(sizes)
    first = 0
    while first < len(sizes):
        last = max(int(np.searchsorted(ends, ends[first] + _BLOCK, side="right")) - 1, first + 1)
        own = slice(first, last)
        pieces = source[ranges_of(starts[own], sizes[own])]
        if places[last - 1] + sizes[last - 1] - places[first] == len(pieces):  # side by side: nothing else is between
            target[places[first] : places[first] + len(pieces)] = pieces
        else:
            target[ranges_of(places[own], sizes[own])] = pieces
        first = last


def _merged(parts: Sequence[_Part]) -> _Part:
    sizes = [np.diff(part.offsets) for part in parts]
    data = [part.data[part.offsets[0] : part.offsets[-1]] for part in parts]
    return _Part(np.concatenate(data), _ends(np.concatenate(sizes)))
