"""MARCXML, by pymarc (extra `catalogue`): with or without namespace, alone, in a collection, or as OAI-PMH gives it.

Fields are those of marc.py. New ones are put into the bytes of the file: nothing else of it changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from everylabel.data.formats import catalogue, vocabulary
from everylabel.data.formats.catalogue import Record, Subjects, Tagging
from everylabel.data.formats.lines import content_of, created, opened
from everylabel.data.formats.marc import NewField, first_link, new_fields, record_of
from everylabel.data.formats.rows import WHOLE, Row, Source, suffix_of
from everylabel.data.formats.xml_records import (
    Element,
    beginning,
    check_bytes,
    indent_of,
    records_in,
    shown_in_xml,
    with_insertions,
)
from everylabel.errors import DataError

NAME = "marcxml"
NUMBERED = False
SUFFIXES = (".xml", ".marcxml", ".mrcx")
AT_ONCE = 1 << 16  # bytes
LOOKED_AT = 1 << 14
FIELDS = {"leader", "controlfield", "datafield"}

read_labels = vocabulary.found_labels


def detect(path: Path) -> bool:
    start = beginning(path, SUFFIXES, LOOKED_AT)
    if start is None:
        return False
    return suffix_of(path) != ".xml" or b"MARC21/slim" in start or (b"<leader" in start and b"<record" in start)


def splits(_path: Path) -> list[str]:
    return [WHOLE]


def read_documents(source: Source, _split: str) -> Iterator[Row]:
    return catalogue.rows_of(read_records(source), source)


def read_records(source: Source) -> Iterator[Record]:
    return (record for record, _ in _records(source))


def write_subjects(source: Source, target: Path, subjects: Subjects, tagging: Tagging) -> int:
    content = content_of(source.path)
    check_bytes(content, source.path)
    places = records_in(content, source.path, lambda _, name: name in FIELDS)
    insertions: dict[int, str] = {}
    n_added = n_records = 0
    for record, found in _records(source):
        n_records += 1
        new = catalogue.missing(record, subjects)
        if n_records <= len(places) and new:
            for field in new_fields(new, tagging, first_link(found)):
                at, text = _placed(content, places[n_records - 1], field)
                insertions[at] = insertions.get(at, "") + text
            n_added += len(new)
    if n_records != len(places):
        raise DataError(
            f"{source.path}: {n_records:,} records were read, {len(places):,} have fields; remove empty ones"
        )
    with created(target) as out:
        out.write(with_insertions(content, insertions))
    return n_added


def _records(source: Source) -> Iterator[tuple[Record, Any]]:
    catalogue.require("pymarc", source.path)
    from xml.sax import SAXException, make_parser
    from xml.sax.handler import (
        LexicalHandler,
        feature_external_ges,
        feature_external_pes,
        feature_namespaces,
        property_lexical_handler,
    )

    from pymarc.marcxml import XmlHandler

    class NoDoctype(LexicalHandler):
        def startDTD(self, _name: str, _public: str | None, _system: str | None) -> None:  # noqa: N802
            raise DataError(
                f"{source.path}: it declares a document type, and an entity of one can take all memory; remove it"
            )

    handler, parser, number = XmlHandler(), make_parser(), 0  # type: ignore[no-untyped-call]
    parser.setContentHandler(handler)
    parser.setProperty(property_lexical_handler, NoDoctype())
    parser.setFeature(feature_namespaces, True)
    for outside in (feature_external_ges, feature_external_pes):
        parser.setFeature(outside, False)
    with opened(source.path) as (_, content):
        part = content.read(AT_ONCE)
        while part:
            try:
                parser.feed(part)  # type: ignore[attr-defined]
            except (SAXException, KeyError, ValueError) as error:
                place = catalogue.where(source.path, number + len(handler.records) + 1)
                raise DataError(
                    f"{place}: expected MARCXML, and it is damaged ({' '.join(str(error).split())}); export it again"
                ) from None
            for found in handler.records:
                number += 1
                yield record_of(found, number), found
            handler.records = []
            part = content.read(AT_ONCE)
    try:
        parser.close()  # type: ignore[attr-defined]
    except SAXException as error:
        place = catalogue.where(source.path, number + 1)
        raise DataError(f"{place}: expected the end of the XML ({error}); export it again") from None


def _placed(content: bytes, record: Element, field: NewField) -> tuple[int, str]:
    """After the last field of a lower tag or the same."""
    before = [one for one in record.fields if one.name != "datafield" or one.attributes.get("tag", "") <= field.tag]
    beside = before[-1] if before else record.fields[0]
    prefix, indent = f"{beside.prefix}:" if beside.prefix else "", indent_of(content, beside)
    inner = indent + "  " if "\n" in indent else ""
    parts = "".join(
        f'{inner}<{prefix}subfield code="{code}">{shown_in_xml(value)}</{prefix}subfield>'
        for code, value in field.subfields
    )
    indicators = f'ind1="{field.indicators[0]}" ind2="{field.indicators[1]}"'
    opening = f'{indent}<{prefix}datafield tag="{field.tag}" {indicators}>'
    return beside.after, f"{opening}{parts}{indent if inner else ''}</{prefix}datafield>"
