"""Dublin Core in XML, by the standard library: any element with dc: or dcterms: elements right below it is a record.

title, description or abstract, subject (a name, or rdf:resource). New subjects are put into the bytes of the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from everylabel.data.formats import catalogue, vocabulary
from everylabel.data.formats.catalogue import Given, Record, Subjects, Tagging
from everylabel.data.formats.lines import content_of, created
from everylabel.data.formats.rows import WHOLE, Row, Source
from everylabel.data.formats.xml_records import (
    Element,
    beginning,
    check_bytes,
    indent_of,
    records_in,
    shown_in_xml,
    with_insertions,
)
from everylabel.data.label import is_uri

NAME = "dublin-core"
NUMBERED = False
SUFFIXES = (".xml", ".dc", ".dcxml")
ELEMENTS, TERMS = "http://purl.org/dc/elements/1.1/", "http://purl.org/dc/terms/"
RESOURCE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
LOOKED_AT = 1 << 16

read_labels = vocabulary.found_labels


def detect(path: Path) -> bool:
    start = beginning(path, SUFFIXES, LOOKED_AT)
    return start is not None and (ELEMENTS.encode() in start or TERMS.encode() in start)


def splits(_path: Path) -> list[str]:
    return [WHOLE]


def read_documents(source: Source, _split: str) -> Iterator[Row]:
    return catalogue.rows_of(read_records(source), source)


def read_records(source: Source) -> Iterator[Record]:
    found = _elements(content_of(source.path), source.path)
    return (_record(one, number) for number, one in enumerate(found, 1))


def write_subjects(source: Source, target: Path, subjects: Subjects, _tagging: Tagging) -> int:
    content = content_of(source.path)
    check_bytes(content, source.path)
    insertions: dict[int, str] = {}
    n_added = 0
    for number, one in enumerate(_elements(content, source.path), 1):
        new = catalogue.missing(_record(one, number), subjects)
        if new:
            beside = ([field for field in one.fields if field.name == "subject"] or one.fields)[-1]
            lines = (_written(one, beside, subject.name, indent_of(content, beside)) for subject in new)
            insertions[beside.after] = "".join(lines)
            n_added += len(new)
    with created(target) as out:
        out.write(with_insertions(content, insertions))
    return n_added


def _elements(content: bytes, file: Path) -> list[Element]:
    return records_in(content, file, lambda namespace, _: namespace in (ELEMENTS, TERMS))


def _record(one: Element, number: int) -> Record:
    def texts(*names: str) -> list[str]:
        return [field.text for field in one.fields if field.name in names and field.text]

    given = []
    for field in one.fields:
        if field.name != "subject":
            continue
        about = next((uri for key, uri in field.attributes.items() if _is_resource(key, field)), "")
        name = "" if is_uri(field.text) else field.text
        ids = tuple(dict.fromkeys(uri for uri in (about, "" if name else field.text) if uri))
        if name or ids:
            given.append(Given(name, ids))
    titles, text = texts("title"), "\n".join(texts("description", "abstract"))
    return Record(number, next(iter(texts("identifier")), str(number)), titles[0] if titles else "", text, given)


def _is_resource(key: str, field: Element) -> bool:
    prefix, _, name = key.rpartition(":")
    return name in ("resource", "about") and field.scope.get(prefix) == RESOURCE


def _written(record: Element, beside: Element, name: str, indent: str) -> str:
    """With the prefix of its neighbour, where the record knows it; else it says itself what it is."""
    known = record.scope.get(beside.prefix) == beside.namespace
    prefix = f"{beside.prefix}:" if beside.prefix else ""
    declared = "" if known else f' xmlns{":" if beside.prefix else ""}{beside.prefix}="{beside.namespace}"'
    return f"{indent}<{prefix}subject{declared}>{shown_in_xml(name)}</{prefix}subject>"
