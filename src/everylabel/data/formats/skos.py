"""SKOS vocabularies (rdf, ttl, nt), read by rdflib, which is imported on use.

`skos:prefLabel` is the name, `skos:altLabel` the alternatives, `skos:definition` the description, `skos:broader` the
parents. Deprecated concepts are left out. Texts in the wanted language come first, then those without a language, then
any; alternatives only in the language of the name.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from everylabel.data.dataset import Label
from everylabel.data.formats.entities import check_entities
from everylabel.data.formats.lines import content_of
from everylabel.data.formats.rows import Entry, suffix_of
from everylabel.errors import DataError

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Literal, Node

PARSERS = {".ttl": "turtle", ".rdf": "xml", ".nt": "nt"}
SUFFIXES = tuple(PARSERS)


def read_vocabulary(file: Path, language: str) -> Iterator[Entry]:
    """Concepts in the order of their URIs, as a graph has no order of its own."""
    graph = parsed(file)
    from rdflib.namespace import OWL, RDF, SKOS

    for concept in sorted(set(graph.subjects(RDF.type, SKOS.Concept)), key=str):
        if any(str(value).lower() in ("true", "1") for value in graph.objects(concept, OWL.deprecated)):
            continue
        names = literals(graph, concept, SKOS.prefLabel)
        spoken = language_of(names, language)
        definitions = literals(graph, concept, SKOS.definition)
        label = Label(
            id=str(concept),
            name=next(iter(in_language(names, spoken)), ""),
            description=next(iter(in_language(definitions, language_of(definitions, language))), ""),
            alternatives=tuple(in_language(literals(graph, concept, SKOS.altLabel), spoken)),
            parents=tuple(sorted(str(parent) for parent in graph.objects(concept, SKOS.broader))),
        )
        yield Entry(label, file.name)


def parsed(file: Path) -> Graph:
    try:
        from rdflib import Graph
    except ImportError:
        raise DataError(f"{file}: reading SKOS needs rdflib; pip install everylabel[skos]") from None
    content = content_of(file)
    if suffix_of(file) == ".rdf":
        check_entities(content, file)
    try:
        return Graph().parse(data=content, format=PARSERS[suffix_of(file)])
    except Exception as error:  # each of rdflib's parsers fails with kinds of its own, some with bare Exception
        reason = " ".join(str(error).split())[:200]
        raise DataError(
            f"{file}: expected SKOS as {PARSERS[suffix_of(file)]}, and it cannot be parsed ({reason}); correct the file"
        ) from error


def literals(graph: Graph, concept: Node, kind: Node) -> list[Literal]:
    """All texts of one kind, sorted so that reading twice gives the same."""
    from rdflib.term import Literal

    found = [value for value in graph.objects(concept, kind) if isinstance(value, Literal)]
    return sorted(found, key=lambda value: (value.language or "", str(value)))


def language_of(values: list[Literal], wanted: str) -> str:
    """The language to take: the wanted one, else none ("" is a text without a language), else the first there is."""
    languages = [value.language or "" for value in values]
    return next((language for language in (wanted, "") if language in languages), languages[0] if languages else "")


def in_language(values: list[Literal], language: str) -> list[str]:
    return [str(value) for value in values if (value.language or "") == language]
