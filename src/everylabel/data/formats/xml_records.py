"""Records in an XML file, with the places of their fields in its bytes, so that more can be put in beside them.

The file is in memory, with the texts of the fields: some twice its size.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from everylabel.data.formats.entities import check_entities
from everylabel.data.formats.lines import opened
from everylabel.data.formats.rows import suffix_of
from everylabel.errors import DataError

TAG = re.compile(rb"""<(?:[^"'>]|"[^"]*"|'[^']*')*>""")
ENCODING = re.compile(rb"""^\s*<\?xml[^>]*?encoding\s*=\s*["']([\w.-]+)""")
IsField = Callable[[str, str], bool]  # of a namespace and a name


def beginning(path: Path, suffixes: tuple[str, ...], n_bytes: int) -> bytes | None:
    """Of a file with one of these suffixes, unpacked: what a format is recognised by. None of any other."""
    if not path.is_file() or suffix_of(path) not in suffixes:
        return None
    with opened(path) as (_, content):
        return content.read(n_bytes)


@dataclass
class Element:
    """An element that has begun. Its children are kept if one of them is a field, as it is a record then."""

    prefix: str
    namespace: str
    name: str
    attributes: dict[str, str]
    scope: dict[str, str]  # namespaces by their prefixes
    start: int
    after: int = 0  # the byte after it
    texts: list[str] = field(default_factory=list)
    fields: list[Element] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())


def records_in(content: bytes, file: Path, is_field: IsField) -> list[Element]:
    """Elements with fields right below them, in the order of their ends."""
    check_entities(content, file)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    open_ones: list[Element] = []
    records: list[Element] = []

    def started(qname: str, attributes: dict[str, str]) -> None:
        scope = dict(open_ones[-1].scope) if open_ones else {}
        scope |= {one[6:]: uri for one, uri in attributes.items() if one == "xmlns" or one.startswith("xmlns:")}
        prefix, _, name = qname.rpartition(":")
        namespace = scope.get(prefix, "")
        open_ones.append(Element(prefix, namespace, name, attributes, scope, parser.CurrentByteIndex))

    def ended(_qname: str) -> None:
        one = open_ones.pop()
        tag = TAG.match(content, parser.CurrentByteIndex)
        one.after = tag.end() if tag else parser.CurrentByteIndex
        if open_ones and is_field(one.namespace, one.name):
            open_ones[-1].fields.append(one)
        if one.fields and not is_field(one.namespace, one.name):
            records.append(one)

    def read(text: str) -> None:
        if open_ones:
            open_ones[-1].texts.append(text)

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = started, ended, read
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise DataError(
            f"{file}: record {len(records) + 1}: expected XML, and it is damaged ({error}); export it again"
        ) from None
    return records


def with_insertions(content: bytes, insertions: dict[int, str]) -> bytes:
    """Texts put in at places of the bytes; what the file's encoding may not have becomes a character reference."""
    said = ENCODING.match(content)
    in_utf8 = said is None or said[1].lower().replace(b"-", b"") == b"utf8"
    parts, at = [], 0
    for place, text in sorted(insertions.items()):
        parts += [content[at:place], text.encode() if in_utf8 else text.encode("ascii", "xmlcharrefreplace")]
        at = place
    return b"".join([*parts, content[at:]])


def indent_of(content: bytes, one: Element) -> str:
    """The white space before an element: another after it is to look the same."""
    before = content[max(one.start - 200, 0) : one.start]
    return before[len(before.rstrip()) :].decode("ascii", "replace")


def check_bytes(content: bytes, file: Path) -> None:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{file}: expected UTF-8, got UTF-16; save it as UTF-8 to have it written again")


def shown_in_xml(text: str) -> str:
    """Without what XML cannot have."""
    clean = re.sub(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", " ", text)
    return clean.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
