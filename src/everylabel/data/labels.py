"""The vocabulary of labels, as columns: ids, names, descriptions, and lists of alternatives, of parents and so on.

Some 52 bytes a label beside its texts, and 8 more for an alternative or a parent; nothing for a column that no label
has anything in. A `Label` is made when somebody looks at one (some 8 microseconds). A set never changes: parts of it
and longer ones share its columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from everylabel import checks
from everylabel.data.columns import Rows, Sliced, TextColumn, TextLists, checked_rows
from everylabel.data.given import kind_of
from everylabel.data.ids import IdIndex, SortedHashes
from everylabel.data.label import Label, Translation, is_uri, same_language
from everylabel.data.label_columns import (
    COLUMNS,
    columns_of,
    is_blank,
    joined,
    restored_columns,
    state_of,
    taken,
    values_of,
)
from everylabel.data.translations import TranslationLists
from everylabel.errors import DataError
from everylabel.types import Csr, IntArray, LongArray

ANY_LANGUAGE = "*"
_MOST_SHOWN = 20_000  # labels that are kept as they are shown: some 20 MB


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LabelSet(Sliced[Label, "LabelSet"]):
    """A sequence of labels, each id once; a label's place in it is the label's id in every `Ranking` and csr matrix."""

    ids: TextColumn
    names: TextColumn
    descriptions: TextColumn
    alternatives: TextLists
    parents: TextLists
    notations: TextColumn
    uris: TextColumn
    types: TextLists
    schemes: TextLists
    related: TextLists
    translations: TranslationLists
    deprecated: NDArray[np.bool_]
    replaced_by: TextLists
    name_languages: TextColumn
    read_languages: tuple[str, ...] | None = None  # translations that are texts of a label, too (`texts`); None: nobody
    # has chosen yet, which is none

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def of(cls, labels: Iterable[Label]) -> LabelSet:
        """O(characters). An id that occurs twice is an error; a set passes through."""
        if isinstance(labels, LabelSet):
            return labels
        labels = labels_of(labels)
        found = cls(**columns_of(labels))
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
            return self._with({name: column[rows.start : rows.stop] for name, column in self._columns().items()})
        rows = checked_rows(rows, len(self))
        chosen = self._with({name: taken(column, rows) for name, column in self._columns().items()})
        if len(np.unique(rows)) < len(rows):
            raise _occurs_twice(chosen.index.first_twice())
        return chosen

    def extended(self, labels: Iterable[Label]) -> LabelSet:
        """With more labels after these, whose texts are shared. O(new labels), and 8 bytes a label and column are
        copied."""
        more = LabelSet.of(labels)
        known = self.index.places(more.ids)
        if (known >= 0).any():
            raise _occurs_twice(more.ids[int(np.argmax(known >= 0))])
        new = more._columns()
        longer = self._with({name: joined(column, new[name]) for name, column in self._columns().items()})
        longer.__dict__["index"] = self.index.extended(longer.ids)
        return longer

    def reading(self, languages: Iterable[str] | None) -> LabelSet:
        """The same labels, whose texts are those of these languages, too; ANY_LANGUAGE: of all."""
        chosen = replace(self, read_languages=None if languages is None else tuple(languages))
        if "index" in self.__dict__:
            chosen.__dict__["index"] = self.index
        return chosen

    def texts(self) -> tuple[TextColumn, IntArray]:
        """Name, alternatives and description of each label, if it has one, and the label that each text belongs to.

        Translations of `read_languages` stand after the alternatives and the description.
        """
        n = len(self)
        alternatives, translated = self.alternatives.whole()[0], self.translations.whole()[0]
        described = np.flatnonzero(self.descriptions.sizes() > 0)
        names, descriptions = (
            np.flatnonzero(self._is_read(kinds)) for kinds in (("name", "alternative"), ("description",))
        )
        translated_for = np.repeat(np.arange(n, dtype=np.int32), self.translations.sizes())
        sources = (  # where the texts of a kind begin in all of them, which are taken, and whose they are
            (0, np.arange(n), np.arange(n, dtype=np.int32)),
            (n, np.arange(len(alternatives)), np.repeat(np.arange(n, dtype=np.int32), self.alternatives.sizes())),
            (2 * n + len(alternatives), names, translated_for[names]),
            (n + len(alternatives), described, described.astype(np.int32)),
            (2 * n + len(alternatives), descriptions, translated_for[descriptions]),
        )
        rows = np.concatenate([first + own for first, own, _ in sources])
        owners = np.concatenate([own for _, _, own in sources])
        order = np.argsort(owners, kind="stable")  # which merges what is sorted already
        every = TextColumn.chained([self.names, alternatives, self.descriptions, translated])
        return every.take(rows[order]), owners[order]

    def names_beside(self, at: int) -> tuple[str, ...]:
        """A label's alternatives, and its names and alternatives in the languages that are read."""
        read = (one.text for one in self._read_of(at) if one.kind != "description")
        return (*self.alternatives[at], *read)

    def texts_of(self, at: int) -> list[str]:
        """As `texts`, of one label; empty ones are left out."""
        read = (one.text for one in self._read_of(at) if one.kind == "description")
        return [text for text in (self.names[at], *self.names_beside(at), self.descriptions[at], *read) if text]

    @cached_property
    def language(self) -> str:
        """Of most names; "": not known. O(labels) the first time."""
        if self.name_languages.is_blank:
            return ""
        return Counter(self.name_languages).most_common(1)[0][0]

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """Those of translations, sorted."""
        return self.translations.languages()

    def name_in(self, at: int, language: str) -> str:
        """A label's name in a language; its own where there is none."""
        spoken = self._spoken(at, language)
        if spoken is None:
            return self.names[at]
        return next(one.text for one in self.translations[at] if one.kind == "name" and one.language == spoken)

    def alternatives_in(self, at: int, language: str) -> tuple[str, ...]:
        """A label's alternatives in the language that `name_in` shows."""
        spoken = self._spoken(at, language)
        if spoken is None:
            return self.alternatives[at]
        beside = (one.text for one in self.translations[at] if one.kind == "alternative" and one.language == spoken)
        return tuple(beside)

    def uri_of(self, at: int) -> str:
        """A label's URI, which may be its id; "": it has none."""
        return self.uris[at] or (self.ids[at] if is_uri(self.ids[at]) else "")

    def shown(self, at: int, language: str = "") -> Mapping[str, str]:
        """What people see of a label: "id", "name" in a language ("": its own), "notation" and "uri" where it has them.

        Kept: the same few thousand labels are shown again and again, and each takes 10 microseconds.
        """
        key = (at, language)
        found = self._known_shown.get(key)
        if found is None:
            name = self.name_in(at, language) if language else self.names[at]
            more = {"notation": self.notations[at], "uri": self.uri_of(at)}
            found = {"id": self.ids[at], "name": name, **{kind: text for kind, text in more.items() if text}}
            if len(self._known_shown) >= _MOST_SHOWN:
                self._known_shown.clear()
            self._known_shown[key] = found
        return found

    @cached_property
    def _known_shown(self) -> dict[tuple[int, str], dict[str, str]]:
        return {}

    @cached_property
    def parent_places(self) -> Csr:
        """Labels x labels: row i has the places of what is broader than label i, as far as it is in this set."""
        texts, offsets = self.parents.whole()
        return _pointers(self.index.places(texts), offsets)

    @cached_property
    def children(self) -> Csr:
        """Labels x labels: row i has the places of what is narrower than label i."""
        found = csr_matrix(self.parent_places.T)
        found.sort_indices()
        return found

    @cached_property
    def successors(self) -> LongArray:
        """The place that stands for each label: its own, but of a deprecated one with exactly one replacement in this
        set that of the replacement, and so on. O(deprecated labels)."""
        places = np.arange(len(self))
        for at in np.flatnonzero(self.deprecated).tolist():
            found = {int(place) for place in self.index.places(self.replaced_by[at]) if place >= 0}
            if len(found) == 1:
                places[at] = found.pop()
        for _ in range(len(self).bit_length()):  # each time twice as far along; who comes round in a circle stays in it
            further = places[places]
            if np.array_equal(further, places):
                break
            places = further
        return np.where(self.deprecated[places], np.arange(len(self)), places)

    def state(self) -> dict[str, Any]:
        """As it is saved, with the index, so that nothing has to be computed when it is loaded. Columns that no label
        has anything in are left out."""
        state = state_of(self._columns())
        if self.read_languages is not None:
            state["read_languages"] = TextColumn.of(self.read_languages)
        state["index/hashes"], state["index/places"] = self.index.whole()
        return state

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> LabelSet:
        """Nothing is read: columns may be memory-mapped. Lengths that do not fit together are an error."""
        columns, read = restored_columns(state), state.get("read_languages")
        found = cls(**columns, read_languages=None if read is None else tuple(read))
        hashes = SortedHashes(state["index/hashes"], state["index/places"])
        if len({len(column) for column in (*columns.values(), *hashes)}) != 1:
            raise ValueError("the columns of the vocabulary have different lengths")
        found.__dict__["index"] = IdIndex(found.ids, [hashes])
        return found

    def check(self) -> None:
        """Of one that was mapped. O(bytes)."""
        for name, column in self._columns().items():
            if name != "deprecated":
                column.check(name)
        checks.array(self.deprecated, "deprecated", np.bool_, len(self))
        self.index.check()

    def __len__(self) -> int:
        return len(self.ids)

    def _slice(self, rows: range) -> LabelSet:
        return self.subset(rows)

    def _item(self, at: int) -> Label:
        return Label(**{field: column[at] for field, column in self._filled.items()})

    def __iter__(self) -> Iterator[Label]:
        filled = self._filled
        return map(
            Label,
            *(
                values_of(filled[field]) if field in filled else repeat(getattr(Label, field), len(self))
                for field in COLUMNS
            ),
        )

    def __contains__(self, label: object) -> bool:
        return isinstance(label, Label) and (at := self.index.get(label.id)) is not None and self[at] == label

    def __add__(self, labels: Iterable[Label]) -> LabelSet:
        return self.extended(labels)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LabelSet):
            return self is other or all(
                np.array_equal(column, theirs) if name == "deprecated" else column == theirs
                for (name, column), theirs in zip(self._columns().items(), other._columns().values(), strict=True)
            )
        if isinstance(other, (list, tuple)):
            return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))
        return NotImplemented

    def __repr__(self) -> str:
        return f"LabelSet({len(self):,} labels: {', '.join(self.ids[:3])}{', ...' if len(self) > 3 else ''})"

    @cached_property
    def _filled(self) -> dict[str, Any]:
        """The columns that some label has something in, by the field of a label; an id and a name all have."""
        blank = {field for field, name in COLUMNS.items() if is_blank(getattr(self, name))}
        return {
            field: getattr(self, name)
            for field, name in COLUMNS.items()
            if field in ("id", "name") or field not in blank
        }

    def _columns(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in COLUMNS.values()}

    def _with(self, columns: dict[str, Any]) -> LabelSet:
        return LabelSet(**columns, read_languages=self.read_languages)

    def _is_read(self, kinds: tuple[str, ...]) -> NDArray[np.bool_]:
        """For each text of a translation, whether it is a text of its label, of one of these kinds."""
        return self.translations.which(self._languages_read(), kinds)

    def _languages_read(self) -> list[str] | None:
        """As translations have them, of whatever region; None: all."""
        read = self.read_languages or ()
        if ANY_LANGUAGE in read:
            return None
        return [one for one in self.languages if any(same_language(one, language) for language in read)]

    def _read_of(self, at: int) -> list[Translation]:
        spoken = self._languages_read()
        return [one for one in self.translations[at] if spoken is None or one.language in spoken]

    def _spoken(self, at: int, language: str) -> str | None:
        """The language of the translation that is shown: exactly this one, else one of another region; None: the
        label's own name is."""
        own, translations = self.name_languages[at], self.translations[at] if language else ()
        if language.lower() == own.lower() or not translations:
            return None
        names = dict.fromkeys(one.language for one in reversed(translations) if one.kind == "name")
        spoken = next((one for one in names if one.lower() == language.lower()), None)
        if spoken is None and not (own and same_language(own, language)):
            spoken = next((one for one in sorted(names) if same_language(one, language)), None)
        return spoken


def labels_of(labels: Iterable[Label]) -> list[Label]:
    """As they were given, checked."""
    if isinstance(labels, (Label, str)):
        raise DataError(f"expected a list of labels, got {kind_of(labels)}; put it into a list")
    found = list(labels)
    for i, label in enumerate(found):
        if not isinstance(label, Label):
            raise DataError(f"label {i} is {kind_of(label)}, expected a Label: everylabel.Label(id, name)")
    return found


def _pointers(places: LongArray, offsets: LongArray) -> Csr:
    """Rows of places, without those that are not there (-1) and without repetitions."""
    there = places >= 0
    n = len(offsets) - 1
    rows = np.repeat(np.arange(n), np.diff(offsets))[there]
    found = csr_matrix((np.ones(len(rows), np.float32), (rows, places[there])), shape=(n, n))
    found.data[:] = 1  # one that is named twice is there once
    found.sort_indices()
    return found


def _occurs_twice(label_id: str | None) -> DataError:
    return DataError(f"label id {label_id!r} occurs twice in the vocabulary; ids must be unique: remove one of them")
