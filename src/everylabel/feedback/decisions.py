"""What a person decided about a document: which of the labels shown are right, which are not, which were missing."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from everylabel.data.given import text_of_field, texts_of
from everylabel.errors import DataError

HELD_OUT_SHARE = 5  # one document in so many is held out from learning while it is recent: see learning.py
IN_FULL_FIT = -1  # instead of a version: the project's model was fitted with it


@dataclass(frozen=True, kw_only=True)
class NewDecision:
    """Of one document, before it is stored. Labels by their ids, in the order a person gave them, each once.

    A character that no database keeps (NUL, half of a surrogate pair) becomes a space in texts, and is an error in ids.
    """

    text: str
    title: str = ""
    document_id: str = ""
    accepted: tuple[str, ...] = ()  # of those that were shown
    rejected: tuple[str, ...] = ()  # of those that were shown
    added: tuple[str, ...] = ()  # that were not shown
    complete: bool = True  # accepted + added are all labels of the document
    by: str = ""
    key: str = ""  # chosen by the client: the same key twice is the same decision, stored once

    def __post_init__(self) -> None:
        for name in ("text", "title"):
            object.__setattr__(self, name, storable(text_of_field(getattr(self, name), f"the {name} of a decision")))
        for name in ("document_id", "by", "key"):
            _check_id(text_of_field(getattr(self, name), f"{name} of a decision"), name)
        for name in ("accepted", "rejected", "added"):
            ids = texts_of(getattr(self, name), "label id", f"{name}: ")
            for label in ids:
                _check_id(label, name)
            object.__setattr__(self, name, tuple(dict.fromkeys(ids)))
        both = sorted(set(self.rejected) & set(self.labels))
        if both:
            raise DataError(f"label {both[0]!r} is rejected, and accepted or added as well; expected one of them")

    @property
    def labels(self) -> tuple[str, ...]:
        """What the document has, as far as it was said."""
        return tuple(dict.fromkeys((*self.accepted, *self.added)))

    @property
    def content(self) -> str:
        """A name of title and text: the same for the same document, whoever decides about it, and when."""
        return content_of(self.title, self.text)

    @property
    def held_out(self) -> bool:
        """Whether it checks models before it is learned. By the content, not by chance or time: who decides about a
        document again does not have one model learn what it is checked on."""
        return int(self.content[:8], 16) % HELD_OUT_SHARE == 0


@dataclass(frozen=True, kw_only=True)
class Decision(NewDecision):
    """As it is stored. `id` is the order in which they came; clocks jump, ids do not."""

    id: int
    project: str
    at: str  # ISO 8601, UTC
    undone: str = ""  # when
    undone_by: str = ""
    learned_in: int = 0  # version of the model that has it; 0: not learned yet; -1: the full fit had it
    refused: int = 0  # so many times a model that had learned it was refused

    def to_json(self) -> dict[str, Any]:
        """Plain values. It is a document of the native format, too: "id", "title", "text" and "labels"; those of an
        incomplete decision are not all of the document's, and are left to "accepted"."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain |= {name: list(plain[name]) for name in ("accepted", "rejected", "added")}
        document = {"id": self.document_id or str(self.id), "title": self.title, "text": self.text}
        del plain["id"], plain["title"], plain["text"], plain["document_id"]
        labels = {"labels": list(self.labels)} if self.complete else {}
        return document | labels | {"decision": self.id} | plain


class QueuedDocument(NamedTuple):
    """One that waits for a person's eyes."""

    id: int
    text: str
    title: str
    document_id: str
    doubt: float  # 0..1


def content_of(title: str, text: str) -> str:
    """sha256 of both, hexadecimal. One pass over the characters."""
    return hashlib.sha256(f"{title}\0{text}".encode()).hexdigest()


def storable(text: str) -> str:
    """The text without what databases refuse."""
    if "\0" in text:
        text = text.replace("\0", " ")
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(" " if "\ud800" <= one <= "\udfff" else one for one in text)
    return text


def _check_id(value: str, name: str) -> None:
    if storable(value) != value:
        raise DataError(f"{name}: {value!r} has a character that cannot be stored; leave it out")
