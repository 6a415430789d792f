"""The vocabulary of labels, as columns: ids, names, descriptions, and lists of alternatives and of parents.

Some 52 bytes a label beside its texts, and 8 more for an alternative or a parent. A `Label` is made when somebody looks
at one (some 5 microseconds). A set never changes: parts of it and longer ones share its columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from everylabel.data.columns import Rows, Sliced, TextColumn, TextLists, checked_rows
from everylabel.data.given import kind_of, text_of_field, texts_of
from everylabel.data.ids import IdIndex, SortedHashes
from everylabel.errors import DataError
from everylabel.types import IntArray

_TEXTS = ("ids", "names", "descriptions")
_LISTS = ("alternatives", "parents")
_FIELDS = ("id", "name", "description")
_LISTED = {"alternatives": "alternative", "parents": "parent"}


@dataclass(frozen=True)
class Label:
    """One entry of the vocabulary, as it is in a file or given to `add_labels`."""

    id: str
    name: str
    description: str = ""
    alternatives: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in _FIELDS:
            if type(getattr(self, name)) is not str:
                object.__setattr__(self, name, text_of_field(getattr(self, name), f"the {name} of a label"))
        for name, what in _LISTED.items():
            if type(own := getattr(self, name)) is not tuple or not set(map(type, own)) <= {str}:
                object.__setattr__(self, name, tuple(texts_of(own, what, f"label {self.id!r}: ")))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LabelSet(Sliced[Label, "LabelSet"]):
    """A sequence of labels, each id once; a label's place in it is the label's id in every `Ranking` and csr matrix."""

    ids: TextColumn
    names: TextColumn
    descriptions: TextColumn
    alternatives: TextLists
    parents: TextLists

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def of(cls, labels: Iterable[Label]) -> LabelSet:
        """O(characters). An id that occurs twice is an error; a set passes through."""
        if isinstance(labels, LabelSet):
            return labels
        labels = labels_of(labels)
        found = _columns(labels)
        if (twice := found.index.first_twice()) is not None:
            raise _occurs_twice(twice)
        return found

    @cached_property
    def index(self) -> IdIndex:
        """The place of each id."""
        return IdIndex.of(self.ids)

    @property
    def labels(self) -> LabelSet:
        """The set itself, which is a sequence of labels."""
        return self

    def subset(self, rows: Rows) -> LabelSet:
        """These labels in this order. A range shares its columns with the whole; O(bytes of the labels) otherwise."""
        if isinstance(rows, range) and rows.step == 1 and 0 <= rows.start <= rows.stop <= len(self):
            return LabelSet(**{name: column[rows.start : rows.stop] for name, column in self._columns().items()})
        rows = checked_rows(rows, len(self))
        chosen = LabelSet(**{name: column.take(rows) for name, column in self._columns().items()})
        if len(np.unique(rows)) < len(rows):
            raise _occurs_twice(chosen.index.first_twice())
        return chosen

    def extended(self, labels: Iterable[Label]) -> LabelSet:
        """With more labels after these, whose texts are shared. O(new labels), and 8 bytes a label are copied."""
        more = LabelSet.of(labels)
        known = self.index.places(more.ids)
        if (known >= 0).any():
            raise _occurs_twice(more.ids[int(np.argmax(known >= 0))])
        own, new = self._columns(), more._columns()
        longer = LabelSet(**{name: column.extended(new[name]) for name, column in own.items()})
        longer.__dict__["index"] = self.index.extended(longer.ids)
        return longer

    def texts(self) -> tuple[TextColumn, IntArray]:
        """Name, alternatives and description of each label, if it has one, and the label that each text belongs to."""
        n, sizes = len(self), self.alternatives.sizes()
        described = self.descriptions.sizes() > 0
        alternatives = self.alternatives.whole()[0]
        ends = np.cumsum(1 + sizes + described)
        starts = ends - 1 - sizes - described
        order = np.empty(int(ends[-1]) if n else 0, np.int64)
        owners = np.repeat(np.arange(n, dtype=np.int32), 1 + sizes + described)
        first_alternative = np.repeat(starts + 1 - np.cumsum(sizes) + sizes, sizes)
        order[first_alternative + np.arange(len(alternatives))] = n + np.arange(len(alternatives))
        order[starts] = np.arange(n)
        order[ends[described] - 1] = n + len(alternatives) + np.flatnonzero(described)
        return TextColumn.chained([self.names, alternatives, self.descriptions]).take(order), owners

    def state(self) -> dict[str, Any]:
        """As it is saved, with the index, so that nothing has to be computed when it is loaded."""
        state: dict[str, Any] = {name: getattr(self, name) for name in _TEXTS}
        for name in _LISTS:
            state[name], state[f"{name}/offsets"] = getattr(self, name).whole()
        state["index/hashes"], state["index/places"] = self.index.whole()
        return state

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> LabelSet:
        """Nothing is read: columns may be memory-mapped. Lengths that do not fit together are an error."""
        columns: dict[str, Any] = {name: state[name] for name in _TEXTS}
        columns |= {name: TextLists(state[name], state[f"{name}/offsets"]) for name in _LISTS}
        found = cls(**columns)
        hashes = SortedHashes(state["index/hashes"], state["index/places"])
        if len({len(column) for column in (*columns.values(), *hashes)}) != 1:
            raise ValueError("the columns of the vocabulary have different lengths")
        found.__dict__["index"] = IdIndex(found.ids, [hashes])
        return found

    def check(self) -> None:
        """Of one that was mapped. O(bytes)."""
        for name, column in self._columns().items():
            column.check(name)
        self.index.check()

    def __len__(self) -> int:
        return len(self.ids)

    def _slice(self, rows: range) -> LabelSet:
        return self.subset(rows)

    def _item(self, at: int) -> Label:
        return Label(self.ids[at], self.names[at], self.descriptions[at], self.alternatives[at], self.parents[at])

    def __iter__(self) -> Iterator[Label]:
        return map(Label, *self._columns().values())

    def __contains__(self, label: object) -> bool:
        return isinstance(label, Label) and (at := self.index.get(label.id)) is not None and self[at] == label

    def __add__(self, labels: Iterable[Label]) -> LabelSet:
        return self.extended(labels)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LabelSet):
            return self is other or self._columns() == other._columns()
        if isinstance(other, (list, tuple)):
            return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))
        return NotImplemented

    def __repr__(self) -> str:
        return f"LabelSet({len(self):,} labels: {', '.join(self.ids[:3])}{', ...' if len(self) > 3 else ''})"

    def _columns(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _TEXTS + _LISTS}


def labels_of(labels: Iterable[Label]) -> list[Label]:
    """As they were given, checked."""
    if isinstance(labels, (Label, str)):
        raise DataError(f"expected a list of labels, got {kind_of(labels)}; put it into a list")
    found = list(labels)
    for i, label in enumerate(found):
        if not isinstance(label, Label):
            raise DataError(f"label {i} is {kind_of(label)}, expected a Label: everylabel.Label(id, name)")
    return found


def _columns(labels: list[Label]) -> LabelSet:
    return LabelSet(
        ids=TextColumn.of([label.id for label in labels]),
        names=TextColumn.of([label.name for label in labels]),
        descriptions=TextColumn.of([label.description for label in labels]),
        alternatives=TextLists.of([label.alternatives for label in labels]),
        parents=TextLists.of([label.parents for label in labels]),
    )


def _occurs_twice(label_id: str | None) -> DataError:
    return DataError(f"label id {label_id!r} occurs twice in the vocabulary; ids must be unique: remove one of them")
