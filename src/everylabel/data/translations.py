"""The translations of labels as columns: texts one after the other, and for each a number of its language and kind.

12 bytes a translation beside its text, 8 a label; nothing where no label has one. Numbers lead into a short table of
the (language, kind) that there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from everylabel import checks
from everylabel.data.columns import Rows, Sliced, TextColumn, TextLists, checked_rows, ranges_of
from everylabel.data.label import KINDS, Kind, Translation, is_language
from everylabel.types import IntArray, LongArray

Tag = tuple[str, Kind]


class TranslationLists(Sliced[tuple[Translation, ...], "TranslationLists"], Sequence[tuple[Translation, ...]]):
    """Several translations each, or none; never changed, as all columns."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, texts: TextColumn, offsets: LongArray, tags: IntArray, table: Sequence[Tag]) -> None:
        self._texts, self._offsets, self._tags, self._table = texts, offsets, tags, tuple(table)

    @classmethod
    def of(cls, lists: Iterable[Sequence[Translation]]) -> TranslationLists:
        lists = list(lists)
        texts, offsets = TextLists.of([[one.text for one in own] for own in lists]).whole()
        table: dict[Tag, int] = {}
        numbers = [table.setdefault((one.language, one.kind), len(table)) for own in lists for one in own]
        return cls(texts, offsets, np.array(numbers, np.int32), list(table))

    @classmethod
    def blank(cls, n: int) -> TranslationLists:
        """None of any: no memory."""
        return cls(*TextLists.blank(n).whole(), np.empty(0, np.int32), ())

    @property
    def is_blank(self) -> bool:
        return bool(self._offsets[-1] == self._offsets[0])

    def extended(self, lists: TranslationLists) -> TranslationLists:
        """The numbers and offsets are copied, the texts are not."""
        (texts, offsets, tags), (more, ends, new) = self.whole(), lists.whole()
        table = list(dict.fromkeys([*self._table, *lists._table]))
        numbers = np.array([table.index(tag) for tag in lists._table], np.int32)
        joined = np.concatenate([tags, numbers[new] if len(new) else new])
        return TranslationLists(texts.extended(more), np.concatenate([offsets, ends[1:] + offsets[-1]]), joined, table)

    def take(self, rows: Rows) -> TranslationLists:
        at = checked_rows(rows, len(self))
        starts, sizes = self._offsets[at], self._offsets[at + 1] - self._offsets[at]
        places = ranges_of(starts, sizes)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        return TranslationLists(self._texts.take(places), offsets, self._tags[places], self._table)

    def whole(self) -> tuple[TextColumn, LongArray, IntArray]:
        """All texts, the offsets from 0 on, and the number of each text in the table."""
        first, last = int(self._offsets[0]), int(self._offsets[-1])
        if len(self._texts) == last - first:
            return self._texts, self._offsets, self._tags
        return self._texts[first:last], self._offsets - first, self._tags[first:last]

    def sizes(self) -> LongArray:
        return np.diff(self._offsets)

    def languages(self) -> tuple[str, ...]:
        """Those that some text is in, sorted. O(translations)."""
        used = np.unique(self.whole()[2]).tolist()
        return tuple(sorted({self._table[number][0] for number in used}))

    def which(self, languages: Iterable[str] | None, kinds: Iterable[str] = KINDS) -> NDArray[np.bool_]:
        """For each text, whether it is of one of these languages (None: of any) and kinds."""
        spoken = None if languages is None else set(languages)
        right = [(spoken is None or language in spoken) and kind in kinds for language, kind in self._table]
        return np.array([*right, False], np.bool_)[self.whole()[2]]

    def state(self) -> dict[str, Any]:
        texts, offsets, tags = self.whole()
        table = TextColumn.of([f"{language} {kind}" for language, kind in self._table])
        return {"": texts, "/offsets": offsets, "/tags": tags, "/table": table}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> TranslationLists:
        """ValueError for a table that is none; `check` looks at the rest."""
        table = [tuple(tag.split(" ")) for tag in state["/table"]]
        if not all(len(tag) == 2 and is_language(tag[0]) and tag[1] in KINDS for tag in table):
            raise ValueError("translations have a language or kind that is none")
        return cls(state[""], state["/offsets"], state["/tags"], cast("list[Tag]", table))

    def check(self, name: str) -> None:
        """Of one that was mapped."""
        self._texts.check(name)
        checks.offsets(self._offsets, name, len(self._texts))
        checks.indexes(self._tags, f"{name}: languages", len(self._table), len(self._texts))

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def _item(self, at: int) -> tuple[Translation, ...]:
        row = range(len(self))[at]
        first, last = int(self._offsets[row]), int(self._offsets[row + 1])
        return tuple(self._made(self._texts[first:last], self._tags[first:last])) if last > first else ()

    def _slice(self, rows: range) -> TranslationLists:
        if rows.step != 1:
            return self.take(rows)
        offsets = self._offsets[rows.start : max(rows.start, rows.stop) + 1]
        return TranslationLists(self._texts, offsets, self._tags, self._table)

    def __iter__(self) -> Iterator[tuple[Translation, ...]]:
        texts, _, tags = self.whole()
        made = self._made(texts, tags)
        for size in self.sizes().tolist():
            yield tuple(next(made) for _ in range(size))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TranslationLists):
            return list(self) == list(other) if isinstance(other, (list, tuple)) else NotImplemented
        (mine, offsets, tags), (theirs, ends, numbers) = self.whole(), other.whole()
        if not np.array_equal(offsets, ends) or mine != theirs:
            return False
        place = np.array([self._table.index(tag) if tag in self._table else -1 for tag in other._table], np.int32)
        return np.array_equal(tags, place[numbers] if len(numbers) else numbers)

    def _made(self, texts: Iterable[str], tags: IntArray) -> Iterator[Translation]:
        for text, number in zip(texts, tags.tolist(), strict=True):
            language, kind = self._table[number]
            yield Translation(language, text, kind)
