"""A vocabulary as SKOS: Turtle, RDF/XML, N-Triples or JSON-LD, by the file's ending; `skos.py` reads it back.

An id that is no URI becomes one (`skos.uri_for`). Of the order of alternatives and the like nothing is written, as a
graph has none. Cost: rdflib's graph of it, some 1 KB a statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from everylabel.data.formats.lines import created
from everylabel.data.formats.rows import Target, suffix_of
from everylabel.data.formats.skos import OWN_ID, PARSERS, uri_for
from everylabel.data.label import Label, is_uri
from everylabel.data.labels import LabelSet
from everylabel.errors import DataError

if TYPE_CHECKING:
    from rdflib.term import Node, URIRef

    Statement = tuple[URIRef, URIRef, Node]

_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")  # in XML, and nowhere of any use


def write_vocabulary(target: Target) -> None:
    """All labels with all that is known of them."""
    try:
        from rdflib import Graph
    except ImportError:
        raise DataError(f"{target.path}: writing SKOS needs rdflib; pip install everylabel[skos]") from None
    graph = Graph()
    for statement in statements(target.labels):
        graph.add(statement)
    content = graph.serialize(format=PARSERS[suffix_of(target.path)], encoding="utf-8")
    with created(target.path) as out:
        out.write(content)


def statements(labels: LabelSet) -> Iterator[Statement]:
    uris: dict[str, str] = {}
    owners: dict[str, str] = {}
    for label in labels:
        uri = label.uri if is_uri(label.uri) else uri_for(label.id)
        if (other := owners.setdefault(uri, label.id)) != label.id:
            raise DataError(f"labels {other!r} and {label.id!r} have one URI, {uri}; give each its own")
        uris[label.id] = uri
    for label in labels:
        yield from _statements(label, uris)


def _statements(label: Label, uris: dict[str, str]) -> Iterator[Statement]:
    from rdflib.namespace import DCTERMS, OWL, RDF, SKOS
    from rdflib.term import Literal, URIRef

    subject = URIRef(uris[label.id])
    kinds = {"name": SKOS.prefLabel, "alternative": SKOS.altLabel, "description": SKOS.definition}
    own = [("name", label.name), *(("alternative", one) for one in label.alternatives)]
    own += [("description", label.description)] if label.description else []
    texts = [(kind, text, label.language) for kind, text in own]
    texts += [(one.kind, one.text, one.language) for one in label.translations]
    yield subject, RDF.type, SKOS.Concept
    if uris[label.id] != uri_for(label.id):
        yield subject, URIRef(OWN_ID), Literal(_written(label.id, label))
    for kind, text, language in texts:
        yield subject, kinds[kind], Literal(_written(text, label), lang=language or None)
    if label.notation:
        yield subject, SKOS.notation, Literal(_written(label.notation, label))
    if label.deprecated:
        yield subject, OWL.deprecated, Literal(True)
    for predicate, ids in ((SKOS.broader, label.parents), (SKOS.related, label.related)):
        yield from _links(subject, predicate, (uris.get(one) or uri_for(one) for one in ids))
    yield from _links(subject, DCTERMS.isReplacedBy, (uris.get(one) or uri_for(one) for one in label.replaced_by))
    yield from _links(subject, SKOS.inScheme, map(uri_for, label.schemes))
    yield from _links(subject, RDF.type, map(uri_for, label.types))


def _links(subject: URIRef, predicate: URIRef, uris: Iterable[str]) -> Iterator[Statement]:
    from rdflib.term import URIRef

    return ((subject, predicate, URIRef(uri)) for uri in uris)


def _written(text: str, label: Label) -> str:
    """Line breaks of one kind, as XML knows no other."""
    if _UNWRITABLE.search(text):
        raise DataError(f"label {label.id!r}: a text of it has a control character, which SKOS cannot have; remove it")
    return text.replace("\r\n", "\n").replace("\r", "\n")
