"""XML whose entities are harmless: names for short texts, as vocabularies have them for namespaces, and nothing else.

An entity made of others ("billion laughs": ten of ten of ten ...), a long one that is used often, or one that is read
from another file or address can take all memory and time, or send a file to somebody. They are declared before the
first element, so that is as far as one has to look: nothing is expanded, whatever the size of the file.
"""

from __future__ import annotations

from pathlib import Path
from xml.parsers import expat

from everylabel.errors import DataError

LONGEST = 200  # characters of an entity: more than any namespace
MOST = 1_000  # entities


class _FirstElementError(Exception):
    """There the declarations end."""


def check_entities(content: bytes, file: Path) -> None:
    """DataError for entities that are more than a short text. What is no XML is left to who parses it."""
    parser, names = expat.ParserCreate(), set[str]()

    def declared(  # as expat calls it
        name: str, is_parameter: bool, value: str | None, _base: str | None, system: str | None, *_about: str | None
    ) -> None:
        names.add(name)
        if value is None or system is not None:
            refuse(name, "is read from elsewhere")
            return
        if is_parameter or "&" in value or "%" in value:
            refuse(name, "is made of others")
        if len(value) > LONGEST or len(names) > MOST:
            refuse(name, f"is one of more than {MOST:,}, or longer than {LONGEST} characters")

    def refuse(name: str, why: str) -> None:
        raise DataError(
            f"{file}: the XML entity {name[:40]!r} {why}, which can take all memory, so the file is not read; write it "
            "without entities, or as Turtle (.ttl)"
        )

    def first_element(*_about: object) -> None:
        raise _FirstElementError

    parser.EntityDeclHandler = declared
    parser.StartElementHandler = first_element
    try:
        parser.Parse(content, True)
    except (_FirstElementError, expat.ExpatError):
        return
    except (LookupError, ValueError) as error:  # others may read on, and expand what was not looked at
        raise DataError(f"{file}: XML in an encoding that is not known ({error}); write it as UTF-8") from None
