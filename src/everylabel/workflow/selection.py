"""Which labels may be suggested: by ids, schemes, types, or branches of the hierarchy, for one request or one project.

A label passes if it has one of the values of every kind that is given, and none of those that are excluded: with
`schemes` and `below`, labels of one of the schemes that are also in one of the branches. What is not in the vocabulary
is an error that names the nearest: a wrong id must not silently mean all labels, or none.

Cost: O(labels) a mask; the first one of a vocabulary also O(parents), or a pass over the texts of schemes or types,
which are kept with the vocabulary: it never changes.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import NamedTuple, TypeVar

import numpy as np

from everylabel.data.columns import TextLists
from everylabel.data.dataset import LabelSet
from everylabel.data.given import texts_of
from everylabel.errors import ConfigError, DataError
from everylabel.methods.base import Method
from everylabel.types import BoolArray, IntArray, LongArray

R = TypeVar("R")
MOST_COMPARED = 20_000  # texts among which the nearest one is looked for


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Ids of labels, and URIs (or names, as the vocabulary has them) of schemes and types; empty: all labels."""

    only: tuple[str, ...] = ()  # labels
    exclude: tuple[str, ...] = ()
    schemes: tuple[str, ...] = ()
    exclude_schemes: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    exclude_types: tuple[str, ...] = ()
    below: tuple[str, ...] = ()  # labels, each with all that are narrower
    exclude_below: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for one in fields(self):
            if type(given := getattr(self, one.name)) is not tuple:
                object.__setattr__(self, one.name, tuple(texts_of(given, one.name)))

    def __bool__(self) -> bool:
        """Is anything restricted?"""
        return any(getattr(self, one.name) for one in fields(self))

    def and_also(self, other: Selection) -> Selections:
        """What both let through: a project's selection, and that of a request."""
        return Selections(tuple(one for one in (self, other) if one))

    def mask(self, labels: LabelSet) -> BoolArray:
        """Which labels may be suggested; an error if none may."""
        kinds: tuple[tuple[str, Callable[[LabelSet, tuple[str, ...]], BoolArray]], ...] = (
            ("only", _named),
            ("schemes", lambda known, given: _having(known, "schemes", given)),
            ("types", lambda known, given: _having(known, "types", given)),
            ("below", lambda known, given: with_narrower(known, _places(known, given))),
        )
        found = np.ones(len(labels), np.bool_)
        for kind, mask_of in kinds:
            wanted, unwanted = getattr(self, kind), getattr(self, "exclude" if kind == "only" else f"exclude_{kind}")
            if wanted:
                found &= mask_of(labels, wanted)
            if unwanted:
                found &= ~mask_of(labels, unwanted)
        return found


class Selections(NamedTuple):
    """Several at a time: a label passes if it passes each."""

    parts: tuple[Selection, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.parts)

    def mask(self, labels: LabelSet) -> BoolArray:
        found = np.ones(len(labels), np.bool_)
        for part in self.parts:
            found &= part.mask(labels)
        return found


def selecting(model: Method, selection: Selection | Selections | None) -> Method:
    """A model that suggests these labels alone, with the probabilities that they have among all; the model itself where
    nothing is restricted. An error where no label is left."""
    if not selection:
        return model
    model = model.model_
    wanted = selection.mask(model.labels_)
    if not (wanted & ~model.hidden_).any():
        raise DataError("no label of the vocabulary is left by this selection; give up one of its conditions")
    return model.selecting(wanted)


def of_annif(settings: Mapping[str, str]) -> Selection:
    """The rules of an Annif project's vocabulary, `vocab=yso(exclude_type=A|B)`, as a selection: `exclude`,
    `exclude_type`, `exclude_scheme`, and one of `include`, `include_type`, `include_scheme`: what alone is left."""
    known = {"exclude": "exclude", "exclude_type": "exclude_types", "exclude_scheme": "exclude_schemes"}
    included = {"include": "only", "include_type": "types", "include_scheme": "schemes"}
    found, among = Selection(), [key for key in settings if key in included]
    if len(among) > 1:
        raise ConfigError(f"expected one of {', '.join(included)}, got {' and '.join(among)}; keep one of them")
    for key, value in settings.items():
        name = (known | included).get(key)
        if name is None:
            near = difflib.get_close_matches(key, [*known, *included], n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are: {', '.join([*known, *included])}"
            raise ConfigError(f"unknown rule of a vocabulary {key!r}; {hint}")
        values = tuple(one for one in value.split("|") if one)
        if key == "exclude" and "*" in values:
            if not among:
                raise ConfigError("exclude=* leaves no label; add include, include_type or include_scheme")
            continue
        found = replace(found, **{name: values})
    return found


def with_narrower(labels: LabelSet, roots: LongArray) -> BoolArray:
    """These labels and all below them, each once, whatever circles there are. O(labels + parents)."""
    children = labels.children
    found = np.zeros(len(labels), np.bool_)
    found[roots] = True
    level = np.unique(roots)
    while len(level):
        below = children[level].indices
        level = np.unique(below[~found[below]])
        found[level] = True
    return found


def _named(labels: LabelSet, ids: tuple[str, ...]) -> BoolArray:
    found = np.zeros(len(labels), np.bool_)
    found[_places(labels, ids)] = True
    return found


def _places(labels: LabelSet, ids: tuple[str, ...]) -> LongArray:
    places = labels.index.places(ids)
    if (places < 0).any():
        wrong = ids[int(np.argmax(places < 0))]
        sizes = labels.ids.sizes()
        alike = np.flatnonzero(abs(sizes - len(wrong.encode("utf-8", "replace"))) <= 2)[:MOST_COMPARED]
        hint = _nearest(wrong, labels.ids.take(alike), "see everylabel labels list")
        raise DataError(f"label {wrong!r} is not in the vocabulary of {len(labels):,} labels; {hint}")
    return places


class _Coded(NamedTuple):
    """Lists of few different texts: the texts, the number of each item's, and where each label's items begin."""

    texts: dict[str, int]
    codes: IntArray
    offsets: LongArray


def _having(labels: LabelSet, column: str, wanted: tuple[str, ...]) -> BoolArray:
    """Labels with one of these values in a column of lists."""
    coded = _kept(labels, f"_coded_{column}", lambda: _coded(getattr(labels, column)))
    for text in wanted:
        if text not in coded.texts:
            what = column.removesuffix("s")
            none = f"labels have no {column} here; leave it out" if not coded.texts else ""
            hint = none or _nearest(text, coded.texts, f"known are: {', '.join(list(coded.texts)[:5])}")
            raise DataError(f"no label of the vocabulary has the {what} {text!r}; {hint}")
    numbers = [coded.texts[text] for text in wanted]
    hits = np.concatenate([[0], np.cumsum(np.isin(coded.codes, numbers))])
    return np.asarray(np.diff(hits[coded.offsets]) > 0)


def _coded(lists: TextLists) -> _Coded:
    texts, offsets = lists.whole()
    known: dict[str, int] = {}
    codes = np.fromiter((known.setdefault(text, len(known)) for text in texts), np.int32, len(texts))
    return _Coded(known, codes, offsets)


def _nearest(wrong: str, known: Iterable[str], otherwise: str) -> str:
    near = difflib.get_close_matches(wrong, list(known), n=1)
    return f"did you mean {near[0]!r}?" if near else otherwise


def _kept(labels: LabelSet, name: str, make: Callable[[], R]) -> R:
    """Computed once and kept with the labels; two threads may both compute it, which changes nothing."""
    found: R | None = labels.__dict__.get(name)
    return found if found is not None else labels.__dict__.setdefault(name, make())
