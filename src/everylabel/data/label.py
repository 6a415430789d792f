"""One entry of a vocabulary, as librarians have it: names in several languages, a notation, what is above it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from everylabel.data.given import kind_of, text_of_field, texts_of
from everylabel.errors import DataError

Kind = Literal["name", "alternative", "description"]
KINDS: tuple[Kind, ...] = ("name", "alternative", "description")

_TEXTS = ("id", "name", "description", "notation", "uri", "language")
_LISTS = {
    "alternatives": "alternative",
    "parents": "parent",
    "types": "type",
    "schemes": "scheme",
    "related": "related label",
    "replaced_by": "replacement",
}
_TAG = re.compile(r"[A-Za-z0-9]{1,8}(-[A-Za-z0-9]{1,8})*")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20\x7f<>\"{}|\\^`\ud800-\udfff]+")


class Translation(NamedTuple):
    """A name, alternative or description of a label in another language than that of its name."""

    language: str
    text: str
    kind: Kind = "name"


@dataclass(frozen=True)
class Label:
    """One entry of the vocabulary, as it is in a file or given to `add_labels`."""

    id: str
    name: str
    description: str = ""
    alternatives: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()  # ids of broader labels
    notation: str = ""
    uri: str = ""  # "": the id, where that is one
    types: tuple[str, ...] = ()  # what kind of thing it is, beside a concept: URIs, or words
    schemes: tuple[str, ...] = ()
    related: tuple[str, ...] = ()  # ids of labels
    translations: tuple[Translation, ...] = ()
    deprecated: bool = False  # in the vocabulary, and never suggested
    replaced_by: tuple[str, ...] = ()  # ids of labels
    language: str = ""  # of the name, the alternatives and the description; "": not known

    def __post_init__(self) -> None:
        for name in _TEXTS:
            if type(value := getattr(self, name)) is not str:
                object.__setattr__(self, name, text_of_field(value, f"the {name} of a label"))
        for name, what in _LISTS.items():
            if (own := getattr(self, name)) == () and type(own) is tuple:
                continue
            if type(own) is not tuple or not set(map(type, own)) <= {str}:
                object.__setattr__(self, name, tuple(texts_of(own, what, f"label {self.id!r}: ")))
        if self.translations or type(self.translations) is not tuple:
            object.__setattr__(self, "translations", _translations(self.translations, self.id))
        if self.language and not is_language(self.language):
            raise _no_language(self.language, self.id)
        if isinstance(self.deprecated, np.bool_):
            object.__setattr__(self, "deprecated", bool(self.deprecated))
        elif type(self.deprecated) is not bool:
            raise DataError(f"label {self.id!r}: deprecated is {kind_of(self.deprecated)}, expected True or False")


def is_uri(text: str) -> bool:
    """Whether it can stand for a thing on the web as it is: http://..., urn:..."""
    return _URI.fullmatch(text) is not None


def is_language(tag: str) -> bool:
    return _TAG.fullmatch(tag) is not None


def same_language(one: str, other: str) -> bool:
    """By the language alone: "pt" is that of "pt-BR"."""
    return one.partition("-")[0].lower() == other.partition("-")[0].lower()


def _translations(given: Any, label_id: str) -> tuple[Translation, ...]:
    if isinstance(given, (str, Translation)) or not isinstance(given, (tuple, list)):
        raise DataError(
            f"label {label_id!r}: expected a list of translations (language, text, kind), got {kind_of(given)}"
        )
    found = []
    for one in given:
        if (
            not isinstance(one, (tuple, list))
            or len(one) not in (2, 3)
            or not all(isinstance(part, str) for part in one)
        ):
            raise DataError(f"label {label_id!r}: expected a translation (language, text, kind), got {kind_of(one)}")
        translation = one if type(one) is Translation else Translation(*map(str, one))  # type: ignore[arg-type]
        if not is_language(translation.language):
            raise _no_language(translation.language, label_id)
        if translation.kind not in KINDS:
            raise DataError(f"label {label_id!r}: a translation is a {' or '.join(KINDS)}, got {translation.kind!r}")
        found.append(translation)
    return tuple(found)


def _no_language(tag: str, label_id: str) -> DataError:
    return DataError(f"label {label_id!r}: expected a language such as fi or pt-BR, got {tag[:40]!r}; correct it")
