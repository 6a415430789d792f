"""What becomes of a text before it is tagged: its beginning, chosen fields, or what is in one language.

Transforms are values that can be written down, `first=2000`, for a command line or a project's settings:

| | |
|---|---|
| first=N | the first N characters of the text, cut after a word |
| fields=A,B | these fields of a JSON document, one after the other, in place of its text; a title only if named |
| language=CODE | sentences in this language, and those too short to tell |

They are applied in their order, `fields` first. What is read is then another text; where each piece of it comes from is
kept, so that evidence is shown in the text as it was given (`Transformed.given_place`).
Cost: O(characters); `language` looks at the pieces of words of each sentence (text/identifier.py).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypeAlias

from everylabel.data.dataset import Dataset, Documents
from everylabel.errors import ConfigError, DataError
from everylabel.tagger.explain import Place
from everylabel.text.language import language_of_sentence, told_languages
from everylabel.text.scripts import find_words

SEPARATOR = "\n"  # between fields, and between sentences that were not side by side
LEAST_TEXT = 500  # characters: shorter texts are in one language
LEAST_SENTENCE = 50
LONGEST_WORD = 100  # characters: where there is no space for so long, a text is cut anywhere
_SENTENCE = re.compile(r".*?(?:[.!?\u3002](?=\s)|\n|$)\s*", re.S)


class Piece(NamedTuple):
    """A part of a text that is read, and where it comes from: `length` characters of a field from `start` on."""

    field: str
    start: int
    length: int


Pieces: TypeAlias = tuple[Piece, ...]


class Read(NamedTuple):
    """A document as it is read: a title and a text, each made of pieces of what was given."""

    title: str
    text: str
    title_pieces: Pieces
    text_pieces: Pieces


class Transform(Protocol):
    """One step; a small value with a name."""

    def __call__(self, read: Read, fields: dict[str, str]) -> Read:
        """`fields`: all texts of the document as it was given, "title" and "text" among them."""


@dataclass(frozen=True)
class First:
    """The first n characters."""

    n: int

    def __call__(self, read: Read, fields: dict[str, str]) -> Read:  # noqa: ARG002
        if len(read.text) <= self.n:
            return read
        end = self.n
        if not read.text[end].isspace():
            blank = max(read.text.rfind(space, max(end - LONGEST_WORD, 0), end) for space in " \n\t")
            end = blank if blank > 0 else end
        end = len(read.text[:end].rstrip())
        return _of_spans(read, [(0, end)])


@dataclass(frozen=True)
class Fields:
    """Chosen fields."""

    names: tuple[str, ...]

    def __call__(self, read: Read, fields: dict[str, str]) -> Read:  # noqa: ARG002
        chosen = [Piece(name, 0, len(fields[name])) for name in self.names if name != "title" and fields.get(name)]
        title = fields.get("title", "") if "title" in self.names else ""
        text = SEPARATOR.join(fields[piece.field] for piece in chosen)
        return Read(title, text, (Piece("title", 0, len(title)),), _separated(chosen))


@dataclass(frozen=True)
class InLanguage:
    """Sentences of one language; a text that has none stays as it is."""

    code: str

    def __call__(self, read: Read, fields: dict[str, str]) -> Read:  # noqa: ARG002
        if len(read.text) < LEAST_TEXT:
            return read
        spans = [match.span() for match in _SENTENCE.finditer(read.text) if match[0]]
        told = [self._tells(read.text[start:end]) for start, end in spans]
        if True not in told or False not in told:
            return read
        return _of_spans(read, [span for span, here in zip(spans, told, strict=True) if here is not False])

    def _tells(self, sentence: str) -> bool | None:
        """Whether it is in this language; None: it is too short to tell."""
        if len(sentence) < LEAST_SENTENCE or len(find_words(sentence)) < 3:
            return None
        found = language_of_sentence(sentence)
        return None if found == "none" else found == self.code


def transforms_of(given: Iterable[str]) -> tuple[Transform, ...]:
    """From `NAME=VALUE` each, in their order."""
    found = tuple(map(_transform, given))
    if any(isinstance(one, Fields) for one in found[1:]):
        raise ConfigError("fields must be the first transform: it says what the text is that others change")
    return found


def fields_of(transforms: Iterable[Transform]) -> tuple[str, ...]:
    """The fields of documents that must be read for these, besides title and text."""
    names = (name for one in transforms if isinstance(one, Fields) for name in one.names)
    return tuple(name for name in names if name not in ("title", "text"))


def _transform(given: str) -> Transform:
    name, _, value = given.partition("=")
    if name == "first":
        if not value.isascii() or not value.isdigit() or int(value) < 1:
            raise ConfigError(f"first needs a number of characters, at least 1: first=2000; got {given!r}")
        return First(int(value))
    if name == "fields":
        names = tuple(one.strip() for one in value.split(",") if one.strip())
        if not names:
            raise ConfigError(f"fields needs names of fields: fields=title,abstract; got {given!r}")
        return Fields(names)
    if name == "language":
        if value not in (known := told_languages()):
            near = difflib.get_close_matches(value, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are: {' '.join(known)}"
            raise ConfigError(f"language needs a language that can be told: language=de; got {given!r}; {hint}")
        return InLanguage(value)
    raise ConfigError(f"expected a transform first=N, fields=A,B or language=CODE; got {given!r}")


@dataclass(frozen=True)
class Transformed:
    """Documents as they are read, and where each piece of them comes from."""

    documents: Documents
    pieces: list[tuple[Pieces, Pieces]] | None = None  # of title and text of each document; None: as they were given

    def given_places(self, row: int, places: Iterable[Place]) -> tuple[Place, ...]:
        """Places in a document as it is read, as places in what was given; one over several pieces is several."""
        if self.pieces is None:
            return tuple(places)
        title, text = self.pieces[row]
        return tuple(found for place in places for found in _given(title if place.field == "title" else text, place))


def transformed(documents: Documents, transforms: Sequence[Transform]) -> Transformed:
    """The documents as they are read. A bag of words has no text to change."""
    if not transforms:
        return Transformed(documents)
    if documents.is_bag_of_words:
        raise DataError("these documents are bags of words, which have no text to transform; leave the transform out")
    for one in transforms:
        if (
            isinstance(one, Fields)
            and len(documents)
            and not any(_has(documents, row, one) for row in _rows(documents))
        ):
            raise DataError(
                f"no document has a field {' or '.join(map(repr, one.names))}; fields are the keys of JSON documents: "
                "correct the names, or leave the transform out"
            )
    done = [_applied(documents, row, transforms) for row in _rows(documents)]
    titles, texts = [one.title for one in done], [one.text for one in done]
    read = replace(documents, titles=titles, texts=texts, features=None, fields=None)
    return Transformed(read, [(one.title_pieces, one.text_pieces) for one in done])


def transformed_dataset(dataset: Dataset, transforms: Sequence[Transform]) -> Dataset:
    """To fit on, or to evaluate with, what would be read when it is tagged."""
    return replace(dataset, documents=transformed(dataset.documents, transforms).documents) if transforms else dataset


def _rows(documents: Documents) -> range:
    return range(len(documents))


def _fields(documents: Documents, row: int) -> dict[str, str]:
    """All texts of a document by name."""
    own = documents.fields[row] if documents.fields else {}
    return own | {"title": documents.titles[row], "text": documents.texts[row]}


def _has(documents: Documents, row: int, chosen: Fields) -> bool:
    fields = _fields(documents, row)
    return any(fields.get(name) for name in chosen.names)


def _applied(documents: Documents, row: int, transforms: Sequence[Transform]) -> Read:
    fields = _fields(documents, row)
    title, text = fields["title"], fields["text"]
    read = Read(title, text, (Piece("title", 0, len(title)),), (Piece("text", 0, len(text)),))
    for transform in transforms:
        read = transform(read, fields)
    return read


def _of_spans(read: Read, spans: Sequence[tuple[int, int]]) -> Read:
    """Parts of the text; between those that were not side by side there is a separator."""
    parts: list[str] = []
    pieces: list[Piece] = []
    last = 0
    for start, end in spans:
        if parts and start != last:
            parts.append(SEPARATOR)
            pieces.append(Piece("", 0, len(SEPARATOR)))
        parts.append(read.text[start:end])
        pieces += _cut(read.text_pieces, start, end)
        last = end
    return read._replace(text="".join(parts), text_pieces=tuple(pieces))


def _separated(pieces: Sequence[Piece]) -> Pieces:
    found: list[Piece] = []
    for piece in pieces:
        found += [Piece("", 0, len(SEPARATOR)), piece] if found else [piece]
    return tuple(found)


def _cut(pieces: Pieces, start: int, end: int) -> Iterator[Piece]:
    """The pieces of a part of a text."""
    first = 0
    for field, at, length in pieces:
        inside, last = max(start - first, 0), min(end - first, length)
        if last > inside:
            yield Piece(field, at + inside, last - inside)
        first += length
        if first >= end:
            return


def _given(pieces: Pieces, place: Place) -> Iterator[Place]:
    for field, start, length in _cut(pieces, place.start, place.end):
        if field:
            yield Place(field, start, start + length)
